// Package event is what a turn tells, in order, whatever model wrote it and whatever surface reads it.
// The order is a grammar (see Checker): blocks are bracketed and never overlap, a dispatch follows its
// call, usage precedes the finish, and exactly one of Finish and Fault ends the turn.
package event

// Kind is the kind of an event.
type Kind uint8

// Kinds, with the fields of Event that count for each.
const (
	TurnStart      Kind = 1 + iota // Usage: the prompt's tokens as counted before the engine ran
	ReasoningStart                 //
	ReasoningDelta                 // Text, Tokens
	ReasoningEnd                   // Seal
	TextStart                      // Phase
	TextDelta                      // Text, Tokens
	TextEnd                        //
	ToolStart                      // Call: index, id, name, namespace, kind
	ToolArgs                       // Text, Tokens: the next bytes of the arguments
	ToolEnd                        // Call, Complete, Cause; Text: the raw bytes of an incomplete call, where the turn keeps them
	Dispatch                       // Call, with Arguments whole
	UsageKind                      // Usage
	Finish                         // Reason, StopSequence
	FaultKind                      // Fault
)

var kindNames = [...]string{"", "turn_start", "reasoning_start", "reasoning_delta", "reasoning_end", "text_start", "text_delta", "text_end", "tool_start", "tool_args", "tool_end", "dispatch", "usage", "finish", "fault"}

// String returns the kind's name in JSON lines.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// ToolKind is what a call is on the wire of the surfaces.
type ToolKind uint8

// Kinds of calls.
const (
	Function ToolKind = iota
	Custom
	ToolSearch
)

var toolKindNames = [...]string{"function", "custom", "tool_search"}

// String returns the kind's name.
func (k ToolKind) String() string { return toolKindNames[k] }

// Call identifies a tool call. Arguments is set on Dispatch alone and is then whole, valid JSON (or a
// custom tool's raw input).
type Call struct {
	Index     int // from 0, in the order of the turn
	ID        string
	Name      string
	Namespace string
	Kind      ToolKind
	Arguments []byte
}

// Phase is what a text block is for, where the model's format says so.
type Phase uint8

// Phases.
const (
	PhaseNone Phase = iota
	PhaseCommentary
	PhaseFinal
)

// Cause says why a call is not complete.
type Cause string

// Causes.
const (
	CauseNone      Cause = ""
	CauseTruncated Cause = "truncated" // the stream ended inside the call
	CauseMalformed Cause = "malformed" // its arguments are not JSON
	CauseFault     Cause = "fault"     // the turn failed
)

// Reason is why a turn ended.
type Reason string

// Reasons.
const (
	ReasonStop         Reason = "stop"          // the model ended its turn
	ReasonLength       Reason = "length"        // a token limit
	ReasonToolUse      Reason = "tool_calls"    // calls were made, and every one is complete
	ReasonStopSequence Reason = "stop_sequence" // a stop string of the client matched
	ReasonContent      Reason = "content_filter"
)

// Usage counts tokens. Input includes Cached.
type Usage struct {
	Input     int
	Cached    int
	Output    int
	Reasoning int  // part of Output
	Estimate  bool // Input is an estimate, not a count
}

// Fault is a turn's failure as the client may see it. Kind is one of package fault's kinds.
type Fault struct {
	Kind    string
	Message string // public
}

// Token is one sampled token behind a delta.
type Token struct {
	ID      uint32
	Bytes   []byte
	Logprob float32
	Top     []Token
}

// Event is one event. It and its slices are valid until the sink returns; a sink that keeps something
// copies it. Text is valid UTF-8, always.
type Event struct {
	Kind         Kind
	Text         []byte
	Call         Call
	Complete     bool
	Cause        Cause
	Phase        Phase
	Seal         string
	Usage        Usage
	Reason       Reason
	StopSequence string
	Fault        Fault
	Tokens       []Token
}

// Sink takes the events of one turn, in order, from one goroutine.
type Sink interface {
	Event(e *Event) error
}

// SinkFunc makes a function a Sink.
type SinkFunc func(e *Event) error

// Event calls f.
func (f SinkFunc) Event(e *Event) error { return f(e) }
