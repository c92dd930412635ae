package telemetry

import (
	"errors"
	"io"
	"sync"
	"time"
)

const (
	bufferSize = 64 << 10               // bytes of lines that wait
	maxWait    = 250 * time.Millisecond // how long they do
)

// Buffered writes lines in batches, so that a turn does not wait for the log's file. A line waits until
// 64 KB are there, for 250 ms at most; those that still wait when the process dies are lost. It is safe
// for concurrent use. A write to the writer below does not hold up others, unless the buffer is full.
type Buffered struct {
	below sync.Mutex // taken before mu; held while lines are written to w, for their order
	w     io.Writer
	spare []byte // the lines that are being written, guarded by below

	mu     sync.Mutex // guards the following
	lines  []byte
	timer  *time.Timer // runs while there are lines
	closed bool
}

// NewBuffered makes a writer of batches to w. Close must follow when the last line is written.
func NewBuffered(w io.Writer) *Buffered {
	b := &Buffered{w: w}
	b.mu.Lock() // for the timer, should it fire at once
	defer b.mu.Unlock()
	b.timer = time.AfterFunc(maxWait, func() {
		_ = b.Flush() // a log that cannot be written has nowhere to say so
	})
	b.timer.Stop()
	return b
}

// errClosed is what Write returns after Close.
var errClosed = errors.New("the log is closed")

// Write takes lines, whole ones. An error is that of lines that came before and had to make room.
func (b *Buffered) Write(p []byte) (int, error) {
	b.mu.Lock()
	for len(b.lines) > 0 && len(b.lines)+len(p) > bufferSize {
		b.mu.Unlock()
		if err := b.Flush(); err != nil {
			return 0, err
		}
		b.mu.Lock()
	}
	defer b.mu.Unlock()
	if b.closed {
		return 0, errClosed
	}
	if len(b.lines) == 0 {
		b.timer.Reset(maxWait)
	}
	b.lines = append(b.lines, p...)
	return len(p), nil
}

// Flush writes what waits. Lines that could not be written are dropped.
func (b *Buffered) Flush() error {
	b.below.Lock()
	defer b.below.Unlock()
	b.mu.Lock()
	lines := b.lines
	b.lines, b.spare = b.spare[:0], nil
	b.timer.Stop()
	b.mu.Unlock()
	if len(lines) == 0 {
		b.spare = lines
		return nil
	}
	_, err := b.w.Write(lines)
	if cap(lines) <= 2*bufferSize {
		b.spare = lines
	}
	return err
}

// Close writes what waits and takes no more; w stays open.
func (b *Buffered) Close() error {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	return b.Flush()
}
