package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/weirgate/weir/scripts/e2e/internal/harness"
)

// The models and the key of promptConfig.
const (
	idsModel  = "coder"
	textModel = "coder-text"
	openKey   = "weir-llamacpp-open"
	window    = 2048 // the engine has 8,192 tokens for four slots
)

// promptConfig is that of a weir which makes prompts with the model's own template and vocabulary. Who has
// no key is guarded; who has one is not.
const promptConfig = `
[engines.ids]
kind = "openai"
url = "%[1]s/v1"
mode = "completions"
prompt = "ids"
model = "` + alias + `"
tokenize = "llamacpp"
[engines.text]
kind = "openai"
url = "%[1]s/v1"
mode = "completions"
prompt = "text"
model = "` + alias + `"
tokenize = "llamacpp"
[[models]]
id = "` + idsModel + `"
engines = ["ids"]
gguf = %[2]q
context = %[3]d
max_output = 256
min_room = 64
[[models]]
id = "` + textModel + `"
engines = ["text"]
gguf = %[2]q
context = %[3]d
max_output = 256
min_room = 64
[[tenants]]
name = "guarded"
any_key = true
models = ["` + idsModel + `"]
guard = true
[[tenants]]
name = "open"
keys = [%[4]q]
guard = false
`

// comparison is what conversations are compared with.
type comparison struct {
	srv   *harness.Server
	e     *engine
	tap   *tap
	vocab *vocabulary
}

// tokens is the answer of weir's /v1/tokenize.
type tokens struct {
	Count  int      `json:"count"`
	Window int      `json:"max_model_len"`
	IDs    []uint32 `json:"tokens"`
}

// ask posts to weir and decodes the answer; key may be empty.
func (c *comparison) ask(ctx context.Context, key, path string, body, into any) error {
	var header []string
	if key != "" {
		header = []string{"Authorization", "Bearer " + key}
	}
	res, err := c.srv.Do(ctx, http.MethodPost, path, body, header...)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(res.Body, 16<<20))
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("weir's %s: status %d: %.300s", path, res.StatusCode, raw)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("weir's %s: %w in %.300s", path, err, raw)
	}
	return nil
}

// tokenize gives weir's ids of a conversation and their text.
func (c *comparison) tokenize(ctx context.Context, key, model string, request json.RawMessage) (ids []uint32, prompt string, err error) {
	body, err := with(request, object{"model": model})
	if err != nil {
		return nil, "", err
	}
	var t tokens
	if err := c.ask(ctx, key, "/v1/tokenize", []byte(body), &t); err != nil {
		return nil, "", err
	}
	if err := errors.Join(harness.Expect("count", t.Count, len(t.IDs)), harness.Expect("max_model_len", t.Window, window)); err != nil {
		return nil, "", fmt.Errorf("/v1/tokenize: %w", err)
	}
	var d struct {
		Prompt string `json:"prompt"`
	}
	err = c.ask(ctx, key, "/v1/detokenize", object{"model": model, "tokens": t.IDs}, &d)
	return t.IDs, d.Prompt, err
}

// reference is what a conversation is at the engine and at a guarded weir.
type reference struct {
	prompt string   // of the engine
	ours   string   // of weir
	ids    []uint32 // of weir
}

// compare compares a conversation's prompt, ids and count with the engine's.
func (c *comparison) compare(ctx context.Context, v *conversation, d *difference) (*reference, error) {
	var r reference
	var err error
	if r.ids, r.ours, err = c.tokenize(ctx, "", idsModel, v.Request); err != nil {
		return nil, err
	}
	if r.prompt, err = c.engineTemplate(ctx, v, d); err != nil {
		return nil, err
	}
	if err := d.prompts(r.ours, r.prompt); err != nil {
		return nil, err
	}
	if err := d.ids(ctx, c.e, c.vocab, r.ours, r.ids, true); err != nil {
		return nil, err
	}
	open, text, err := c.tokenize(ctx, openKey, idsModel, v.Request)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(samePrompt(text, r.ours), d.ids(ctx, c.e, c.vocab, text, open, false)); err != nil {
		return nil, fmt.Errorf("without the guard: %w", err)
	}
	if d.untrusted == nil && !slices.Equal(open, r.ids) {
		return nil, errors.New("the guard changes the ids")
	}
	n, err := c.e.count(ctx, r.ids)
	return &r, errors.Join(err, harness.Expect("the engine's count", n, len(r.ids)))
}

