package chatml

import (
	"bytes"
	"slices"
	"strings"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/gateway/internal/fault"
)

// emptyResult stands for a tool result without text: a model that is handed nothing asks again.
const emptyResult = "(empty result)"

// renderer writes one prompt.
type renderer struct {
	style
	req      *conv.Request
	plan     *planned
	name     func(namespace, name string) string
	buf      []byte
	lastUser int // index of the last message that a user wrote, -1 if there is none

	blocks   []Block        // of the last assistant message
	folded   []Block        // the same in the templates' order
	results  []result       // a run of tool results that is not written yet
	calls    []string       // ids of the calls of the last assistant message
	deferred map[string]int // deferred tools by name; a tool's entry is gone once it was shown
}

type result struct {
	message int
	*conv.ToolResult
}

func (r *renderer) put(s ...string) {
	for _, s := range s {
		r.buf = append(r.buf, s...)
	}
}

// trimFrom cuts white space around what was written from at on, in the dialects that do.
func (r *renderer) trimFrom(at int) {
	if r.trim {
		r.cut(at, bytes.TrimSpace(r.buf[at:]))
	}
}

// cut replaces what was written from at on by kept, a part of it.
func (r *renderer) cut(at int, kept []byte) {
	r.buf = r.buf[:at+copy(r.buf[at:], kept)]
}

// message writes message i, which is not one of the system messages at the start.
func (r *renderer) message(i int) error {
	m := &r.req.Messages[i]
	switch m.Role {
	case conv.User, conv.Tool:
		return r.user(i, m)
	case conv.Assistant:
		if err := r.flushResults(); err != nil {
			return err
		}
		return r.assistant(i, m)
	}
	if err := r.flushResults(); err != nil {
		return err
	}
	return r.turn("system", i, m.Parts)
}

// turn writes a turn that holds text.
func (r *renderer) turn(role string, i int, parts []conv.Part) error {
	r.put(turnOpen, role, "\n")
	at := len(r.buf)
	if err := r.content(i, parts); err != nil {
		return err
	}
	r.trimFrom(at)
	r.put(turnClose, "\n")
	return nil
}

// user writes a user's or tool message. Results wait for those of the following messages; text before,
// between and after them is a turn of its own.
func (r *renderer) user(i int, m *conv.Message) error {
	from := 0
	for j := 0; j <= len(m.Parts); j++ {
		if j < len(m.Parts) && m.Parts[j].Kind != conv.Result {
			continue
		}
		if text := m.Parts[from:j]; len(text) > 0 || len(m.Parts) == 0 {
			if err := r.flushResults(); err != nil {
				return err
			}
			if err := r.turn("user", i, text); err != nil {
				return err
			}
		}
		if from = j + 1; j < len(m.Parts) && m.Parts[j].Result != nil {
			r.results = append(r.results, result{i, m.Parts[j].Result})
		}
	}
	return nil
}

// flushResults writes the waiting tool results as one user turn, in the order of the calls. Clients send
// them as they complete, so the order would change from run to run and break the prefix. Results of one
// id stay in their order, and those of unknown calls come last.
func (r *renderer) flushResults() error {
	if len(r.results) == 0 {
		return nil
	}
	if len(r.results) > 1 {
		order := make(map[string]int, len(r.calls))
		for i, id := range r.calls {
			order[id] = i
		}
		rank := func(t result) int {
			if at, ok := order[t.CallID]; ok {
				return at
			}
			return len(r.calls)
		}
		slices.SortStableFunc(r.results, func(a, b result) int { return rank(a) - rank(b) })
	}
	r.put(turnOpen, "user")
	if r.xmlTools {
		r.put("\n")
	}
	for _, t := range r.results {
		if !r.xmlTools {
			r.put("\n")
		}
		r.put("<tool_response>\n")
		at := len(r.buf)
		if err := r.content(t.message, t.Parts); err != nil {
			return err
		}
		if r.trimFrom(at); len(r.buf) == at {
			r.put(emptyResult)
		}
		r.put("\n</tool_response>")
		if r.xmlTools {
			r.put("\n")
		}
	}
	r.put(turnClose, "\n")
	r.results = r.results[:0]
	return nil
}

