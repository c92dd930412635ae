// Package fault is the one error that crosses layers: a kind from a closed set, a public text for the
// client, and a private cause for the log. Surfaces map kinds to their own statuses and bodies.
package fault

import (
	"errors"
	"fmt"
	"time"
)

// Kind is what went wrong, from the client's point of view.
type Kind string

// Kinds. The set is closed: each surface has a table over it.
const (
	Invalid      Kind = "invalid"      // the request is wrong
	Unsupported  Kind = "unsupported"  // understood, but not served here
	Unauthorized Kind = "unauthorized" // no or wrong key
	Forbidden    Kind = "forbidden"    // the key may not do this
	NotFound     Kind = "not_found"    // unknown model or path
	Conflict     Kind = "conflict"     // a turn is running on this socket
	TooLarge     Kind = "too_large"    // body over the limit
	Overflow     Kind = "overflow"     // prompt over the model's window
	Quota        Kind = "quota"        // the tenant's limit
	Busy         Kind = "busy"         // the engine is saturated
	Unavailable  Kind = "unavailable"  // no engine answers
	Engine       Kind = "engine"       // the engine failed or broke its protocol
	Plugin       Kind = "plugin"       // a plugin failed and its policy is to abort
	Timeout      Kind = "timeout"      // something took too long
	Canceled     Kind = "canceled"     // the client left
	Internal     Kind = "internal"     // a bug here
)

// Error is a failure with what the client may know of it.
type Error struct {
	Kind       Kind
	Public     string // for the client
	Param      string // the request's member at fault, as a JSON path; may be empty
	RetryAfter time.Duration
	Status     int // an engine's own HTTP status, which the client gets instead of the kind's; 0: none
	Tokens     int // Overflow: the prompt's length
	Limit      int // Overflow: the model's window
	Room       int // Overflow: tokens of the window that the prompt must leave
	Err        error
}

func (e *Error) Error() string {
	s := string(e.Kind) + ": " + e.Public
	if e.Param != "" {
		s += " (" + e.Param + ")"
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the private cause.
func (e *Error) Unwrap() error { return e.Err }

// New makes a fault with a formatted public text.
func New(k Kind, format string, args ...any) *Error {
	return &Error{Kind: k, Public: fmt.Sprintf(format, args...)}
}

// At is New for a fault in one member of the request.
func At(k Kind, param, format string, args ...any) *Error {
	return &Error{Kind: k, Param: param, Public: fmt.Sprintf(format, args...)}
}

// Wrap gives a cause a public text.
func Wrap(k Kind, err error, format string, args ...any) *Error {
	return &Error{Kind: k, Public: fmt.Sprintf(format, args...), Err: err}
}

// From returns the fault in err's chain, or an internal one around it.
func From(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Kind: Internal, Public: "internal error", Err: err}
}
