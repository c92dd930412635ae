package chat

import (
	"math"
	"net/http"
	"strconv"

	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/gateway/internal/surface"
	"github.com/weirgate/weir/gateway/internal/surface/internal/wire"
)

// maxTokens bounds the tokens of one request for their text. No model has a window of so many.
const maxTokens = 4 << 20

var _ surface.Tokens = Surface{}

// DecodeTokenize reads a request for tokens, in vLLM's form: of a prompt, or of what a chat completion with
// the same members would send to the model.
func (s Surface) DecodeTokenize(body []byte, header http.Header) (*surface.TokenizeRequest, error) {
	d := decoder{req: wire.NewRequest()}
	d.Recall(s.Recall, header)
	d.req.Choice.Parallel = true
	out := &surface.TokenizeRequest{Special: true}
	prompt, messages := false, false
	err := d.Document(body, func(key []byte) (err error) {
		switch string(key) {
		case "prompt":
			prompt = true
			out.Text, err = d.String()
		case "return_token_strs":
			out.Strings, err = d.Bool()
		case "messages":
			messages = true
			return d.messages()
		default:
			return d.member(key)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	out.Model = d.req.Model
	switch {
	case prompt && messages:
		return nil, d.BadMember("prompt", "expected prompt or messages, got both")
	case messages:
		out.Chat, err = d.finish(header)
		return out, err
	case !prompt:
		return nil, d.BadMember("prompt", "expected prompt or messages")
	case out.Model == "":
		return nil, d.noModel()
	}
	if d.special != nil {
		out.Special = *d.special
	}
	return out, nil
}

// TokenizeBody is the answer to a request for tokens.
func (Surface) TokenizeBody(res *surface.TokenizeResult) []byte {
	out := make([]byte, 0, 64+8*len(res.Tokens)+16*len(res.Strings))
	out = strconv.AppendInt(append(out, `{"count":`...), int64(len(res.Tokens)), 10)
	out = strconv.AppendInt(append(out, `,"max_model_len":`...), int64(res.Context), 10)
	out = append(out, `,"tokens":[`...)
	for i, id := range res.Tokens {
		if i > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendUint(out, uint64(id), 10)
	}
	out = append(out, `],"token_strs":`...)
	if res.Strings == nil {
		return append(out, "null}"...)
	}
	out = append(out, '[')
	for i, s := range res.Strings {
		if i > 0 {
			out = append(out, ',')
		}
		out = jsonscan.AppendString(out, s)
	}
	return append(out, "]}"...)
}

// DecodeDetokenize reads a request for the text of tokens, in vLLM's form.
func (Surface) DecodeDetokenize(body []byte) (*surface.DetokenizeRequest, error) {
	d := decoder{}
	var out surface.DetokenizeRequest
	there := false
	err := d.Document(body, func(key []byte) (err error) {
		switch string(key) {
		case "model":
			out.Model, err = d.String()
		case "tokens":
			there, out.Tokens = true, nil
			return d.Array(func(i int) error {
				if i == maxTokens {
					return d.Bad("expected at most %d tokens", maxTokens)
				}
				id, err := d.Int(0, math.MaxUint32)
				out.Tokens = append(out.Tokens, uint32(id))
				return err
			})
		default:
			return d.Skip()
		}
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case out.Model == "":
		return nil, d.noModel()
	case !there:
		return nil, d.BadMember("tokens", "expected an array of token ids")
	}
	return &out, nil
}

// DetokenizeBody is the answer to a request for the text of tokens.
func (Surface) DetokenizeBody(text []byte) []byte {
	out := append(make([]byte, 0, 16+len(text)+len(text)/8), `{"prompt":`...)
	return append(jsonscan.AppendString(out, text), '}')
}

func (d *decoder) noModel() error { return d.BadMember("model", "expected the name of a model") }
