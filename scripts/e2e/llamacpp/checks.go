package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weirgate/weir/scripts/e2e/internal/harness"
)

// question is short, and has an answer that a small model gives.
const question = "Name three rivers in Europe, one on each line."

type check struct {
	name string
	run  func(ctx context.Context, srv *harness.Server, e *engine) (note string, err error)
}

func checks() []check {
	return []check{
		{"chat", chat},
		{"messages", messages},
		{"socket", socket},
		{"conversation", history},
		{"tools", tools},
		{"leaving", leaving},
		{"figures", figures},
	}
}

func (c check) bounded(ctx context.Context, srv *harness.Server, e *engine) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	return c.run(ctx, srv, e)
}

type object = harness.Object

// generated runs f and wants the engine to have generated as many tokens as f tells.
func generated(ctx context.Context, e *engine, f func() (tokens int, err error)) error {
	const counter = "llamacpp:tokens_predicted_total"
	before, err := e.metric(ctx, counter)
	if err != nil {
		return err
	}
	n, err := f()
	if err != nil {
		return err
	}
	// The engine counts when a slot is released, which may be after the end of the stream.
	for {
		after, err := e.metric(ctx, counter)
		if err != nil {
			return err
		}
		if int(after-before) == n {
			return nil
		}
		if err := harness.Pause(ctx, 50*time.Millisecond); err != nil {
			return fmt.Errorf("output tokens: weir says %d, the engine's counter went up by %.0f: %w", n, after-before, err)
		}
	}
}

// wellFormed wants prose, without markup of the family.
func wellFormed(text string) error {
	if strings.TrimSpace(text) == "" || strings.Contains(text, "<|im_") {
		return fmt.Errorf("the text is %q", text)
	}
	return nil
}

func line(text string) string { return fmt.Sprintf("%.60q", strings.Join(strings.Fields(text), " ")) }

func chat(ctx context.Context, srv *harness.Server, e *engine) (note string, err error) {
	err = generated(ctx, e, func() (int, error) {
		events, err := srv.Stream(ctx, "/v1/chat/completions", harness.ChatRequest(srv.Model, question, object{"max_tokens": 64, "temperature": 0}))
		if err != nil {
			return 0, err
		}
		a, err := harness.FoldChat(events)
		if err != nil || a.Failure != "" || a.Usage == nil {
			return 0, errors.Join(err, fmt.Errorf("error %q, usage %v", a.Failure, a.Usage))
		}
		note = fmt.Sprintf("%d in, %d out, %s: %s", a.Usage.Prompt, a.Usage.Completion, a.Finish, line(a.Content))
		return a.Usage.Completion, errors.Join(wellFormed(a.Content), harness.Expect("reasoning", a.Reasoning, ""))
	})
	return note, err
}

func messages(ctx context.Context, srv *harness.Server, e *engine) (note string, err error) {
	err = generated(ctx, e, func() (int, error) {
		events, err := srv.Stream(ctx, "/v1/messages", harness.MessageRequest(srv.Model, question, object{"max_tokens": 64, "temperature": 0}))
		if err != nil {
			return 0, err
		}
		a, err := harness.FoldMessages(events)
		if err != nil {
			return 0, err
		}
		final := *a.Usage.Output
		if a.Usage.Input != nil {
			// What was counted before the first byte, with the engine's own tokenizer, is what it found.
			err = harness.Expect("input tokens", *a.Usage.Input+a.Usage.Cached, *a.Started.Input+a.Started.Cached)
		}
		note = fmt.Sprintf("%d in, %d out, %s: %s", *a.Started.Input+a.Started.Cached, final, a.Reason(), line(a.Text()))
		return final, errors.Join(err, wellFormed(a.Text()), harness.Expect("blocks", a.Kinds(), "text"))
	})
	return note, err
}

func socket(ctx context.Context, srv *harness.Server, e *engine) (note string, err error) {
	k, err := srv.Dial(ctx, "/v1/messages")
	if err != nil {
		return "", err
	}
	for turn := range 2 {
		err := generated(ctx, e, func() (int, error) {
			events, err := k.Turn("turn", harness.MessageRequest(srv.Model, question, object{"max_tokens": 24 + turn}))
			if err != nil {
				return 0, err
			}
			a, err := harness.FoldMessages(events)
			if err != nil {
				return 0, err
			}
			note = fmt.Sprintf("two turns, the last with %d tokens: %s", *a.Usage.Output, line(a.Text()))
			return *a.Usage.Output, wellFormed(a.Text())
		})
		if err != nil {
			return "", err
		}
	}
	return note, k.Close()
}

