package gateway

import (
	"context"
	"log/slog"
	"slices"
	"strings"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/gateway/internal/canon"
	"github.com/weirgate/weir/gateway/internal/httpapi"
	"github.com/weirgate/weir/gateway/internal/ledger"
	"github.com/weirgate/weir/gateway/internal/prompt"
	"github.com/weirgate/weir/gateway/internal/telemetry"
	"github.com/weirgate/weir/gateway/internal/tenant"
	"github.com/weirgate/weir/gateway/internal/turn"
	"github.com/weirgate/weir/gateway/internal/turnmemory"
	"github.com/weirgate/weir/gateway/tokenizer/vocab"
)

// maxRemembered is the longest turn that is remembered, in bytes.
const maxRemembered = 1 << 20

// history is what is known of a conversation from its earlier turns, and takes what comes of this one.
type history struct {
	memory        *turnmemory.Memory
	tenant, model string
	req           *conv.Request
	keys          []turnmemory.Key
	end           *turnmemory.End

	ledger *ledger.Ledger
	report ledger.Report
}

// history reads a conversation. It belongs to one turn.
func (g *Gateway) history(m *model, t *tenant.Tenant, req *conv.Request) *history {
	h := &history{memory: g.memory, ledger: g.ledger, tenant: t.Name, model: m.identity(), req: req}
	h.keys, h.end = g.memory.Follow(req)
	return h
}

// identity names a model with the files it has now: with other ones its turns and prompts are others, too.
func (m *model) identity() string {
	if m.assets == nil {
		return m.ID
	}
	return m.ID + " " + m.assets.id
}

// turn is what is remembered of an assistant message: nothing where the client sends it back with another
// reasoning than the model's, since what a client says counts.
func (h *history) turn(message int) *prompt.Turn {
	if message >= len(h.keys) || h.keys[message] == (turnmemory.Key{}) {
		return nil
	}
	t := h.memory.Get(h.tenant, h.model, h.keys[message])
	if t == nil {
		return nil
	}
	said := sent(&h.req.Messages[message])
	if said != "" && !alike(said, t.Reasoning) {
		return nil
	}
	out := &prompt.Turn{Before: t.Before, Text: t.Text, IDs: t.IDs}
	if said == "" {
		out.Reasoning = t.Reasoning
	}
	return out
}

// follow tells the ledger of a turn's prompt, and has the turn keep what will be remembered of it and, of a
// tenant that allows it, logged.
func (g *Gateway) follow(ctx context.Context, job *httpapi.Job, m *model, t *tenant.Tenant, p *made, l telemetry.Labels) *event.Folder {
	h, tn := p.history, job.Turn
	if h == nil && !t.LogPrompts {
		return nil
	}
	told := &event.Folder{}
	tn.Tap = told
	if h == nil {
		return told
	}
	tn.Output = &turn.Output{Max: maxRemembered}
	h.report = h.ledger.Observe(&ledger.Prompt{
		Key: ledger.Key{Tenant: t.Name, Model: m.identity(), Session: p.req.Session},
		IDs: p.IDs, Text: p.Text, Tokens: p.Tokens, Parts: preambles(p.page.Parts, p.Text), Owner: p.page.Owner,
	})
	g.told(ctx, l, tn.Request.ID, &h.report)
	if t.PrefixHeader {
		job.Prefix = h.report.Header()
	}
	return told
}

// preambles marks the lines in front of system texts that change with every request, where they were left there.
func preambles(parts []ledger.Part, text string) []ledger.Part {
	for i, p := range parts {
		if p.Kind != ledger.System || p.End > len(text) || p.Start > p.End {
			continue
		}
		n := canon.Preamble(text[p.Start:p.End])
		if n == 0 {
			continue
		}
		line, rest := p, p
		line.Kind, line.End, line.Canonical = ledger.Preamble, p.Start+n, 0
		rest.Start, rest.Canonical = p.Start+n, 0
		return slices.Concat(parts[:i], []ledger.Part{line, rest}, parts[i+1:])
	}
	return parts
}

// prefixAttrs is how many attributes a line about a prompt's prefix has, at most.
const prefixAttrs = 16

