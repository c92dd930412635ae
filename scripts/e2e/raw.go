package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/weirgate/weir/scripts/e2e/internal/harness"
)

// simGroup has the models of the embedded default: a simulated engine in two formats.
func simGroup() *group {
	return &group{name: "sim", open: func(*stage) (string, func()) {
		return "[server]\nshutdown_grace = \"5s\"\n", nil
	}}
}

// object and list are JSON that a scenario writes.
type (
	object = harness.Object
	list   = harness.List
)

// bothCalls makes the simulated model call the tool twice.
const bothCalls = "call get_weather {\"city\":\"Paris\",\"days\":2}\ncall get_weather {\"city\":\"Łódź \\\"x\\\" \\u00e9\\n{}\"}"

var wantCalls = [2]string{`{"city":"Paris","days":2}`, `{"city":"Łódź \"x\" é\n{}"}`}

// said is text that is hard on whoever cuts it into pieces.
const said = `naïve 堰 😀 "quoted" \back </tool> <think-not> {"a":1}`

func rawScenarios(g *group) []scenario {
	one := func(name string, run func(ctx context.Context, srv *harness.Server) error) scenario {
		return scenario{name: "raw/" + name, group: g, run: func(ctx context.Context, _ *stage, srv *harness.Server) (string, error) { return "", run(ctx, srv) }}
	}
	return []scenario{
		{name: "raw/models", group: g, run: rawModels},
		one("chat-text", rawChatText),
		one("chat-two-calls", rawChatCalls),
		one("chat-whole-is-stream", rawChatWhole),
		one("messages-text", rawMessagesText),
		one("messages-interleaved", rawMessagesInterleaved),
		one("messages-whole-is-stream", rawMessagesWhole),
		{name: "raw/messages-count", group: g, run: rawCount},
		one("dispatch", rawDispatch),
		one("length", rawLength),
		one("broken-stream", rawBroken),
		one("refusals", rawRefusals),
		one("gzip", rawGzip),
		one("leaving", rawLeaving),
		one("socket", rawSocket),
	}
}

// thinks reports whether a model of the embedded default has its reasoning parsed. All do but one, by whatever name they
// are listed.
func thinks(model string) bool { return model != "weir/sim-coder" }

// eachModel runs f for every model that is served.
func eachModel(ctx context.Context, srv *harness.Server, f func(model string) error) error {
	var models harness.ModelList
	if _, err := srv.GetJSON(ctx, "/v1/models", &models); err != nil {
		return err
	}
	for _, m := range models.Data {
		if err := f(m.ID); err != nil {
			return fmt.Errorf("model %s: %w", m.ID, err)
		}
	}
	return nil
}

func rawModels(ctx context.Context, _ *stage, srv *harness.Server) (string, error) {
	var models harness.ModelList
	if _, err := srv.GetJSON(ctx, "/v1/models", &models); err != nil {
		return "", err
	}
	if models.Object != "list" || models.HasMore == nil || models.FirstID != models.Data[0].ID || models.LastID != models.Data[len(models.Data)-1].ID {
		return "", fmt.Errorf("the list is not what both kinds of clients read: %+v", models)
	}
	var ids []string
	for _, m := range models.Data {
		if m.Object != "model" || m.Type != "model" || m.CreatedAt == "" || m.OwnedBy == "" || m.DisplayName == "" {
			return "", fmt.Errorf("the model is not what both kinds of clients read: %+v", m)
		}
		var same struct {
			ID string `json:"id"`
		}
		if _, err := srv.GetJSON(ctx, "/v1/models/"+m.ID, &same); err != nil {
			return "", err
		}
		if err := harness.Expect("id", same.ID, m.ID); err != nil {
			return "", err
		}
		ids = append(ids, m.ID)
	}
	var fault object
	_, err := srv.Exchange(ctx, http.MethodGet, "/v1/models/nobody", nil, http.StatusNotFound, &fault)
	return strings.Join(ids, ", "), err
}

func rawChatText(ctx context.Context, srv *harness.Server) error {
	return eachModel(ctx, srv, func(model string) error {
		events, err := srv.Stream(ctx, "/v1/chat/completions", harness.ChatRequest(model, "say "+said, object{"tools": harness.ChatTools()}))
		if err != nil {
			return err
		}
		a, err := harness.FoldChat(events)
		if err != nil {
			return err
		}
		if a.Usage == nil || a.Usage.Prompt <= 0 || a.Usage.Completion <= 0 || a.Usage.Total != a.Usage.Prompt+a.Usage.Completion {
			return fmt.Errorf("usage: %+v", a.Usage)
		}
		if a.Reasoning != "" {
			err = harness.Expect("order", a.Order, "rt")
		} else if thinks(model) {
			err = errors.New("no reasoning")
		}
		return errors.Join(err, harness.Expect("content", a.Content, said), harness.Expect("finish", a.Finish, "stop"), harness.Expect("error", a.Failure, ""))
	})
}