// history asks about what was said before: the prompt carries the history, and the engine has its
// beginning in its cache.
func history(ctx context.Context, srv *harness.Server, _ *engine) (string, error) {
	turns := []any{
		object{"role": "user", "content": "My favourite river is the Isar. Remember that."},
		object{"role": "assistant", "content": "I will remember that your favourite river is the Isar."},
		object{"role": "user", "content": "What is my favourite river? Answer with its name."},
	}
	events, err := srv.Stream(ctx, "/v1/chat/completions", harness.ChatRequest(srv.Model, "", object{"messages": turns, "max_tokens": 32, "temperature": 0}))
	if err != nil {
		return "", err
	}
	a, err := harness.FoldChat(events)
	if err != nil {
		return "", err
	}
	if !strings.Contains(a.Content, "Isar") {
		return "", fmt.Errorf("the model does not know: %q", a.Content)
	}
	return line(a.Content), nil
}

// tools offers one. What this small model makes of it is its own affair; the stream must be whole.
func tools(ctx context.Context, srv *harness.Server, _ *engine) (string, error) {
	events, err := srv.Stream(ctx, "/v1/chat/completions", harness.ChatRequest(srv.Model, "What is the weather in Paris? Use the tool.", object{"tools": harness.ChatTools(), "max_tokens": 64, "temperature": 0}))
	if err != nil {
		return "", err
	}
	a, err := harness.FoldChat(events)
	if err != nil {
		return "", err
	}
	for _, c := range a.Calls {
		if !json.Valid([]byte(c.Function.Arguments)) && a.Finish == "tool_calls" {
			return "", fmt.Errorf("tool_calls with arguments %q", c.Function.Arguments)
		}
	}
	if len(a.Calls) > 0 {
		return fmt.Sprintf("%d calls, %s: %s %s", len(a.Calls), a.Finish, a.Calls[0].Function.Name, a.Calls[0].Function.Arguments), nil
	}
	return "no call, " + a.Finish + ": " + line(a.Content), nil
}

const essay = "Write a long essay about the history of water mills, with many details."

// leaving closes the connection in the middle: the engine must stop.
func leaving(ctx context.Context, srv *harness.Server, e *engine) (string, error) {
	n := 0
	err := srv.Follow(ctx, "/v1/messages", harness.MessageRequest(srv.Model, essay, object{"max_tokens": 1000}), func(ev harness.Event) error {
		if ev.Name == "content_block_delta" {
			n++
		}
		if n == 5 {
			running, err := e.metric(ctx, "llamacpp:requests_processing")
			if err != nil || running != 1 {
				return errors.Join(err, fmt.Errorf("%v requests run at the engine, want 1", running))
			}
			return harness.ErrLeave
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	begun := time.Now()
	for {
		running, err := e.metric(ctx, "llamacpp:requests_processing")
		if err != nil {
			return "", err
		}
		if running == 0 {
			break
		}
		if time.Since(begun) > 5*time.Second {
			return "", errors.New("the engine still generates after 5 s")
		}
		if err := harness.Pause(ctx, 20*time.Millisecond); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("the engine stopped within %d ms", time.Since(begun).Milliseconds()), srv.UntilIdle(ctx)
}

// figures compares a stream through weir with one from the engine itself.
func figures(ctx context.Context, srv *harness.Server, e *engine) (string, error) {
	const tokens = 64
	body := harness.ChatRequest(alias, essay, object{"max_tokens": tokens, "temperature": 0})
	// The first one fills the engine's cache for both.
	if _, err := measure(ctx, &harness.Server{URL: e.url}, body); err != nil {
		return "", fmt.Errorf("engine: %w", err)
	}
	direct, err := measure(ctx, &harness.Server{URL: e.url}, body)
	if err != nil {
		return "", fmt.Errorf("engine: %w", err)
	}
	body["model"] = srv.Model
	through, err := measure(ctx, srv, body)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d tokens: engine %s, through weir %s", tokens, direct, through), nil
}

// pace is what a client sees of a stream.
type pace struct {
	first time.Duration
	rate  float64 // content events a second, after the first
}

// String is for people.
func (p pace) String() string {
	return fmt.Sprintf("%d ms to the first, then %.1f/s", p.first.Milliseconds(), p.rate)
}

func measure(ctx context.Context, srv *harness.Server, body object) (pace, error) {
	var p pace
	n := 0
	begun := time.Now()
	var first, last time.Time
	err := srv.Follow(ctx, "/v1/chat/completions", body, func(ev harness.Event) error {
		var c harness.ChatChunk
		if ev.Data == "[DONE]" {
			return nil
		}
		if err := json.Unmarshal([]byte(ev.Data), &c); err != nil {
			return err
		}
		if c.Choices == nil || len(*c.Choices) == 0 {
			return nil
		}
		if text := (*c.Choices)[0].Delta.Content; text != nil && *text != "" {
			last = time.Now()
			if n++; n == 1 {
				first = last
			}
		}
		return nil
	})
	if err != nil {
		return p, err
	}
	if n < 2 {
		return p, fmt.Errorf("%d content events, too few to measure", n)
	}
	p.first = first.Sub(begun)
	p.rate = float64(n-1) / last.Sub(first).Seconds()
	return p, nil
}
