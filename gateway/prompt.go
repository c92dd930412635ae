package gateway

import (
	"context"
	"slices"
	"time"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/plan"
	"github.com/weirgate/weir/engines"
	"github.com/weirgate/weir/gateway/internal/canon"
	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/httpapi"
	"github.com/weirgate/weir/gateway/internal/prompt"
	"github.com/weirgate/weir/gateway/internal/tenant"
	"github.com/weirgate/weir/gateway/internal/turn"
	"github.com/weirgate/weir/gateway/jinja"
	"github.com/weirgate/weir/gateway/tokenizer/vocab"
)

// countTimeout bounds how long a turn waits for an engine to count its prompt; after it the count is an
// estimate.
const countTimeout = 2 * time.Second

// made is a prompt, with what the turn and what follows it need.
type made struct {
	turn.Prompt
	req     *conv.Request  // as the engine shall see it: with the thinking that was decided
	page    *prompt.Prompt // nil where the engine renders
	history *history       // nil where nothing is remembered
	encoded *vocab.Encoded // memory of IDs and IDsText
}

// prompt makes the prompt of a conversation: canonical form, the policy's plan, the rendered text and its
// tokens. What is remembered of its turns is in it either way; remembers says whether more is to be remembered.
func (g *Gateway) prompt(ctx context.Context, s *snapshot, m *model, t *tenant.Tenant, c *httpapi.Call, remembers bool) (*made, error) {
	req, err := g.unsealed(s, t, c)
	if err != nil {
		return nil, err
	}
	if req.Prompting.Template != "" && !t.ChatTemplate {
		return nil, fault.At(fault.Invalid, "chat_template", "requests may not bring a template of their own here")
	}
	if t.StripPreamble {
		req = canon.StripPreamble(req)
	}
	req = canon.MarkVolatile(req, g.volatile)
	if m.enginePrompts() {
		return estimated(req)
	}
	p := &made{}
	h := g.history(m, t, req)
	if remembers {
		p.history = h
	}
	if m.Renderer != "" || m.assets.files == nil {
		req = prompt.Recall(req, h.turn) // so that the policy decides on it
	}
	page, err := g.render(ctx, m, t, req, h)
	if err != nil {
		return nil, err
	}
	if n := len(page.Text); n/mostPerToken > m.Context {
		f := fault.New(fault.Overflow, "the prompt has some %d tokens, the model's window is %d", estimate(n), m.Context)
		f.Tokens, f.Limit = estimate(n), m.Context
		return nil, f
	}
	p.page = page
	p.Text, p.Stops, p.Prefill = page.Text, m.stops(page.Stops), page.Prefill
	start := guest.Start{Choice: guest.Choice(req.Choice.Mode), Tools: len(req.Tools) > 0, Tail: []byte(page.Tail)}
	decided := *req
	switch page.Start {
	case plan.StartReasoning:
		start.Thinking, decided.Thinking.Mode = guest.ThinkingOn, conv.ThinkingOn
	case plan.StartContent:
		start.Thinking, decided.Thinking.Mode = guest.ThinkingOff, conv.ThinkingOff
	}
	p.Start = start.Append(nil)
	if m.assets != nil && m.assets.files != nil {
		decided.Sampling = merged(decided.Sampling, &m.assets.files.Sampling)
	}
	p.req = &decided
	g.count(ctx, m, t, p)
	return p, nil
}

// stops are those of a plan and the texts of the tokens that end a turn by the model's files, which an engine that
// shows special tokens writes as text.
func (m *model) stops(planned []string) []string {
	if m.assets == nil || m.assets.files == nil {
		return planned
	}
	out := slices.Clone(planned)
	for _, s := range m.assets.files.Stops {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out[:min(len(out), maxStops)]
}

// maxStops is how many stop strings engines take.
const maxStops = 8

// enginePrompts reports whether the engine makes the prompt.
func (m *model) enginePrompts() bool {
	return m.Renderer == "" && (m.assets == nil || m.assets.template == nil)
}

// merged are a client's settings, with the model's own where the client is silent.
func merged(s conv.Sampling, def *conv.Sampling) conv.Sampling {
	pick(&s.Temperature, def.Temperature)
	pick(&s.TopP, def.TopP)
	pick(&s.MinP, def.MinP)
	pick(&s.FrequencyPenalty, def.FrequencyPenalty)
	pick(&s.PresencePenalty, def.PresencePenalty)
	pick(&s.RepetitionPenalty, def.RepetitionPenalty)
	pick(&s.TopK, def.TopK)
	return s
}

func pick[T any](to **T, def *T) {
	if *to == nil {
		*to = def
	}
}

// count sets the prompt's tokens: exact where weir has the vocabulary, else the engine's own count, else an
// estimate.
func (g *Gateway) count(ctx context.Context, m *model, t *tenant.Tenant, p *made) {
	if m.vocab != nil {
		p.encoded, _ = g.encoded.Get().(*vocab.Encoded)
		if p.encoded == nil {
			p.encoded = &vocab.Encoded{}
		}
		m.encode(p.encoded, p.page, t.Guard)
		p.IDs, p.Tokens = p.encoded.IDs, len(p.encoded.IDs)
		if m.takesIDs {
			p.IDsText = p.encoded.Text()
		}
		return
	}
	p.Tokens, p.Estimate = estimate(len(p.Text)), true
	c, ok := m.engines[0].Engine.(engines.Counter)
	if !ok || !m.engines[0].counts() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, countTimeout)
	defer cancel()
	if n, err := c.CountTokens(ctx, turn.RequestFor("", m.EngineModel, "", p.req, &p.Prompt, 0)); err == nil {
		p.Tokens, p.Estimate = n, false
	}
}

