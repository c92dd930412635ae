package plughost

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
)

const (
	maxLine   = 512 // bytes of one line of a guest; longer ones are cut into several
	maxSaid   = 256 // bytes kept of what a guest wrote in a call, to explain its trap
	callLines = 12  // lines logged of one call: a trap in Go prints every goroutine
	lineBurst = 64  // lines a plugin may write at once
	lineRate  = 16  // and per second in the long run
)

// lineLog takes the lines of all instances of one plugin version and drops what is too much.
type lineLog struct {
	log  *slog.Logger
	name string

	mu      sync.Mutex // guards what follows
	credit  float64
	last    time.Time
	dropped int
}

func newLineLog(log *slog.Logger, name string) *lineLog {
	return &lineLog{log: log, name: name, credit: lineBurst, last: time.Now()}
}

// line logs one line, or counts it as dropped; the next one that passes tells how many were.
func (l *lineLog) line(ctx context.Context, level slog.Level, b []byte) {
	now := time.Now()
	l.mu.Lock()
	l.credit = min(lineBurst, l.credit+now.Sub(l.last).Seconds()*lineRate)
	l.last = now
	if l.credit < 1 {
		l.dropped++
		l.mu.Unlock()
		return
	}
	l.credit--
	dropped := l.dropped
	l.dropped = 0
	name := l.name
	l.mu.Unlock()
	attrs := []slog.Attr{slog.String("plugin", name), slog.String("line", strings.ToValidUTF8(string(b), "\uFFFD"))}
	if dropped > 0 {
		attrs = append(attrs, slog.Int("dropped_lines", dropped))
	}
	l.log.LogAttrs(ctx, level, "plugin wrote", attrs...)
}

func (l *lineLog) rename(name string) {
	l.mu.Lock()
	l.name = name
	l.mu.Unlock()
}

// console is what one instance does to the outside: what it writes, how often it waits, and what it may use. It
// is used by the goroutine that calls the instance.
type console struct {
	allowance

	log  *lineLog
	part []byte // line that has not ended
	said []byte // beginning of what was written in the present call

	lines, naps int  // logged and waited in the present call
	heard       bool // something of these is set
}

// begin starts a call.
func (c *console) begin() {
	if c.heard {
		c.said, c.lines, c.naps, c.heard = c.said[:0], 0, 0, false
	}
}

// word is the first line written in the present call.
func (c *console) word() []byte {
	line, _, _ := bytes.Cut(bytes.TrimSpace(c.said), []byte("\n"))
	return line
}

func (c *console) write(ctx context.Context, level slog.Level, b []byte) {
	c.heard = true
	c.said = append(c.said, b[:min(len(b), maxSaid-len(c.said))]...)
	for len(b) > 0 {
		n := bytes.IndexByte(b, '\n')
		end := n >= 0
		if !end {
			n = len(b)
		}
		take := min(n, maxLine-len(c.part))
		c.part = append(c.part, b[:take]...)
		b = b[take:]
		if take == n && end {
			b = b[1:]
		}
		if take < n || end || len(c.part) == maxLine {
			c.flush(ctx, level)
		}
	}
}

func (c *console) flush(ctx context.Context, level slog.Level) {
	if len(bytes.TrimSpace(c.part)) > 0 {
		if c.lines++; c.lines <= callLines {
			c.charge(fuelLine)
			c.log.line(ctx, level, c.part)
		}
	}
	c.part = c.part[:0]
}
