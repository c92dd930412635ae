// Package ssein reads server-sent events from an engine, as the WHATWG HTML standard defines the
// event-stream format.
package ssein

import (
	"bytes"
	"fmt"
	"io"
)

// DefaultLimit is the largest event, in bytes, where the caller sets no limit of its own.
const DefaultLimit = 8 << 20

const (
	// firstSize is the buffer an ordinary stream of tokens never outgrows. A read as large as what the
	// connection buffers leaves nothing behind that Ready does not see.
	firstSize = 24 << 10
	// maxKept is the largest buffer that serves another stream.
	maxKept = 64 << 10
)

// Event is one event. Its slices are valid until the next call of Next or Ready.
type Event struct {
	Name []byte // the event field; empty means "message"
	Data []byte // the data lines, joined by a line feed
	ID   []byte // the last id seen on the stream
}

// TooLargeError is the error for an event beyond the reader's limit.
type TooLargeError struct{ Limit int }

func (e *TooLargeError) Error() string { return fmt.Sprintf("event larger than %d bytes", e.Limit) }

// Reader reads events. Once its buffers have grown to the stream's largest event it allocates nothing,
// also for the streams that it is Reset to. It is used by one goroutine.
type Reader struct {
	src   io.Reader
	limit int
	err   error // of src, once its bytes are used up

	buf   []byte
	start int // first byte that is not parsed
	scan  int // bytes before it hold no line end
	end   int

	begun  bool // the first line was seen, so a byte order mark is data
	skipLF bool // the last line ended in CR: an LF right after it belongs to it

	ev     Event
	ready  bool // ev is complete and was not handed out
	lines  int  // data lines of the event being read
	name   []byte
	id     []byte
	joined []byte // the data lines, once there is a second one
	first  span   // the only data line, in buf
}

type span struct{ from, to int }

// New reads events from src. limit bounds the bytes of one event, 0 means DefaultLimit.
func New(src io.Reader, limit int) *Reader {
	r := &Reader{}
	r.Reset(src, limit)
	return r
}

// Reset makes of r what New makes, in r's buffers. Events of the stream before are not valid any more.
func (r *Reader) Reset(src io.Reader, limit int) {
	if limit <= 0 {
		limit = DefaultLimit
	}
	spare := r.ev.Name
	*r = Reader{src: src, limit: limit, buf: keep(r.buf), name: keep(r.name)[:0], id: keep(r.id)[:0], joined: keep(r.joined)[:0]}
	r.ev.Name = keep(spare)[:0]
}

func keep(b []byte) []byte {
	if cap(b) > maxKept {
		return nil
	}
	return b
}

// Ready reports whether Next would return an event without reading.
func (r *Reader) Ready() bool {
	if !r.ready {
		r.ready = r.parse()
	}
	return r.ready
}

// Next returns the next event. At the end of the source it returns the source's error, io.EOF for a
// clean end; an event without its closing blank line is dropped then, as the standard says.
func (r *Reader) Next() (Event, error) {
	for !r.Ready() {
		if err := r.fill(); err != nil {
			return Event{}, err
		}
	}
	r.ready = false
	return r.ev, nil
}

// Pending reports whether bytes of an unfinished event are held: at the end of the source they tell
// that it was cut.
func (r *Reader) Pending() bool { return r.start < r.end || r.lines > 0 }

// Ended reports whether the source has told its clean end, so that nothing is left to read of it.
func (r *Reader) Ended() bool { return r.err == io.EOF }

// Discard reads the source to its end, and forgets what it reads and what was buffered.
func (r *Reader) Discard() {
	for r.err == nil {
		r.start, r.scan, r.end, r.lines, r.ready = 0, 0, 0, 0, false
		_ = r.fill() // which keeps its error
	}
}