func rawChatCalls(ctx context.Context, srv *harness.Server) error {
	return eachModel(ctx, srv, func(model string) error {
		events, err := srv.Stream(ctx, "/v1/chat/completions", harness.ChatRequest(model, bothCalls, object{"tools": harness.ChatTools()}))
		if err != nil {
			return err
		}
		a, err := harness.FoldChat(events)
		if err != nil {
			return err
		}
		err = errors.Join(harness.Expect("calls", len(a.Calls), 2), harness.Expect("finish", a.Finish, "tool_calls"))
		if err != nil {
			return err
		}
		for i, want := range wantCalls {
			err = errors.Join(err, harness.Expect("name", a.Calls[i].Function.Name, "get_weather"), harness.SameJSON("arguments", a.Calls[i].Function.Arguments, want))
		}
		if a.Calls[0].ID == a.Calls[1].ID {
			err = errors.Join(err, errors.New("both calls have the same id"))
		}
		return err
	})
}

func rawChatWhole(ctx context.Context, srv *harness.Server) error {
	return eachModel(ctx, srv, func(model string) error {
		body := harness.ChatRequest(model, bothCalls, object{"tools": harness.ChatTools()})
		events, err := srv.Stream(ctx, "/v1/chat/completions", body)
		if err != nil {
			return err
		}
		streamed, err := harness.FoldChat(events)
		if err != nil {
			return err
		}
		delete(body, "stream")
		delete(body, "stream_options")
		var whole harness.ChatBody
		if _, err := srv.Exchange(ctx, http.MethodPost, "/v1/chat/completions", body, http.StatusOK, &whole); err != nil {
			return err
		}
		a, err := whole.Answer()
		if err != nil {
			return err
		}
		return errors.Join(a.Same(streamed), harness.Expect("usage", *a.Usage, *streamed.Usage))
	})
}

func rawMessagesText(ctx context.Context, srv *harness.Server) error {
	return eachModel(ctx, srv, func(model string) error {
		events, err := srv.Stream(ctx, "/v1/messages", harness.MessageRequest(model, "say "+said, object{"thinking": harness.Thinking(), "tools": harness.MessageTools()}))
		if err != nil {
			return err
		}
		a, err := harness.FoldMessages(events)
		if err != nil {
			return err
		}
		want := "text"
		if thinks(model) {
			want = "thinking text"
		}
		if *a.Usage.Output <= 0 || *a.Started.Input <= 0 {
			err = fmt.Errorf("usage: %d in, %d out", *a.Started.Input, *a.Usage.Output)
		}
		return errors.Join(err, harness.Expect("blocks", a.Kinds(), want), harness.Expect("text", a.Text(), said), harness.Expect("stop_reason", a.Reason(), "end_turn"))
	})
}

func rawMessagesInterleaved(ctx context.Context, srv *harness.Server) error {
	body := harness.MessageRequest(srv.Model, "interleave\n"+bothCalls, object{"thinking": harness.Thinking(), "tools": harness.MessageTools()})
	events, err := srv.Stream(ctx, "/v1/messages", body)
	if err != nil {
		return err
	}
	a, err := harness.FoldMessages(events)
	if err != nil {
		return err
	}
	err = errors.Join(harness.Expect("blocks", a.Kinds(), "thinking tool_use thinking tool_use"), harness.Expect("stop_reason", a.Reason(), "tool_use"))
	if err != nil {
		return err
	}
	return errors.Join(harness.SameJSON("input of the first", string(a.Content[1].Input), wantCalls[0]), harness.SameJSON("input of the second", string(a.Content[3].Input), wantCalls[1]))
}

func rawMessagesWhole(ctx context.Context, srv *harness.Server) error {
	return eachModel(ctx, srv, func(model string) error {
		body := harness.MessageRequest(model, "interleave\n"+bothCalls, object{"thinking": harness.Thinking(), "tools": harness.MessageTools()})
		events, err := srv.Stream(ctx, "/v1/messages", body)
		if err != nil {
			return err
		}
		streamed, err := harness.FoldMessages(events)
		if err != nil {
			return err
		}
		delete(body, "stream")
		var whole harness.MessageAnswer
		if _, err := srv.Exchange(ctx, http.MethodPost, "/v1/messages", body, http.StatusOK, &whole); err != nil {
			return err
		}
		return whole.Same(streamed)
	})
}

