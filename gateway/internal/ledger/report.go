package ledger

import (
	"iter"
	"log/slog"
	"strconv"
)

// Cause is why a prompt does not begin with all of an earlier one.
type Cause uint8

// Causes. None, First and SideQuery are no breaks.
const (
	None                 Cause = iota // it does, or lacks only what the client was known to take away
	First                             // there is no earlier prompt of the conversation
	SideQuery                         // another conversation under the same key: a title, a search, a fresh start
	HeaderChanged                     // the volatile line in front of the system prompt
	SystemChanged                     // the system prompt
	ToolsChanged                      // the tools: Report.Change and Report.Where.Name say how and which
	ReasoningDropped                  // reasoning that was in the earlier prompt, or that the model wrote, is not replayed
	ReasoningMutated                  // it came back other than it was, or where there was none
	RoleFold                          // the same parts under other roles or divided otherwise into messages
	TemplateReserialises              // the same part, printed otherwise
	TurnUnknown                       // the turn memory has not got the model's turn
	HistoryEdited                     // what was said before is other than it was
	Truncated                         // messages were taken out, and later ones moved up
	TemplateChanged                   // the template's own bytes, or bytes that no part explains
	causes
)

var causeNames = [causes]string{
	"none", "first", "side_query", "header_changed", "system_changed", "tools_changed", "reasoning_dropped", "reasoning_mutated",
	"role_fold", "template_reserialises", "turn_unknown", "history_edited", "truncated", "template",
}

// String names the cause, as in headers, metrics and logs.
func (c Cause) String() string {
	if c < causes {
		return causeNames[c]
	}
	return "unknown"
}

// Break reports whether the cause costs a prefix that the engine could have had in its cache.
func (c Cause) Break() bool { return c > SideQuery }

// Causes yields all causes.
func Causes() iter.Seq[Cause] {
	return func(yield func(Cause) bool) {
		for c := range causes {
			if !yield(c) {
				return
			}
		}
	}
}

// Change is how the tools changed.
type Change uint8

// Changes.
const (
	Unchanged Change = iota
	Added
	Removed
	Reordered
	Edited
)

var changeNames = [...]string{"", "added", "removed", "reordered", "edited"}

// String names the change; of Unchanged the name is empty.
func (c Change) String() string {
	if int(c) < len(changeNames) {
		return changeNames[c]
	}
	return "unknown"
}

// Where is the part in which a prefix broke: of the new prompt, or of the earlier one where the new one
// has none there (Gone).
type Where struct {
	Kind          Kind
	Message, Part int
	Name          string // of a tool
	Start, End    int    // bytes of the prompt's text; of an answer's part as if the text went on
	Gone          bool
}

// Report is what the ledger has to say of a prompt. Counts are tokens.
type Report struct {
	Tokens   int // length of the prompt
	Shared   int // what the best match among the earlier prompts begins with too
	Expected int // of it, what the engine's cache can give: whole blocks, and never the last token
	Exact    bool
	Cause    Cause
	// What follows says something only of a break.
	BrokeAt int // tokens in common with the prompt that the cause is about
	Lost    int // tokens of that prompt beyond the break
	Where   Where
	Owner   Owner  // of ReasoningDropped and ReasoningMutated: who decided
	Change  Change // of ToolsChanged
	// Ref stands for the prompt in Append.
	Ref Ref
}

// Ref names an observed prompt. The zero Ref names none.
type Ref struct {
	s  *session
	id uint64
}

// Header is the value of the response header x-weir-prefix: `reused=48128; broke_at=48131;
// cause=system_changed`, without broke_at where nothing broke. It holds no text of the client's.
func (r *Report) Header() string {
	b := make([]byte, 0, 64)
	b = append(b, "reused="...)
	b = strconv.AppendInt(b, int64(r.Expected), 10)
	if r.Cause.Break() {
		b = append(b, "; broke_at="...)
		b = strconv.AppendInt(b, int64(r.BrokeAt), 10)
	}
	b = append(b, "; cause="...)
	b = append(b, r.Cause.String()...)
	return string(b)
}

// Keys of LogAttrs.
const (
	KeyCause   = "prefix_cause"
	KeyReused  = "prefix_reused"
	KeyShared  = "prefix_shared"
	KeyBrokeAt = "prefix_broke_at"
	KeyLost    = "prefix_lost"
	KeyKind    = "prefix_part" // kind of the part
	KeyMessage = "prefix_message"
	KeyPart    = "prefix_part_index"
	KeyOwner   = "prefix_owner"
	KeyChange  = "prefix_change"
	KeyTool    = "prefix_tool" // the client's name of it
)

// LogAttrs appends the report as attributes of a log line to dst: cause and counts always, the rest of a
// break where it applies. No content of the conversation is in it but a tool's name.
func (r *Report) LogAttrs(dst []slog.Attr) []slog.Attr {
	dst = append(dst, slog.String(KeyCause, r.Cause.String()), slog.Int(KeyReused, r.Expected), slog.Int(KeyShared, r.Shared))
	if !r.Cause.Break() {
		return dst
	}
	dst = append(dst, slog.Int(KeyBrokeAt, r.BrokeAt), slog.Int(KeyLost, r.Lost), slog.String(KeyKind, r.Where.Kind.String()))
	if r.Where.Kind != Template {
		dst = append(dst, slog.Int(KeyMessage, r.Where.Message), slog.Int(KeyPart, r.Where.Part))
	}
	if r.Owner != OwnerNone {
		dst = append(dst, slog.String(KeyOwner, r.Owner.String()))
	}
	if r.Change != Unchanged {
		dst = append(dst, slog.String(KeyChange, r.Change.String()))
	}
	if r.Where.Name != "" {
		dst = append(dst, slog.String(KeyTool, r.Where.Name))
	}
	return dst
}

// Stats count what was observed since the ledger was made.
type Stats struct {
	Prompts  [causes]uint64 // by Cause
	Lost     [causes]uint64 // tokens, by Cause
	Tokens   uint64         // of all prompts
	Expected uint64         // of them, expected in the engine's cache
	Bytes    int            // memory in use, about
	Keys     int
}
