package openai

import (
	"context"
	"strconv"

	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/engines"
	"github.com/weirgate/weir/engines/internal/upstream"
)

// maxTokenized bounds a tokenize answer: llama.cpp sends every id back.
const maxTokenized = 32 << 20

// CountTokens asks the server how many tokens the prompt is. A prompt of ids needs no asking. It is
// refused where no tokenize endpoint is configured.
func (e *Engine) CountTokens(ctx context.Context, req *engines.Request) (int, error) {
	if e.cfg.Mode == Completions && e.cfg.PromptIDs && len(req.IDs) > 0 {
		return len(req.IDs), nil
	}
	body := e.client.Body()
	want := "count"
	switch {
	case e.cfg.Tokenizer == TokenizeVLLM:
		model := req.Model
		if model == "" {
			model = e.cfg.Model
		}
		body.Buf = jsonscan.AppendString(append(body.Buf, `{"model":`...), model)
		if e.cfg.Mode == Chat && req.Conversation != nil {
			body.Buf = appendMessages(append(body.Buf, `,"messages":`...), req.Conversation.Messages)
			body.Buf = e.appendTools(body.Buf, req.Conversation)
		} else {
			body.Buf = jsonscan.AppendString(append(body.Buf, `,"prompt":`...), req.Prompt)
		}
		body.Buf = append(body.Buf, `,"add_special_tokens":false}`...)
	case e.cfg.Tokenizer == TokenizeLlamaCPP && e.cfg.Mode == Completions:
		want = "tokens"
		body.Buf = jsonscan.AppendString(append(body.Buf, `{"content":`...), req.Prompt)
		body.Buf = append(body.Buf, `,"add_special":false,"parse_special":true}`...)
	default:
		return 0, e.refuse("no tokenize endpoint")
	}
	answer, err := e.client.Post(ctx, e.tokenize, body, upstream.Forward{ID: req.ID, Headers: req.Headers}, maxTokenized)
	if err != nil {
		return 0, err
	}
	n, ok := tokenCount(answer, want)
	if !ok {
		return 0, e.client.Fail(engines.ClassProtocol, "tokenize answered without "+want, nil)
	}
	return n, nil
}

// tokenCount reads a member that is a number, or an array that is counted.
func tokenCount(answer []byte, member string) (n int, ok bool) {
	r := jsonscan.NewReader(answer)
	err := r.Object(func(key []byte) error {
		if string(key) != member {
			_, err := r.Raw()
			return err
		}
		if r.Peek() == jsonscan.Array {
			ok = true
			return r.Array(func(int) error {
				n++
				_, err := r.Raw()
				return err
			})
		}
		raw, err := r.Raw()
		if v, e := strconv.Atoi(string(raw)); e == nil && v >= 0 {
			n, ok = v, true
		}
		return err
	})
	return n, ok && err == nil
}
