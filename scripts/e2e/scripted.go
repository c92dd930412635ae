package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/weirgate/weir/engines/enginetest"
	"github.com/weirgate/weir/scripts/e2e/internal/harness"
)

// scriptedGroup has a model whose engine says what a scenario wants, and keeps the prompts it got.
func scriptedGroup(d *enginetest.Double) *group {
	return &group{name: "scripted", open: func(*stage) (string, func()) {
		engine := httptest.NewServer(d)
		return scriptedConfig(engine.URL, "", "context = 32768"), func() { engine.CloseClientConnections(); engine.Close() }
	}}
}

// scriptedConfig has the model of an engine that says what it is told to, and lines of the server's and the model's own.
func scriptedConfig(engine, server, model string) string {
	return fmt.Sprintf(`
[server]
keepalive = "1s"
shutdown_grace = "5s"
%s
[engines.scripted]
kind = "openai"
url = "%s/v1"
[[models]]
id = "scripted"
engines = ["scripted"]
family = "qwen3"
reasoning = "qwen3"
tools = "hermes"
policy = "qwen3"
%s
`, server, engine, model)
}

func scriptedScenarios() []scenario {
	d := enginetest.NewDouble()
	g := scriptedGroup(d)
	one := func(name string, run func(ctx context.Context, d *enginetest.Double, srv *harness.Server) error) scenario {
		return scenario{name: "scripted/" + name, group: g, run: func(ctx context.Context, _ *stage, srv *harness.Server) (string, error) {
			d.Requests() // of the scenario before
			return "", run(ctx, d, srv)
		}}
	}
	return []scenario{
		one("interleaved-replay", interleavedReplay),
		one("chat-replay", chatReplay),
		one("keepalive", keepalive),
		one("engine-refuses", engineRefuses),
	}
}

// pieces cuts text into chunks of a few bytes, as an engine would.
func pieces(text string) []enginetest.Chunk {
	var cut []string
	for rest := []rune(text); len(rest) > 0; {
		n := min(5, len(rest))
		cut = append(cut, string(rest[:n]))
		rest = rest[n:]
	}
	return enginetest.Say(cut...)
}

const (
	thoughtOne = "First I look at Paris."
	thoughtTwo = "And Łódź as well."
	twoRounds  = "<think>\n" + thoughtOne + "\n</think>\n\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\":\"Paris\",\"days\":2}}\n</tool_call>\n" +
		"<think>\n" + thoughtTwo + "\n</think>\n\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\":\"Łódź\"}}\n</tool_call>"
)

// interleavedReplay has the model think, call, think and call, and sends that back with the results: it
// must stand in the next prompt in this order.
func interleavedReplay(ctx context.Context, d *enginetest.Double, srv *harness.Server) error {
	d.Play(enginetest.Script{Chunks: pieces(twoRounds)}, enginetest.Script{Chunks: pieces("<think>\nDone.\n</think>\n\nBoth are fine.")})
	messages := list{object{"role": "user", "content": "What is the weather?"}}
	ask := func() (*harness.MessageAnswer, error) {
		events, err := srv.Stream(ctx, "/v1/messages", harness.MessageRequest("scripted", "", object{"thinking": harness.Thinking(), "tools": harness.MessageTools(), "messages": messages}))
		if err != nil {
			return nil, err
		}
		return harness.FoldMessages(events)
	}
	first, err := ask()
	if err != nil {
		return err
	}
	if err := harness.Expect("blocks", first.Kinds(), "thinking tool_use thinking tool_use"); err != nil {
		return err
	}
	messages = append(messages, object{"role": "assistant", "content": first.Content}, object{"role": "user", "content": list{
		object{"type": "tool_result", "tool_use_id": first.Content[1].ID, "content": "rain"},
		object{"type": "tool_result", "tool_use_id": first.Content[3].ID, "content": "sun"},
	}})
	second, err := ask()
	if err != nil {
		return err
	}
	messages = append(messages, object{"role": "assistant", "content": second.Content}, object{"role": "user", "content": "Thank you."})
	if _, err := ask(); err != nil {
		return err
	}
	prompts, err := promptsOf(d, 3)
	if err != nil {
		return err
	}
	order := inOrder(prompts[1], thoughtOne, `{"city":"Paris","days":2}`, thoughtTwo, `{"city":"Łódź"}`, "rain", "sun")
	if !strings.HasPrefix(prompts[1], prompts[0]) {
		order = errors.Join(order, fmt.Errorf("the second prompt does not begin with the first: %q, %q", prompts[0], prompts[1]))
	}
	if strings.Contains(prompts[2], thoughtOne) || strings.Contains(prompts[2], thoughtTwo) {
		order = errors.Join(order, errors.New("reasoning of a finished turn is replayed, which this family's policy does not do"))
	}
	return errors.Join(order, harness.Expect("text", second.Text(), "Both are fine."))
}

