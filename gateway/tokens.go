package gateway

import (
	"context"
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
	m := s.models[cm.ID]
	if !m.ownVocabulary() {
		return nil, noVocabulary(m)
	}
	out := &surface.TokenizeResult{Context: m.Context}
	if r.Chat == nil {
		out.Tokens = g.vocab.Encode(nil, r.Text) // which puts nothing around a text
	} else {
		p, _, err := g.prompt(ctx, m, t, r.Chat.Request)
		if err != nil {
			return nil, err
		}
		out.Tokens = p.IDs
	}
	if r.Strings {
		out.Strings = make([]string, len(out.Tokens))
		for i, id := range out.Tokens {
			out.Strings[i], _ = g.vocab.Token(id)
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
	if !m.ownVocabulary() {
		return nil, noVocabulary(m)
	}
	var text []byte
	for i, id := range r.Tokens {
		token, ok := g.vocab.Token(id)
		switch {
		case !ok:
			return nil, fault.At(fault.Invalid, "tokens["+strconv.Itoa(i)+"]", "the model has no token %d", id)
		case len(text)+len(token) > maxText:
			return nil, fault.At(fault.Invalid, "tokens", "their text has more than %d bytes", maxText)
		}
		text = append(text, token...)
	}
	return text, nil
}

func noVocabulary(m *model) error {
	return fault.At(fault.Unsupported, "model", "weir does not have the vocabulary of model %s", m.ID)
}