// run runs a conversation for one token on each surface.
func (c *comparison) run(ctx context.Context, v *conversation, r *reference) (note string, err error) {
	c.tap.clear()
	answers, err := c.usages(ctx, v, r.ids)
	if err == nil && c.tap.clear() > 0 {
		err = errors.New("weir sent a prompt for a request that only counts")
	}
	return fmt.Sprintf("%d bytes, %d ids, counted by the engine and in %s", len(r.ours), len(r.ids), answers), err
}

// engineTemplate gives the engine's prompt, or that of its stand-in where it refuses the conversation.
func (c *comparison) engineTemplate(ctx context.Context, v *conversation, d *difference) (string, error) {
	prompt, err := c.e.template(ctx, v.Request)
	if d.refusal == "" {
		return prompt, err
	}
	var refused *refusalError
	if !errors.As(err, &refused) || !strings.Contains(refused.body, d.refusal) {
		return "", fmt.Errorf("the engine should refuse the request with %q: got %w", d.refusal, err)
	}
	return c.e.template(ctx, v.Engine)
}

// usages wants to see a conversation's ids at the engine, and their count in weir's answers: streamed and
// not, and those that come before the first byte.
func (c *comparison) usages(ctx context.Context, v *conversation, ids []uint32) (string, error) {
	one := object{"model": idsModel, "max_tokens": 1, "temperature": 0}
	chat, err := with(v.Request, one)
	if err != nil {
		return "", err
	}
	arrived := func(err error) error {
		s, missing := c.tap.take()
		if err := errors.Join(err, missing); err != nil {
			return err
		}
		if !slices.Equal(s.ids, ids) {
			return fmt.Errorf("what the engine got: %w", c.vocab.differ(s.ids, ids))
		}
		return nil
	}
	n := len(ids)
	if err := arrived(c.wholeChat(ctx, chat, n)); err != nil {
		return "", fmt.Errorf("chat: %w", err)
	}
	stream, err := with(chat, object{"stream": true, "stream_options": object{"include_usage": true}})
	if err != nil {
		return "", err
	}
	if err := arrived(c.streamedChat(ctx, stream, n)); err != nil {
		return "", fmt.Errorf("chat, streamed: %w", err)
	}
	body, err := v.messagesBody()
	if errors.Is(err, errOtherSurface) {
		return "2 answers; " + err.Error(), nil
	}
	if err != nil {
		return "", err
	}
	maps.Copy(body, one)
	var counted struct {
		Tokens int `json:"input_tokens"`
	}
	err = c.ask(ctx, "", "/v1/messages/count_tokens", body, &counted)
	if err := errors.Join(err, harness.Expect("count_tokens", counted.Tokens, n)); err != nil {
		return "", err
	}
	if err := arrived(c.wholeMessages(ctx, body, n)); err != nil {
		return "", fmt.Errorf("messages: %w", err)
	}
	body["stream"] = true
	if err := arrived(c.streamedMessages(ctx, body, n)); err != nil {
		return "", fmt.Errorf("messages, streamed: %w", err)
	}
	return "5 answers", nil
}

func (c *comparison) wholeChat(ctx context.Context, body json.RawMessage, n int) error {
	var b harness.ChatBody
	if err := c.ask(ctx, "", "/v1/chat/completions", []byte(body), &b); err != nil {
		return err
	}
	a, err := b.Answer()
	if err != nil {
		return err
	}
	return harness.Expect("prompt_tokens", a.Usage.Prompt, n)
}