// content writes text parts, those that are not empty joined by line ends.
func (r *renderer) content(message int, parts []conv.Part) error {
	wrote := false
	for i := range parts {
		p := &parts[i]
		switch p.Kind {
		case conv.Text:
			if p.Text == "" {
				continue
			}
			if wrote {
				r.put("\n")
			}
			r.put(p.Text)
		case conv.Reference:
			if wrote {
				r.put("\n")
			}
			r.reference(p.Text)
		case conv.MediaPart:
			kind := "media"
			if p.Media != nil && p.Media.Type != "" {
				kind = p.Media.Type
			}
			return fault.At(fault.Unsupported, "messages", "message %d holds %s content, but this model takes text only", message, kind)
		default:
			continue
		}
		wrote = true
	}
	return nil
}

// reference writes the schema of a deferred tool the first time it is named, and its name alone later:
// a request must not grow by naming a tool many times.
func (r *renderer) reference(name string) {
	if r.deferred == nil {
		r.deferred = make(map[string]int)
		for i, t := range r.req.Tools {
			if _, have := r.deferred[t.Name]; t.Deferred && !have {
				r.deferred[t.Name] = i
			}
		}
	}
	i, ok := r.deferred[name]
	if !ok {
		r.put(name)
		return
	}
	delete(r.deferred, name)
	r.put("<tools>")
	r.tool(&r.req.Tools[i])
	r.put("\n</tools>")
}

// assistant writes an assistant's turn: in the order of its parts where the plan splices it, else in the
// form the families' templates give it: reasoning, content, calls.
func (r *renderer) assistant(i int, m *conv.Message) error {
	r.put(turnOpen, "assistant\n")
	r.calls = r.calls[:0]
	blocks := r.blocks[:0]
	for j := range m.Parts {
		p := &m.Parts[j]
		switch {
		case p.Kind == conv.Reasoning:
			if r.thinks && p.Text != "" && !r.plan.dropped[partKey{i, j}] {
				blocks = append(blocks, Block{Kind: BlockReasoning, Text: p.Text})
			}
		case p.Kind == conv.Text:
			blocks = append(blocks, Block{Kind: BlockText, Text: p.Text})
		case p.Kind == conv.Call && p.Call != nil:
			blocks = append(blocks, Block{Kind: BlockCall, Name: r.name(p.Call.Namespace, p.Call.Name), Arguments: arguments(p.Call)})
			r.calls = append(r.calls, p.Call.ID)
		case p.Kind == conv.MediaPart:
			return fault.At(fault.Unsupported, "messages", "message %d holds media, but this model takes text only", i)
		}
	}
	if r.blocks = blocks; !r.plan.ordered[i] {
		blocks = r.fold(blocks)
	}
	// These templates give every turn after the last user's a block, empty or not.
	if r.promptOpens && i > r.lastUser && (len(blocks) == 0 || blocks[0].Kind != BlockReasoning) {
		r.put(closedThink)
	}
	r.buf = r.appendBlocks(r.buf, blocks, false)
	r.put(turnClose, "\n")
	return nil
}

// arguments are a call's arguments as JSON: the bytes received, or a custom tool's input as the one
// parameter under which such a tool is listed.
func arguments(c *conv.ToolCall) string {
	if c.Kind != conv.Custom {
		return c.Arguments
	}
	b := append(make([]byte, 0, len(c.Arguments)+16), `{"`+customParam+`": `...)
	return string(append(jsonscan.AppendString(b, c.Arguments), '}'))
}

// fold brings blocks into the order reasoning, content, calls, as one block each but for the calls, with
// the white space between them that the templates leave.
func (r *renderer) fold(blocks []Block) []Block {
	out := r.folded[:0]
	text := joined(blocks, BlockText)
	if think := strings.Trim(joined(blocks, BlockReasoning), "\n"); think != "" {
		out = append(out, Block{Kind: BlockReasoning, Text: think})
		text = strings.TrimLeft(text, "\n")
	}
	calls := slices.ContainsFunc(blocks, func(b Block) bool { return b.Kind == BlockCall })
	if r.trim || r.xml && calls {
		text = strings.TrimSpace(text)
	}
	if text != "" {
		out = append(out, Block{Kind: BlockText, Text: text})
	}
	for _, b := range blocks {
		if b.Kind == BlockCall {
			out = append(out, b)
		}
	}
	r.folded = out
	return out
}

// joined returns the texts of one kind of blocks that are not empty, joined by line ends.
func joined(blocks []Block, kind BlockKind) string {
	var one string
	var all []string
	for i := range blocks {
		b := &blocks[i]
		switch {
		case b.Kind != kind || b.Text == "":
		case one == "":
			one = b.Text
		default:
			if all == nil {
				all = append(all, one)
			}
			all = append(all, b.Text)
		}
	}
	if all == nil {
		return one
	}
	return strings.Join(all, "\n")
}