// told counts and logs what the ledger says.
func (g *Gateway) told(ctx context.Context, l telemetry.Labels, id string, r *ledger.Report) {
	g.metrics.Prefix(l, telemetry.Prefix{Cause: r.Cause.String(), Tokens: r.Tokens, Expected: r.Expected, Lost: r.Lost})
	level := slog.LevelDebug
	if r.Cause.Break() {
		level = slog.LevelInfo
	}
	if g.log.Enabled(ctx, level) {
		attrs := append(make([]slog.Attr, 0, prefixAttrs),
			slog.String(telemetry.KeyRequestID, id), slog.String(telemetry.KeyTenant, l.Tenant), slog.String(telemetry.KeyModel, l.Model))
		telemetry.Log(ctx, g.log, level, "prompt prefix", r.LogAttrs(attrs)...)
	}
}

// remember keeps what the model wrote, for when the conversation comes back.
func (h *history) remember(m *model, p *made, out *turn.Output, told *event.Folder) {
	if h == nil {
		return
	}
	if !out.Whole {
		h.ledger.Append(h.report.Ref, ledger.Answer{}) // the prompt was seen, and what came of it is not known
		return
	}
	res, text, ids := &told.Result, string(out.Text), sampled(m.vocab, out)
	h.ledger.Append(h.report.Ref, ledger.Answer{IDs: ids, Text: text, Parts: answerParts(text, res.Blocks, p.page.Next, h.ledger.Sum)})
	if p.page.Template == "request" || !lasting(p.req) {
		return
	}
	h.memory.Put(h.tenant, h.model, h.end.Key(res.Blocks), &turnmemory.Turn{Before: p.page.Before, Text: text, IDs: ids, Reasoning: reasoningOf(res.Blocks)})
}

// lasting reports whether what stands before the turn will stand there for whoever sends the same conversation: not
// where the last part is one that its client takes away again, nor where the answer goes on behind reasoning that
// the client wrote, which conversations are not told apart by.
func lasting(req *conv.Request) bool {
	n := len(req.Messages)
	if n == 0 {
		return true
	}
	m := &req.Messages[n-1]
	if k := len(m.Parts); k > 0 && m.Parts[k-1].Volatile {
		return false
	}
	return !req.Prompting.Continue || sent(m) == ""
}

// sampled are the ids of what the model wrote, nil where the engine does not tell, or where they are not those of
// the text: an engine that leaves the end of a turn out of its text has its id among them.
func sampled(v *vocab.Tokenizer, out *turn.Output) []uint32 {
	ids := out.IDs
	if v == nil || len(ids) == 0 {
		return nil
	}
	if last := ids[len(ids)-1]; v.Special(last) {
		if token, ok := v.Token(last); ok && !strings.HasSuffix(string(out.Text), token) {
			ids = ids[:len(ids)-1]
		}
	}
	if string(v.Decode(nil, ids, false)) != string(out.Text) {
		return nil
	}
	return ids
}

// answerParts are the blocks of a turn in its text, as a later prompt has them.
func answerParts(text string, blocks []event.Block, message int, sum func(string) uint64) []ledger.Part {
	var parts []ledger.Part
	at := 0
	for i := range blocks {
		b := &blocks[i]
		part := ledger.Part{Message: message, Part: i}
		said := string(b.Text)
		switch b.Kind {
		case event.ReasoningStart:
			part.Kind = ledger.Reasoning
		case event.TextStart:
			part.Kind = ledger.Assistant
		case event.ToolStart:
			part.Kind, part.Name, said = ledger.Call, b.Call.Name, string(b.Call.Arguments)
		default:
			continue
		}
		part.Canonical = sum(said)
		found := strings.Index(text[at:], said)
		if found < 0 || said == "" { // written otherwise than it is handed on
			part.Start, part.End = at, at
		} else {
			part.Start, part.End = at+found, at+found+len(said)
		}
		at = part.End
		parts = append(parts, part)
	}
	return parts
}

// reasoningOf is all reasoning of a turn.
func reasoningOf(blocks []event.Block) string {
	var text strings.Builder
	for i := range blocks {
		if blocks[i].Kind == event.ReasoningStart {
			text.WriteString(string(blocks[i].Text))
		}
	}
	return text.String()
}

// sent is the reasoning that a client sends back in a message.
func sent(m *conv.Message) string {
	var text strings.Builder
	for i := range m.Parts {
		if m.Parts[i].Kind == conv.Reasoning {
			text.WriteString(m.Parts[i].Text)
		}
	}
	return text.String()
}

// alike reports whether two texts are the same but for their white space, in which clients differ.
func alike(a, b string) bool {
	return a == b || slices.Equal(strings.Fields(a), strings.Fields(b))
}
