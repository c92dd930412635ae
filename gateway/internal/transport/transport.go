// Package transport is the seam between encoders, which know schemas, and writers, which know bytes.
package transport

// Frame is one message to the client. Data is whole JSON (or a sentinel such as [DONE]) without line
// breaks; it is valid until Write returns.
type Frame struct {
	Event string // SSE event name; may be empty
	Data  []byte
}

// Writer writes frames of one turn. Write may buffer; Flush sends what is buffered in one write and
// reports a client that is gone or does not read. Calls come one at a time: the turn sees to it that its
// keepalive timer writes only while it does not.
type Writer interface {
	Write(f Frame) error
	Flush() error
}

// Ender is a Writer that knows the last flush. What End sends may leave with the end of the answer, once the turn is
// accounted for: one write and one packet less for every turn. Flush and Write are not called after it.
type Ender interface {
	Writer
	End() error
}
