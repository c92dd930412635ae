// Package conv is the canonical conversation: ordered messages of ordered parts, a superset of what
// chat completions, responses and messages can say. Surfaces decode into it, templates render from it,
// engines may read it; nobody sees another surface's types.
//
// Bytes that are JSON (schemas, arguments, formats) are kept as they came: key order, number literals
// and duplicates included. A value of this package is not changed after it was decoded; who needs a
// variant copies.
package conv

// Role is who speaks.
type Role uint8

// Roles.
const (
	System Role = 1 + iota
	Developer
	User
	Assistant
	Tool // carries tool results only
)

// String returns the role's name on the chat surface.
func (r Role) String() string {
	switch r {
	case System:
		return "system"
	case Developer:
		return "developer"
	case User:
		return "user"
	case Assistant:
		return "assistant"
	case Tool:
		return "tool"
	}
	return "unknown"
}

// Message is one message. Parts stand in the order in which they were said.
type Message struct {
	Role  Role
	Name  string // participant name, if any
	Parts []Part
}

// PartKind says which fields of a Part count.
type PartKind uint8

// Kinds of parts.
const (
	Text      PartKind = 1 + iota // Text
	Reasoning                     // Text and Seal; a redacted one has a Seal alone
	Call                          // Call
	Result                        // Result
	MediaPart                     // Media
	Reference                     // Text: the name of a deferred tool that becomes known here
	Summary                       // Seal, and Text once that was opened: what was said before, in short
)

// Phase is what a text of the assistant's is for, where its format says so.
type Phase uint8

// Phases.
const (
	PhaseNone Phase = iota
	PhaseCommentary
	PhaseFinal
)

// Part is one piece of a message.
type Part struct {
	Kind PartKind
	Text string
	Seal string // opaque: an Anthropic signature or redacted data, or Responses encrypted_content
	// Phase of a text that the assistant said.
	Phase Phase
	// Volatile: the client is known to take the part away again, as it does with reminders at the end of a
	// message, so that its going breaks no promise.
	Volatile bool
	Call     *ToolCall
	Result   *ToolResult
	Media    *Media
}

// ToolKind says what a call of a tool is on the wire.
type ToolKind uint8

// Kinds of tools.
const (
	Function   ToolKind = iota // arguments are a JSON object
	Custom                     // input is raw text
	ToolSearch                 // a function by which the client finds deferred tools
)

// ToolCall is a call that the model made.
type ToolCall struct {
	ID        string // as the client knows it
	Namespace string
	Name      string
	Kind      ToolKind
	Arguments string // the bytes received: JSON text, or a custom tool's raw input; never re-encoded
}

// ToolResult answers a call.
type ToolResult struct {
	CallID  string
	Parts   []Part // text, media, reference
	IsError bool
}

// Media is an image, document or sound, by reference or inline.
type Media struct {
	Type string // image, audio, file
	MIME string
	URL  string // http(s) or data URL; empty when Data is set
	Data string // base64, as received
}

// ToolDef is a tool the model may call.
type ToolDef struct {
	Kind        ToolKind
	Namespace   string
	Name        string
	Description string
	Schema      []byte // JSON Schema of the arguments as received; nil when there was none
	Strict      bool
	Deferred    bool   // not in the prompt until a Reference names it
	Format      []byte // custom tools: the grammar object as received
}

// ChoiceMode is how tools may be used.
type ChoiceMode uint8

// Modes.
const (
	ChoiceAuto ChoiceMode = iota
	ChoiceNone
	ChoiceRequired
	ChoiceNamed
)

// ToolChoice is the request's tool choice.
type ToolChoice struct {
	Mode     ChoiceMode
	Name     string // of a named choice
	Parallel bool   // several calls in one turn are allowed; true when the request is silent
}

// ThinkingMode is what a request says of thinking.
type ThinkingMode uint8

// Modes of thinking.
const (
	ThinkingUnset ThinkingMode = iota
	ThinkingOn
	ThinkingOff
	ThinkingAdaptive // the model decides
)

// Thinking is the request's wish; design §7 gives the order in which several wishes count.
type Thinking struct {
	Mode    ThinkingMode
	Budget  int    // tokens; 0 when none was given
	Effort  string // as the surface calls it, empty when none was given
	Omitted bool   // the client wants signatures without the text
}

// Format is a structured-output wish.
type Format struct {
	Type   string // text, json_object, json_schema
	Name   string
	Schema []byte
	Strict bool
}

// Sampling are the engine's knobs; nil means the client was silent.
type Sampling struct {
	Temperature, TopP, MinP           *float64
	FrequencyPenalty, PresencePenalty *float64
	RepetitionPenalty                 *float64
	TopK                              *int
	Seed                              *int64
	IgnoreEOS                         bool
}

// Prompting is what a request says of how its prompt is made, beside TemplateArgs.
type Prompting struct {
	// Continue: the last message is the assistant's, and the model goes on where it ends: no turn is
	// closed behind it and none begun.
	Continue bool
	// NoGeneration: the prompt ends behind the last message, without the start of a new turn.
	NoGeneration bool
	// Echo: the answer begins with the text of the last message where that is the assistant's.
	Echo bool
	// Documents is a JSON array as received; nil when absent.
	Documents []byte
	// Template is a chat template to use in place of the model's; empty when absent.
	Template string
}

// Request is one turn's request, whatever surface it came by.
type Request struct {
	Model     string // as the client wrote it
	Messages  []Message
	Tools     []ToolDef
	Choice    ToolChoice
	Thinking  Thinking
	Format    Format
	Sampling  Sampling
	MaxTokens int      // output tokens; 0 when the client was silent
	Stop      []string // stop strings, in text only
	Stream    bool
	// TemplateArgs is chat_template_kwargs, a JSON object as received; nil when absent.
	TemplateArgs []byte
	Prompting    Prompting
	// Session is the client's own name for the conversation, for affinity and the prefix ledger.
	Session string
	// User is an end-user id, opaque.
	User string
}
