// Package engines is the contract between the gateway and what generates: an adapter turns a Request
// into a pulled stream of deltas and classifies what goes wrong. It knows no surface, tenant, template
// or parser. Adapters live in the folders below; package enginetest is the suite they all pass.
package engines

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/record"
)

// Capabilities say what an engine takes and gives, so that a model entry can be checked before it serves.
type Capabilities struct {
	PromptIDs    bool // takes token ids
	PromptText   bool // takes rendered text
	Conversation bool // takes the conversation and renders by itself
	Spans        bool // names special tokens in its output
	Structured   bool // its deltas are parsed already
	CachedTokens bool // usage tells what the prefix cache held
}

// Constraint forces the shape of the output; at most one field is set.
type Constraint struct {
	JSONSchema []byte
	JSONObject bool
	Regex      string
	Grammar    string
}

// Request is one generation.
type Request struct {
	ID     string // the gateway's request id, for the engine's logs
	Model  string // the engine's own name of the model
	Prompt string // rendered text; empty when the engine renders by itself
	IDs    []uint32
	// IDsText is IDs as the elements of a JSON array, without its brackets and in pieces, where somebody had them in
	// that form already; else nil. It must not change before Generate has returned.
	IDsText [][]byte
	// Conversation is the turn's request; engines that render by themselves, and sim's actor, read it.
	Conversation *conv.Request
	MaxTokens    int      // 0: the engine's own limit
	Stop         []string // the family's stops, not the client's
	Constraint   Constraint
	Session      string // affinity and cache salt
	// Headers are forwarded to an HTTP engine (traceparent and the like).
	Headers map[string]string
}

// Engine generates. It is safe for concurrent use.
type Engine interface {
	Capabilities() Capabilities
	// Generate starts a generation and returns when the engine has accepted it, or an *Error. Cancelling
	// ctx ends the generation within 100 ms, whatever the stream's state.
	Generate(ctx context.Context, req *Request) (Stream, error)
}

// Stream is one generation, pulled by one goroutine.
type Stream interface {
	// Next returns the next delta, valid until the following call, or io.EOF after the last. A stream
	// that ended without a Finish delta gives an *Error of ClassProtocol, not io.EOF.
	Next() (*Delta, error)
	// Close ends the generation if it still runs and frees what it holds. It may be called twice.
	Close() error
}

// Peeker is implemented by streams that can tell whether Next would return at once, so that waiting
// deltas go through the parser together.
type Peeker interface {
	Ready() bool
}

// Counter is implemented by engines that can count a prompt.
type Counter interface {
	CountTokens(ctx context.Context, req *Request) (int, error)
}

// Prober is implemented by engines whose health can be asked.
type Prober interface {
	Probe(ctx context.Context) error
}

// FragmentKind is what a structured fragment is.
type FragmentKind uint8

// Kinds of fragments.
const (
	FragmentReasoning FragmentKind = 1 + iota
	FragmentText
	FragmentCall // Index, and whichever of ID, Name and Text (argument bytes) came
)

// Fragment is a piece of output that the engine parsed already.
type Fragment struct {
	Kind  FragmentKind
	Text  string
	Index int
	ID    string
	Name  string
}

// Delta is what one read of the stream brought. A delta has bytes or fragments, never both; usage and
// finish may come with either or alone.
type Delta struct {
	Bytes     []byte // generated text, cut anywhere, also within a character
	Spans     []record.Span
	Tokens    int      // tokens behind Bytes, 0 when the engine does not say
	IDs       []uint32 // their ids, where the engine tells them: all of the delta's, or nil
	Fragments []Fragment
	Usage     *Usage
	Finish    *Finish
}

// Usage is the engine's count.
type Usage struct {
	Input, Cached, Output int
}

// Reason is why the engine stopped.
type Reason uint8

// Reasons.
const (
	ReasonStop Reason = 1 + iota
	ReasonLength
	ReasonToolCalls // a structured engine says so
	ReasonAbort
	ReasonContent
)

// Finish ends a generation.
type Finish struct {
	Reason Reason
	Stop   string // the stop string that matched, if the engine says
}

// Class says what kind of failure an Error is, and so what may be done about it.
type Class uint8

// Classes.
const (
	ClassUnavailable Class = 1 + iota // refused, reset or timed out before it answered: another replica may do
	ClassBusy                         // 429, 503, 529: RetryAfter may be set
	ClassRefused                      // another 4xx: the request itself
	ClassOverflow                     // the prompt is longer than the engine's window
	ClassInternal                     // a 5xx
	ClassProtocol                     // its stream is not what it should be, or broke off
)

// Error is an engine's failure.
type Error struct {
	Class      Class
	Engine     string
	Status     int           // HTTP status, 0 if there was none
	Message    string        // what the engine said; of ClassRefused it is for the client, else for the log alone
	RetryAfter time.Duration // of ClassBusy
	Limit      int           // of ClassOverflow: the engine's window in tokens, 0 if unknown
	Err        error
}

func (e *Error) Error() string {
	s := fmt.Sprintf("engine %s: %s", e.Engine, e.Message)
	if e.Status != 0 {
		s = fmt.Sprintf("engine %s: status %d: %s", e.Engine, e.Status, e.Message)
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Retryable reports whether another replica may be tried, given that no delta was delivered yet.
func Retryable(err error) bool {
	var e *Error
	return errors.As(err, &e) && (e.Class == ClassUnavailable || e.Class == ClassBusy || e.Class == ClassInternal || e.Class == ClassProtocol)
}