func rawCount(ctx context.Context, _ *stage, srv *harness.Server) (string, error) {
	body := harness.MessageRequest(srv.Model, "say hello", object{"thinking": harness.Thinking(), "tools": harness.MessageTools(), "system": "Be short."})
	events, err := srv.Stream(ctx, "/v1/messages", body)
	if err != nil {
		return "", err
	}
	a, err := harness.FoldMessages(events)
	if err != nil {
		return "", err
	}
	delete(body, "stream")
	delete(body, "max_tokens")
	var count struct {
		Input int `json:"input_tokens"`
	}
	h, err := srv.Exchange(ctx, http.MethodPost, "/v1/messages/count_tokens", body, http.StatusOK, &count)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d tokens", count.Input), errors.Join(
		harness.Expect("count and usage", count.Input, *a.Started.Input+a.Started.Cached), harness.Expect("x-weir-count", h.Get("X-Weir-Count"), ""))
}

// rawDispatch wants each call once more, whole, directly after it is closed.
func rawDispatch(ctx context.Context, srv *harness.Server) error {
	const name = "tool_call_dispatch"
	check := func(events []harness.Event, closed func(e harness.Event) bool) (rest []harness.Event, err error) {
		n := 0
		for i, e := range events {
			if e.Name != name {
				rest = append(rest, e)
				continue
			}
			if i == 0 || !closed(events[i-1]) {
				return nil, fmt.Errorf("a dispatch after %q", events[i-1].Data)
			}
			n++
		}
		return rest, harness.Expect("dispatches", n, 2)
	}
	events, err := srv.Stream(ctx, "/v1/messages", harness.MessageRequest(srv.Model, bothCalls, object{"tools": harness.MessageTools()}), "X-Weir-Dispatch", "1")
	if err != nil {
		return err
	}
	events, err = check(events, func(e harness.Event) bool { return e.Name == "content_block_stop" })
	if err != nil {
		return fmt.Errorf("messages: %w", err)
	}
	if _, err := harness.FoldMessages(events); err != nil {
		return fmt.Errorf("messages: %w", err)
	}
	events, err = srv.Stream(ctx, "/v1/chat/completions", harness.ChatRequest(srv.Model, bothCalls, object{"tools": harness.ChatTools()}), "X-Weir-Dispatch", "1")
	if err != nil {
		return err
	}
	events, err = check(events, func(e harness.Event) bool { return strings.Contains(e.Data, `"tool_calls"`) })
	if err != nil {
		return fmt.Errorf("chat: %w", err)
	}
	_, err = harness.FoldChat(events)
	return err
}

// rawLength has the answer cut inside the arguments of a call: the finish must not be one of tool use.
func rawLength(ctx context.Context, srv *harness.Server) error {
	text := `call get_weather {"city":"` + strings.Repeat("far away ", 60) + `"}`
	return eachModel(ctx, srv, func(model string) error {
		events, err := srv.Stream(ctx, "/v1/chat/completions", harness.ChatRequest(model, text, object{"tools": harness.ChatTools(), "max_tokens": 60}))
		if err != nil {
			return err
		}
		a, err := harness.FoldChat(events)
		if err != nil {
			return err
		}
		events, err = srv.Stream(ctx, "/v1/messages", harness.MessageRequest(model, text, object{"tools": harness.MessageTools(), "max_tokens": 60}))
		if err != nil {
			return err
		}
		m, err := harness.FoldMessages(events)
		if err != nil {
			return err
		}
		return errors.Join(harness.Expect("finish", a.Finish, "length"), harness.Expect("stop_reason", m.Reason(), "max_tokens"))
	})
}

// rawBroken has the engine's stream break off: the client is told inside the stream.
func rawBroken(ctx context.Context, srv *harness.Server) error {
	const text = "long 200\nfail after 40"
	events, err := srv.Stream(ctx, "/v1/chat/completions", harness.ChatRequest(srv.Model, text, nil))
	if err != nil {
		return err
	}
	a, err := harness.FoldChat(events)
	if err != nil {
		return err
	}
	events, err = srv.Stream(ctx, "/v1/messages", harness.MessageRequest(srv.Model, text, nil))
	if err != nil {
		return err
	}
	m, err := harness.FoldMessages(events)
	if err != nil {
		return err
	}
	if a.Failure == "" || m.Failure == "" || a.Finish != "" {
		return fmt.Errorf("chat: error %q, finish %q; messages: error %q", a.Failure, a.Finish, m.Failure)
	}
	return nil
}
