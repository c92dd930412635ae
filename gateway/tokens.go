package gateway

import (
	"context"
	"slices"
	"strconv"

	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/httpapi"
	"github.com/weirgate/weir/gateway/internal/surface"
)

// maxText bounds the text of one request to detokenize, in bytes: short ids may stand for long tokens.
const maxText = 64 << 20

// Tokenize gives the tokens of a text, or those that the model would get for a conversation.
func (g *Gateway) Tokenize(ctx context.Context, c *httpapi.Call, r *surface.TokenizeRequest) (*surface.TokenizeResult, error) {
	s := g.current.Load()
	t, cm, err := s.tenants.Admit(c.Key, r.Model)
	if err != nil {
		return nil, err
	}
	permit, err := t.Acquire()
	if err != nil {
		return nil, err
	}
	defer permit.Release()
	m := s.models[cm.ID]
	if m.vocab == nil {
		return nil, noVocabulary(m)
	}
	v, out := m.vocab, &surface.TokenizeResult{Context: m.Context}
	switch {
	case r.Chat != nil:
		p, err := g.prompt(ctx, s, m, t, c, false)
		if err != nil {
			return nil, err
		}
		if p.page == nil {
			return nil, fault.At(fault.Unsupported, "messages", "the prompts of model %s are made by its engine", m.ID)
		}
		out.Tokens = slices.Clone(p.IDs)
		g.release(p)
	case r.Special:
		out.Tokens = v.EncodeAround(nil, r.Text)
	default:
		out.Tokens = v.Encode(nil, r.Text)
	}
	if r.Strings {
		out.Strings = make([]string, len(out.Tokens))
		for i, id := range out.Tokens {
			out.Strings[i], _ = v.Token(id)
		}
	}
	return out, nil
}

// Detokenize gives the text of tokens.
func (g *Gateway) Detokenize(_ context.Context, c *httpapi.Call, r *surface.DetokenizeRequest) ([]byte, error) {
	s := g.current.Load()
	_, cm, err := s.tenants.Admit(c.Key, r.Model)
	if err != nil {
		return nil, err
	}
	m := s.models[cm.ID]
	if m.vocab == nil {
		return nil, noVocabulary(m)
	}
	v, size := m.vocab, 0
	for i, id := range r.Tokens {
		token, ok := v.Token(id)
		if size += len(token); !ok {
			return nil, fault.At(fault.Invalid, "tokens["+strconv.Itoa(i)+"]", "the model has no token %d", id)
		} else if size > maxText {
			return nil, fault.At(fault.Invalid, "tokens", "their text has more than %d bytes", maxText)
		}
	}
	return v.Decode(nil, r.Tokens, false), nil
}

func noVocabulary(m *model) error {
	return fault.At(fault.Unsupported, "model", "weir does not have the vocabulary of model %s", m.ID)
}
