// Package prompt makes the prompt of a conversation with its model's own chat template.
//
// A template knows a small language of messages and each template another one: many drop a role, a text
// beside calls or a tool's result without a word. So a Model asks its template once, by rendering
// sentinels, what it takes and what it shows; a conversation is then brought into a form in which all of it
// is shown, and what had to be changed for that is named. What is changed at a message depends on earlier
// messages alone, so that no later turn rewrites the prompt of an earlier one.
//
// Each byte of a prompt has an origin. By them, and never by searching in what others wrote, the places are
// found where the very words of a model take those of the template, and where a prompt is cut to be
// continued.
package prompt

import (
	"context"
	"time"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/plan"
	"github.com/weirgate/weir/gateway/internal/ledger"
	"github.com/weirgate/weir/gateway/jinja"
)

// Source is what a model's chat template comes as.
type Source struct {
	// Template is the template, unless Templates has one named "default".
	Template string
	// Templates are named ones: "tool_use" is used where the request has tools, else "rag" where it has
	// documents, as transformers does. Others are never used.
	Templates map[string]string
	// Tokens are the texts of special tokens under the names that templates have for them, as bos_token.
	Tokens map[string]string
	// Ends are the texts of the tokens that end a turn: end-of-sequence tokens and the policy's stops.
	Ends []string
	// PolicyOwns: the template shows all reasoning that it is given, whatever the turn, so that the plan decides
	// what that is. A template without it that shows reasoning at all decides for itself and gets all of it.
	PolicyOwns bool
	// Now is the clock of strftime_now; nil: time.Now.
	Now func() time.Time
}

// Input is one request to render. Nothing of it is changed or kept.
type Input struct {
	Request *conv.Request // canonical: volatile preambles are off
	Plan    []plan.Op
	// Write appends a turn as the model's family writes it, up to the token that ends it, behind a prompt
	// that ends with tail. nil: turns that the template cannot say are brought into a form it can.
	Write func(dst []byte, tail string, blocks []Block) []byte
	// Turns gives what is remembered of an assistant message, nil where nothing is. The func may be nil.
	Turns func(message int) *Turn
	// Origins asks for Prompt.Spans.
	Origins bool
	// Prepared is called between preparing and rendering, for who measures the two; nil: nobody does.
	Prepared func()
	// Sum is Ledger.Sum, for Part.Canonical; nil: parts have none.
	Sum func(string) uint64
}

// Turn is what a model wrote, remembered.
type Turn struct {
	Before string   // Prompt.Before of the prompt that it answered
	Text   string   // raw output, markers included, without the token that ended it
	IDs    []uint32 // of Text, as sampled; nil when unknown
	// Reasoning is the turn's reasoning, for clients that do not send it back. It counts where the template
	// decides what is replayed; for a policy to decide, see Recall.
	Reasoning string
}

// BlockKind says which fields of a Block count.
type BlockKind uint8

// Kinds of blocks.
const (
	BlockReasoning BlockKind = 1 + iota // Text
	BlockText                           // Text
	BlockCall                           // Name, Arguments, ID
)

// Block is one piece of an assistant's turn, in the order in which it was said.
type Block struct {
	Kind      BlockKind
	Text      string
	Name      string // as the prompt has it
	Arguments string // JSON, as received
	ID        string // as the prompt has it
}

// Splice is a turn in Prompt.Text in the form that the model, or its family, writes: markers and all.
type Splice struct {
	Begin    int // where what stands in front of the turn begins
	From, To int
	IDs      []uint32 // of the turn, as sampled; nil where they are not known
}

// Stretch is bytes of a prompt of one kind, from the end of the one before it on. Neighbours may be of one kind: those
// of the assistant that come from different places. A long prompt has thousands, so it is small.
type Stretch struct {
	End  int32
	Kind jinja.OriginKind
}

// Prompt is a rendered conversation.
type Prompt struct {
	Text string
	// Kinds tell who wrote what of Text, from its first byte to its last.
	Kinds []Stretch
	// Spans are the origins of all of Text, in order, if they were asked for. Message and Part are those of the
	// request, of a tool's schema the index of the tool. Documents count as a user's message behind the last. What
	// the request says in its template arguments is a user's, too.
	Spans   []jinja.Span
	Splices []Splice // in order
	Parts   []ledger.Part
	// Owner is who decides what reasoning is in the prompt, of remembered turns too.
	Owner    ledger.Owner
	Template string // name of the template among Source.Templates, "request" for the request's own
	// Tail is what the prompt ends with from the header of its last turn on, at most abi.MaxPromptTail
	// bytes, and without what a user wrote. With a continued answer it holds that, too, where it fits.
	Tail string
	// Prefill is what of a continued answer is not in Tail; a parser reads it before the model's output.
	Prefill string
	// Before is what follows the last byte of the last message, or of the one before where the last is
	// continued: the Before of the turn that comes. Empty where it holds more than the template wrote; such a
	// turn is not replayed.
	Before string
	// Next is the Message that Parts of later prompts have of the model's turn.
	Next int
	// Start is where the model's output begins, by the plan. StartAuto where the prompt does not end as the
	// plan expects it: then Tail tells.
	Start           plan.StartState
	Stops, Preserve []string
	// Missing names what of the request the template cannot show, and what was changed for it. For logs: it
	// holds names of members and no content.
	Missing []string
	// Lost names what of Missing no model will see although no rule about reasoning says so: text that the template
	// leaves out.
	Lost []string
}

// Model is a compiled and probed chat template. It is safe for concurrent use.
type Model struct {
	main, tools, rag *variant // tools and rag may be nil
	tokens           map[string]jinja.Value
	ends             []string
	policyOwns       bool
	now              func() time.Time
	cache            toolCache
	args             argCache
	schema           *jinja.Template // prints a tool
}

// Limits of templates. Those of a request's own template are small, since it is a client that wrote it.
const (
	maxSource    = 1 << 20
	maxOwnSource = 64 << 10
	maxMissing   = 64
)

// probeLimits are for conversations of some words.
func probeLimits(own bool) jinja.Limits {
	l := jinja.Limits{Steps: 100_000, Memory: 16 << 20, Output: 1 << 20, String: 1 << 20}
	if own {
		l.Steps = 20_000
	}
	return l
}

func ownLimits() jinja.Limits {
	return jinja.Limits{Steps: 1_000_000, Memory: 64 << 20, Output: 8 << 20, String: 4 << 20, Depth: 50}
}

// New compiles a model's templates and probes them. The error says which template is at fault and where.
func New(ctx context.Context, s Source) (*Model, error) {
	m := &Model{ends: nonEmpty(s.Ends), policyOwns: s.PolicyOwns, now: s.Now, tokens: make(map[string]jinja.Value, len(s.Tokens))}
	for name, text := range s.Tokens {
		m.tokens[name] = jinja.Text(text, jinja.Origin{})
	}
	if m.now == nil {
		m.now = time.Now
	}
	m.cache.init()
	m.args.init()
	var err error
	if m.schema, err = jinja.Compile("{{ tool | tojson }}", jinja.Options{}); err != nil {
		return nil, err
	}
	main, ok := s.Templates["default"]
	if !ok {
		main = s.Template
	}
	if m.main, err = m.compile(ctx, "default", main, false); err != nil {
		return nil, err
	}
	for _, v := range []struct {
		name string
		into **variant
	}{{"tool_use", &m.tools}, {"rag", &m.rag}} {
		src, ok := s.Templates[v.name]
		if !ok {
			continue
		}
		if *v.into, err = m.compile(ctx, v.name, src, false); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func nonEmpty(list []string) []string {
	var out []string
	for _, s := range list {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}
