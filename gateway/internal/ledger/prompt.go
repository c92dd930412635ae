package ledger

// Key names a conversation as the client does. Prompts of different keys are never compared. Without a
// Session the prompts of many conversations share a key, and the one that matches best counts.
type Key struct {
	Tenant  string
	Model   string // other models have other vocabularies, and caches of their own
	Session string
	Agent   string // of a session that several agents share; each talks on its own
}

// Kind is what a part of a prompt is.
type Kind uint8

// Kinds of parts. Bytes that no part covers are the template's.
const (
	Template   Kind = iota
	Preamble        // a volatile line in front of the system prompt
	System          // system or developer text
	ToolSchema      // one tool's definition; Name is the tool's
	User
	ToolResult
	Assistant // the model's text
	Reasoning
	Call // arguments of a call; Name is the tool's
)

var kindNames = [...]string{"template", "preamble", "system", "tool_schema", "user", "tool_result", "assistant", "reasoning", "call"}

// String names the kind.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// history reports whether parts of the kind are what was said, as opposed to what frames it.
func (k Kind) history() bool { return k >= User }
func (k Kind) system() bool  { return k == System }
func (k Kind) tool() bool    { return k == ToolSchema }

// Flags of a Part.
type Flags uint8

// Flags.
const (
	// Volatile: the client is known to take the part away again, as it does with reminders at the end of
	// a message. That it is gone a turn later is no break.
	Volatile Flags = 1 << iota
	// Forgotten: the part is of a turn that the turn memory did not know, so that it is rendered from
	// what the client sent and not as the model wrote it.
	Forgotten
)

// Part is where a piece of the conversation stands in the prompt. Neighbours of the same kind, message
// and part are one part, with the template's bytes between them: a caller may pass on what a renderer
// says of the origin of bytes as it is.
//
// A part that the conversation has and the prompt has not (reasoning that is not replayed) is given as an
// empty range with its canonical hash, in its order; its position does not count.
type Part struct {
	Kind    Kind
	Flags   Flags
	Message int // ordinal of the message as rendered, so that folded ones share it; or of the tool
	Part    int // ordinal in the message
	Name    string
	// Start and End are bytes of Prompt.Text. Parts are in order and do not overlap; what breaks that is
	// passed over.
	Start, End int
	// Canonical is Ledger.Sum of what the conversation holds (a call's arguments as received, reasoning
	// as received): it tells another wording from another rendering of the same. 0 where the two cannot
	// differ, which stands for the hash of the bytes in the prompt.
	Canonical uint64
}

// Owner is who decides what reasoning is replayed.
type Owner uint8

// Owners.
const (
	OwnerNone     Owner = iota
	OwnerTemplate       // the chat template reads reasoning and chooses
	OwnerPolicy         // a template policy
	OwnerMemory         // the turn memory replays what the model wrote
	OwnerClient         // only in a Report: the client did not send the reasoning back
)

var ownerNames = [...]string{"", "template", "policy", "memory", "client"}

// String names the owner; of OwnerNone the name is empty.
func (o Owner) String() string {
	if int(o) < len(ownerNames) {
		return ownerNames[o]
	}
	return "unknown"
}

// Prompt is one prompt as the engine gets it. The ledger keeps nothing of it but copies.
type Prompt struct {
	Key Key
	// IDs are the prompt's tokens. Without them Text is compared by bytes, and token counts are estimates.
	IDs []uint32
	// Text is the rendered prompt. A caller that has IDs alone may leave it empty; changes of the
	// template then show as changes that no part explains.
	Text   string
	Tokens int // length where there are no IDs; 0: a quarter of the bytes
	Parts  []Part
	Owner  Owner
	Block  int // tokens of a block of the engine's prefix cache; 0: 64
}

// Answer is what the model wrote after a prompt, as far as the engine has it in its cache.
type Answer struct {
	IDs   []uint32 // as sampled; a prompt with IDs takes no answer without them
	Text  string   // raw, markers included
	Parts []Part   // ranges of Text, as a later prompt will mark the same parts
}

// tokens is the prompt's length in tokens.
func (p *Prompt) tokens() int {
	switch {
	case len(p.IDs) > 0:
		return len(p.IDs)
	case p.Tokens > 0:
		return p.Tokens
	}
	return (len(p.Text) + bytesPerToken - 1) / bytesPerToken
}

// bytesPerToken is what English prose and code come to with vocabularies of 100,000 and more.
const bytesPerToken = 4