func (c *comparison) streamedChat(ctx context.Context, body json.RawMessage, n int) error {
	events, err := c.srv.Stream(ctx, "/v1/chat/completions", []byte(body))
	if err != nil {
		return err
	}
	a, err := harness.FoldChat(events)
	if err != nil || a.Failure != "" || a.Usage == nil {
		return errors.Join(err, fmt.Errorf("error %q, usage %v", a.Failure, a.Usage))
	}
	return harness.Expect("prompt_tokens", a.Usage.Prompt, n)
}

func (c *comparison) wholeMessages(ctx context.Context, body object, n int) error {
	var a harness.MessageAnswer
	if err := c.ask(ctx, "", "/v1/messages", body, &a); err != nil {
		return err
	}
	return inputTokens("usage", a.Usage, n)
}

func (c *comparison) streamedMessages(ctx context.Context, body object, n int) error {
	events, err := c.srv.Stream(ctx, "/v1/messages", body)
	if err != nil {
		return err
	}
	a, err := harness.FoldMessages(events)
	if err != nil || a.Failure != "" {
		return errors.Join(err, errors.New(a.Failure))
	}
	if err := inputTokens("message_start", a.Started, n); err != nil || a.Usage.Input == nil {
		return err
	}
	return inputTokens("message_delta", a.Usage, n)
}

func inputTokens(where string, u harness.MessageUsage, n int) error {
	if u.Input == nil {
		return fmt.Errorf("%s has no input_tokens", where)
	}
	return harness.Expect(where+": input tokens", *u.Input+u.Cached, n)
}

// answerLimit is how many tokens of an answer are compared.
const answerLimit = 8

// answers runs a conversation with ids and with text as the prompt: as long as the engine makes the same
// ids of the text, the answers are the same.
func (c *comparison) answers(ctx context.Context, v *conversation, d *difference, r *reference) (string, error) {
	ids, sentIDs, err := c.answer(ctx, idsModel, v)
	if err != nil {
		return "", err
	}
	text, sentText, err := c.answer(ctx, textModel, v)
	if err != nil {
		return "", err
	}
	rendered := r.ours
	if d.normalized {
		rendered = r.prompt // which is weir's before its vocabulary brings it into NFC
	}
	if err := samePrompt(sentText.text, rendered); err != nil {
		return "", fmt.Errorf("as text: %w", err)
	}
	theirs, err := c.e.tokenize(ctx, rendered, true)
	if err := errors.Join(err, harness.Expect("tokens of the text", text.Usage.Prompt, len(theirs))); err != nil {
		return "", err
	}
	if d.normalized || d.facts != noFact {
		if slices.Equal(theirs, sentIDs.ids) {
			return "", errors.New("the engine makes the same ids of the text, and should not: " + d.why)
		}
		return fmt.Sprintf("other ids of the text, %d and %d: not compared", len(sentIDs.ids), len(theirs)), nil
	}
	if !slices.Equal(theirs, sentIDs.ids) {
		return "", fmt.Errorf("of the text: %w", c.vocab.differ(sentIDs.ids, theirs))
	}
	if err := errors.Join(ids.Same(text), harness.Expect("completion_tokens", ids.Usage.Completion, text.Usage.Completion)); err != nil {
		return "", fmt.Errorf("ids and text differ: %w", err)
	}
	return fmt.Sprintf("%d tokens, %s: %s", ids.Usage.Completion, ids.Finish, line(ids.Content)), nil
}

// answer runs a conversation without the guard, which has no say where the engine gets text.
func (c *comparison) answer(ctx context.Context, model string, v *conversation) (*harness.ChatAnswer, sent, error) {
	body, err := with(v.Request, object{"model": model, "max_tokens": answerLimit, "temperature": 0})
	if err != nil {
		return nil, sent{}, err
	}
	c.tap.clear()
	var b harness.ChatBody
	if err := c.ask(ctx, openKey, "/v1/chat/completions", []byte(body), &b); err != nil {
		return nil, sent{}, err
	}
	a, err := b.Answer()
	if err != nil {
		return nil, sent{}, err
	}
	s, err := c.tap.take()
	return a, s, err
}