// maxSpare is the largest list of ids that is kept for another prompt, in bytes.
const maxSpare = 8 << 20

// release gives back what the ids of a prompt stood in. Nothing of it may be in use.
func (g *Gateway) release(p *made) {
	if e := p.encoded; e != nil && e.Size() <= maxSpare {
		e.Reset()
		p.encoded = nil
		g.encoded.Put(e)
	}
}

// encode makes the ids of a prompt: of its text, but for the stretches whose ids are those that the model wrote.
func (m *model) encode(dst *vocab.Encoded, p *prompt.Prompt, guarded bool) {
	var untrusted []vocab.Span
	if guarded {
		untrusted = untrustedOf(p)
	}
	stretch := func(from, to int) {
		var guard *vocab.Guard
		if guarded {
			guard = &vocab.Guard{Untrusted: within(untrusted, from, to), Controls: m.controls}
		}
		if m.takesIDs {
			m.cache.EncodeText(dst, p.Text[from:to], guard)
			return
		}
		dst.IDs = m.cache.Encode(dst.IDs, p.Text[from:to], guard)
	}
	at := 0
	if m.vocab.Concatenates() {
		for _, s := range p.Splices {
			if len(s.IDs) == 0 {
				continue
			}
			stretch(at, s.From)
			if m.takesIDs {
				m.vocab.Append(dst, s.IDs...)
			} else {
				dst.IDs = append(dst.IDs, s.IDs...)
			}
			at = s.To
		}
	}
	stretch(at, len(p.Text))
}

// untrustedOf are the stretches that users and tools wrote, that tools' definitions say, and that the assistant is said
// to have said: a model that repeats what it read writes it in other tokens. A turn in the form that models write
// has markers of its own.
func untrustedOf(p *prompt.Prompt) []vocab.Span {
	out := make([]vocab.Span, 0, len(p.Kinds)/2+1) // the template's stand between them
	next := 0                                      // of the splices
	from, to := 0, 0
	for _, s := range p.Kinds {
		from, to = to, int(s.End)
		switch s.Kind {
		case jinja.FromUser, jinja.FromToolResult, jinja.FromToolSchema:
		case jinja.FromAssistant:
			for next < len(p.Splices) && p.Splices[next].To <= from {
				next++
			}
			if next < len(p.Splices) && p.Splices[next].Begin < to {
				continue
			}
		default:
			continue
		}
		if n := len(out); n > 0 && out[n-1].To == from {
			out[n-1].To = to
		} else {
			out = append(out, vocab.Span{From: from, To: to})
		}
	}
	return out
}

// within are the spans in [from, to), counted from there.
func within(spans []vocab.Span, from, to int) []vocab.Span {
	if from == 0 && (len(spans) == 0 || spans[len(spans)-1].To <= to) {
		return spans
	}
	var out []vocab.Span
	for _, s := range spans {
		if lo, hi := max(s.From, from), min(s.To, to); lo < hi {
			out = append(out, vocab.Span{From: lo - from, To: hi - from})
		}
	}
	return out
}

// engineModel is the engine's name of the model. To a simulated engine it is the model's id: several
// models of different families may share one, and it writes in the family of each.
func (m *model) engineModel() string {
	if m.simulated() {
		return m.ID
	}
	return m.EngineModel
}

// simulated reports whether every engine of the model is a simulated one.
func (m *model) simulated() bool {
	return !slices.ContainsFunc(m.engines, func(e *engine) bool { return e.config.Sim == nil })
}

// mostPerToken is more than any text of some length has of bytes for each token: one beyond it is not worth being cut
// into tokens.
const mostPerToken = 32

// bytesPerToken is what English prose and code come to with vocabularies of 100,000 and more.
const bytesPerToken = 4

func estimate(n int) int { return (n + bytesPerToken - 1) / bytesPerToken }

// estimated is the prompt of a model whose engine renders by itself.
func estimated(req *conv.Request) (*made, error) {
	switch p := &req.Prompting; {
	case p.Template != "":
		return nil, fault.At(fault.Unsupported, "chat_template", "this model's prompts are made by its engine")
	case p.Documents != nil:
		return nil, fault.At(fault.Unsupported, "documents", "this model's prompts are made by its engine")
	case p.NoGeneration:
		return nil, fault.At(fault.Unsupported, "add_generation_prompt", "this model's prompts are made by its engine")
	}
	n := 0
	for _, m := range req.Messages {
		n += partsLen(m.Parts) + 4
	}
	for _, t := range req.Tools {
		n += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	start := guest.Start{Choice: guest.Choice(req.Choice.Mode), Tools: len(req.Tools) > 0}
	return &made{req: req, Prompt: turn.Prompt{Tokens: estimate(n), Estimate: true, Start: start.Append(nil)}}, nil
}

func partsLen(parts []conv.Part) int {
	n := 0
	for _, p := range parts {
		n += len(p.Text)
		if p.Call != nil {
			n += len(p.Call.Name) + len(p.Call.Arguments)
		}
		if p.Result != nil {
			n += partsLen(p.Result.Parts)
		}
	}
	return n
}

// room decides how many tokens may be generated, or that the prompt does not fit. An estimate refuses
// nothing: the engine knows better.
func (m *model) room(req *conv.Request, p *turn.Prompt) (int, error) {
	want := m.MaxOutput
	if req.MaxTokens > 0 {
		want = min(want, req.MaxTokens)
	}
	if p.Estimate {
		return want, nil
	}
	left := m.Context - p.Tokens
	if room := min(m.MinRoom, want); left < room {
		f := fault.New(fault.Overflow, "the prompt has %d tokens, the model's window is %d", p.Tokens, m.Context)
		f.Tokens, f.Limit, f.Room = p.Tokens, m.Context, room
		return 0, f
	}
	return min(want, left), nil
}
