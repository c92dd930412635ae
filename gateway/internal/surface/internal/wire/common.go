package wire

import (
	"math"
	"net/http"
	"strings"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/gateway/internal/surface"
)

// NewRequest returns an empty request, both halves of it in one piece of memory.
func NewRequest() *surface.Request {
	both := &struct {
		surface.Request
		canonical conv.Request
	}{}
	both.Request.Request = &both.canonical
	return &both.Request
}

const (
	maxTokens  = math.MaxInt32
	maxStops   = 64
	maxStop    = 1024 // bytes
	maxSession = 256  // bytes
)

// Tokens reads a count of tokens, at least 1.
func (d *Decoder) Tokens() (int, error) {
	n, err := d.Int(1, maxTokens)
	return int(n), err
}

// Sampling reads the member key if it is one of the engine's knobs, which have the same names on all
// surfaces.
func (d *Decoder) Sampling(s *conv.Sampling, key []byte) (known bool, err error) {
	switch string(key) {
	case "temperature":
		err = d.float(&s.Temperature, 0, 100)
	case "top_p":
		err = d.float(&s.TopP, 0, 1)
	case "min_p":
		err = d.float(&s.MinP, 0, 1)
	case "frequency_penalty":
		err = d.float(&s.FrequencyPenalty, -2, 2)
	case "presence_penalty":
		err = d.float(&s.PresencePenalty, -2, 2)
	case "repetition_penalty":
		err = d.float(&s.RepetitionPenalty, 0, 100)
	case "top_k":
		var n int64
		if n, err = d.Int(-1, math.MaxInt32); err == nil {
			k := int(n)
			s.TopK = &k
		}
	case "seed":
		var n int64
		if n, err = d.Int(math.MinInt64, math.MaxInt64); err == nil {
			s.Seed = &n
		}
	case "ignore_eos":
		s.IgnoreEOS, err = d.Bool()
	default:
		return false, nil
	}
	return true, err
}

func (d *Decoder) float(dst **float64, lo, hi float64) error {
	f, err := d.Float(lo, hi)
	if err == nil {
		*dst = &f
	}
	return err
}

// Stops reads stop strings: one or an array. Empty ones are left out.
func (d *Decoder) Stops() ([]string, error) {
	var out []string
	one := func() error {
		s, err := d.String()
		switch {
		case err != nil:
			return err
		case len(s) > maxStop:
			return d.Bad("expected at most %d bytes, got %d", maxStop, len(s))
		case len(out) == maxStops:
			return d.Bad("expected at most %d stop strings", maxStops)
		case s != "":
			out = append(out, s)
		}
		return nil
	}
	switch d.Type() {
	case jsonscan.String:
		err := one()
		return out, err
	case jsonscan.Array:
		err := d.Array(func(int) error { return one() })
		return out, err
	}
	return nil, d.BadType("a string or an array of strings")
}

// Thinking reads {"type": enabled | disabled | adaptive, "budget_tokens", "display"}. A type that is
// not known leaves it to the model.
func (d *Decoder) Thinking(t *conv.Thinking) error {
	t.Mode = conv.ThinkingUnset
	err := d.Object(func(key []byte) error {
		switch string(key) {
		case "type":
			b, err := d.Bytes()
			switch string(b) {
			case "enabled":
				t.Mode = conv.ThinkingOn
			case "disabled":
				t.Mode = conv.ThinkingOff
			case "adaptive", "auto":
				t.Mode = conv.ThinkingAdaptive
			default:
				t.Mode = conv.ThinkingAdaptive
				d.Ignore("thinking.type")
			}
			return err
		case "budget_tokens":
			n, err := d.Int(0, maxTokens)
			t.Budget = int(n)
			return err
		case "display":
			b, err := d.Bytes()
			t.Omitted = string(b) == "omitted"
			return err
		}
		return d.Skip()
	})
	if err == nil && t.Mode == conv.ThinkingUnset {
		return d.BadMember("type", "expected enabled, disabled or adaptive")
	}
	return err
}

// Named checks a tool choice against the tools that are left.
func (d *Decoder) Named(c conv.ToolChoice, tools []conv.ToolDef) error {
	switch {
	case c.Mode == conv.ChoiceRequired && len(tools) == 0:
		return d.BadMember("tool_choice", "a call is required, but the request has no tools")
	case c.Mode == conv.ChoiceNamed:
		for i := range tools {
			if tools[i].Name == c.Name {
				return nil
			}
		}
		return d.BadMember("tool_choice", "the request has no tool %q", c.Name[:min(len(c.Name), 64)])
	}
	return nil
}

// Open reports whether a conversation ends with words of the assistant, which the model can go on with.
func Open(messages []conv.Message) bool {
	if len(messages) == 0 {
		return false
	}
	m := &messages[len(messages)-1]
	return m.Role == conv.Assistant && len(m.Parts) > 0 && m.Parts[len(m.Parts)-1].Kind == conv.Text
}

// Session is the client's own name for the conversation: what its headers say, else the request's cache
// key, else nothing. A client's sub-agents are conversations of their own.
func Session(h http.Header, cacheKey string) string {
	s := h.Get("X-Claude-Code-Session-Id")
	if s != "" {
		if agent := h.Get("X-Claude-Code-Agent-Id"); agent != "" {
			s += "/" + agent
		}
	}
	for _, name := range [...]string{"Thread-Id", "X-Session-Id", "X-Session-Affinity"} {
		if s == "" {
			s = h.Get(name)
		}
	}
	if s == "" {
		// What keeps sessions must not keep the memory of a request's texts.
		s = strings.Clone(cacheKey)
	}
	return s[:min(len(s), maxSession)]
}