func (r *Reader) fill() error {
	if r.err != nil {
		return r.err
	}
	if r.size() > r.limit {
		r.err = &TooLargeError{Limit: r.limit}
		return r.err
	}
	r.makeRoom()
	for range 100 {
		n, err := r.src.Read(r.buf[r.end:])
		if n < 0 || n > len(r.buf)-r.end {
			r.err = fmt.Errorf("reader returned %d bytes of at most %d", n, len(r.buf)-r.end)
			return r.err
		}
		r.end += n
		if err != nil {
			r.err = err
			if n > 0 {
				return nil
			}
			return err
		}
		if n > 0 {
			return nil
		}
	}
	r.err = io.ErrNoProgress
	return r.err
}

// size is what the event being read holds so far.
func (r *Reader) size() int {
	n := r.end - r.start
	switch {
	case r.lines == 1:
		n += r.first.to - r.first.from
	case r.lines > 1:
		n += len(r.joined)
	}
	return n
}

// makeRoom moves what is still needed to the front of the buffer, and doubles it when that is not enough.
func (r *Reader) makeRoom() {
	from := r.start
	if r.lines == 1 {
		from = r.first.from
	}
	if from > 0 {
		copy(r.buf, r.buf[from:r.end])
		r.start -= from
		r.scan -= from
		r.end -= from
		r.first.from -= from
		r.first.to -= from
	}
	if len(r.buf)-r.end < firstSize/4 {
		grown := make([]byte, max(firstSize, 2*len(r.buf)))
		copy(grown, r.buf[:r.end])
		r.buf = grown
	}
}

// parse consumes buffered lines until an event is complete.
func (r *Reader) parse() bool {
	for {
		line, ok := r.line()
		if !ok {
			return false
		}
		if len(line) > 0 {
			r.field(line)
			continue
		}
		if r.dispatch() {
			return true
		}
	}
}

// line returns the next line without its end, which is LF, CR or CRLF.
func (r *Reader) line() ([]byte, bool) {
	if r.skipLF && r.start < r.end {
		r.skipLF = false
		if r.buf[r.start] == '\n' {
			r.start++
			r.scan = max(r.scan, r.start)
		}
	}
	rest := r.buf[r.scan:r.end]
	n := bytes.IndexByte(rest, '\n')
	if n < 0 {
		n = len(rest)
	}
	if cr := bytes.IndexByte(rest[:n], '\r'); cr >= 0 {
		n = cr
	}
	if n == len(rest) {
		r.scan = r.end
		return nil, false
	}
	r.skipLF = rest[n] == '\r'
	line := r.buf[r.start : r.scan+n]
	r.start = r.scan + n + 1
	r.scan = r.start
	if !r.begun {
		r.begun = true
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	return line, true
}

func (r *Reader) field(line []byte) {
	name, value, _ := bytes.Cut(line, []byte{':'})
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	switch string(name) {
	case "data":
		r.data(value)
	case "event":
		r.name = append(r.name[:0], value...)
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			r.id = append(r.id[:0], value...)
		}
	}
}

// data takes one data line. A single one is left where it stands in the buffer.
func (r *Reader) data(value []byte) {
	switch r.lines {
	case 0:
		// value ends where its line does; the line end stands between it and r.start.
		to := r.start - 1
		r.first = span{to - len(value), to}
	case 1:
		r.joined = append(r.joined[:0], r.buf[r.first.from:r.first.to]...)
		fallthrough
	default:
		r.joined = append(r.joined, '\n')
		r.joined = append(r.joined, value...)
	}
	r.lines++
}

// dispatch ends the event. One without data is none.
func (r *Reader) dispatch() bool {
	lines := r.lines
	r.lines = 0
	if lines == 0 {
		r.name = r.name[:0]
		return false
	}
	r.ev.Data = r.joined
	if lines == 1 {
		r.ev.Data = r.buf[r.first.from:r.first.to]
	}
	// The name's buffer is reused by the next event, which Ready may begin only after this one was taken.
	r.ev.Name, r.name = r.name, r.ev.Name[:0]
	r.ev.ID = r.id
	return true
}