// chatReplay is the same for chat, which carries one reasoning and a list of calls.
func chatReplay(ctx context.Context, d *enginetest.Double, srv *harness.Server) error {
	d.Play(enginetest.Script{Chunks: pieces("<think>\n" + thoughtOne + "\n</think>\n\nWait.\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n</tool_call>")}, enginetest.Script{Chunks: pieces("<think>\nDone.\n</think>\n\nRain.")})
	messages := list{object{"role": "user", "content": "What is the weather?"}}
	ask := func() (*harness.ChatAnswer, error) {
		events, err := srv.Stream(ctx, "/v1/chat/completions", harness.ChatRequest("scripted", "", object{"tools": harness.ChatTools(), "messages": messages}))
		if err != nil {
			return nil, err
		}
		return harness.FoldChat(events)
	}
	first, err := ask()
	if err != nil {
		return err
	}
	if err := errors.Join(harness.Expect("calls", len(first.Calls), 1), harness.Expect("order", first.Order, "rtc")); err != nil {
		return err
	}
	call := first.Calls[0]
	messages = append(messages, object{
		"role": "assistant", "content": first.Content, "reasoning_content": first.Reasoning,
		"tool_calls": list{object{"id": call.ID, "type": "function", "function": object{"name": call.Function.Name, "arguments": call.Function.Arguments}}},
	}, object{"role": "tool", "tool_call_id": call.ID, "content": "rain"})
	second, err := ask()
	if err != nil {
		return err
	}
	prompts, err := promptsOf(d, 2)
	if err != nil {
		return err
	}
	return errors.Join(inOrder(prompts[1], thoughtOne, "Wait.", `{"city": "Paris"}`, "rain"), harness.Expect("content", second.Content, "Rain."))
}

// promptsOf are the prompts of the requests that the engine got.
func promptsOf(d *enginetest.Double, want int) ([]string, error) {
	var prompts []string
	for _, r := range d.Requests() {
		var body struct {
			Prompt string `json:"prompt"`
		}
		if err := json.Unmarshal(r.Body, &body); err != nil {
			return nil, err
		}
		prompts = append(prompts, body.Prompt)
	}
	return prompts, harness.Expect("requests at the engine", len(prompts), want)
}

// inOrder wants each part once in text, one after another.
func inOrder(text string, parts ...string) error {
	rest := text
	for _, p := range parts {
		_, after, ok := strings.Cut(rest, p)
		if !ok || strings.Count(text, p) != 1 {
			return fmt.Errorf("%q is not where it should be in the prompt: %q", p, text)
		}
		rest = after
	}
	return nil
}

// keepalive has the engine fall silent: each kind of client gets a sign of life of its own kind, and the
// engine is left when the client leaves.
func keepalive(ctx context.Context, d *enginetest.Double, srv *harness.Server) error {
	d.Play(enginetest.Script{Fault: enginetest.FaultStall})
	gone := func() error {
		select {
		case <-d.Gone():
			return nil
		case <-ctx.Done():
			return errors.New("the engine was not left")
		}
	}
	err := srv.Follow(ctx, "/v1/messages", harness.MessageRequest("scripted", "Hello", nil), func(e harness.Event) error {
		if e.Name == "ping" {
			return harness.ErrLeave
		}
		return nil
	})
	if err := errors.Join(err, gone()); err != nil {
		return err
	}
	n := 0
	err = srv.Follow(ctx, "/v1/chat/completions", harness.ChatRequest("scripted", "Hello", nil), func(e harness.Event) error {
		var c harness.ChatChunk
		if err := json.Unmarshal([]byte(e.Data), &c); err != nil {
			return err
		}
		if n++; n == 1 {
			return nil
		}
		if c.Choices == nil || len(*c.Choices) != 1 {
			return fmt.Errorf("a sign of life without a choice: %s", e.Data)
		}
		return harness.ErrLeave
	})
	return errors.Join(err, gone())
}

// engineRefuses has the engine answer with an error: the client gets the status and words of its own
// protocol.
func engineRefuses(ctx context.Context, d *enginetest.Double, srv *harness.Server) error {
	chat := harness.ChatRequest("scripted", "Hello", nil)
	message := harness.MessageRequest("scripted", "Hello", nil)
	var body struct {
		Error struct {
			Type    string `json:"type"`
			Code    any    `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	d.Play(enginetest.Script{Status: http.StatusBadRequest, Body: `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error","n_prompt_tokens":40000,"n_ctx":32768}}`})
	if _, err := srv.Exchange(ctx, http.MethodPost, "/v1/chat/completions", chat, http.StatusBadRequest, &body); err != nil {
		return err
	}
	err := harness.Expect("code", body.Error.Code, any("context_length_exceeded"))
	if _, e := srv.Exchange(ctx, http.MethodPost, "/v1/messages", message, http.StatusBadRequest, &body); e != nil {
		return errors.Join(err, e)
	}
	if !strings.HasPrefix(body.Error.Message, "prompt is too long: ") {
		err = errors.Join(err, fmt.Errorf("overflow on messages: %q", body.Error.Message))
	}
	d.Play(enginetest.Script{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"7"}}, Body: `{"error":{"message":"slow down"}}`})
	for _, c := range []struct {
		path   string
		body   object
		status []int
	}{{"/v1/chat/completions", chat, []int{429, 503}}, {"/v1/messages", message, []int{429, 529}}} {
		res, e := srv.Do(ctx, http.MethodPost, c.path, c.body)
		if e != nil {
			return errors.Join(err, e)
		}
		_ = res.Body.Close() // only the head counts
		if res.StatusCode != c.status[0] && res.StatusCode != c.status[1] || res.Header.Get("Retry-After") != "7" {
			err = errors.Join(err, fmt.Errorf("%s: status %d, retry-after %q", c.path, res.StatusCode, res.Header.Get("Retry-After")))
		}
	}
	return err
}
