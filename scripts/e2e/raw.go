package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// simGroup has the models of the embedded default: a simulated engine in two formats.
func simGroup() *group {
	return &group{name: "sim", open: func(*stage) (string, func()) {
		return "[server]\nadmin = \"ADMIN\"\nshutdown_grace = \"5s\"\n", nil
	}}
}

// bothCalls makes the simulated model call the tool twice.
const bothCalls = "call get_weather {\"city\":\"Paris\",\"days\":2}\ncall get_weather {\"city\":\"Łódź \\\"x\\\" \\u00e9\\n{}\"}"

var wantCalls = [2]string{`{"city":"Paris","days":2}`, `{"city":"Łódź \"x\" é\n{}"}`}

// said is text that is hard on whoever cuts it into pieces.
const said = `naïve 堰 😀 "quoted" \back </tool> <think-not> {"a":1}`

func rawScenarios(g *group) []scenario {
	one := func(name string, run func(ctx context.Context, srv *server) error) scenario {
		return scenario{name: "raw/" + name, group: g, run: func(ctx context.Context, _ *stage, srv *server) (string, error) { return "", run(ctx, srv) }}
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
		one("length", rawLength),
		one("broken-stream", rawBroken),
		one("refusals", rawRefusals),
		one("gzip", rawGzip),
		one("leaving", rawLeaving),
	}
}

// eachModel runs f for every model that is served.
func eachModel(ctx context.Context, srv *server, f func(model string) error) error {
	var models modelList
	if _, err := srv.getJSON(ctx, "/v1/models", &models); err != nil {
		return err
	}
	for _, m := range models.Data {
		if err := f(m.ID); err != nil {
			return fmt.Errorf("model %s: %w", m.ID, err)
		}
	}
	return nil
}

func rawModels(ctx context.Context, _ *stage, srv *server) (string, error) {
	var models modelList
	if _, err := srv.getJSON(ctx, "/v1/models", &models); err != nil {
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
		if _, err := srv.getJSON(ctx, "/v1/models/"+m.ID, &same); err != nil {
			return "", err
		}
		if err := expect("id", same.ID, m.ID); err != nil {
			return "", err
		}
		ids = append(ids, m.ID)
	}
	var fault object
	_, err := srv.exchange(ctx, http.MethodGet, "/v1/models/nobody", nil, http.StatusNotFound, &fault)
	return strings.Join(ids, ", "), err
}

func rawChatText(ctx context.Context, srv *server) error {
	return eachModel(ctx, srv, func(model string) error {
		events, err := srv.stream(ctx, "/v1/chat/completions", chatRequest(model, "say "+said, object{"tools": chatTools()}))
		if err != nil {
			return err
		}
		a, err := foldChat(events)
		if err != nil {
			return err
		}
		if a.usage == nil || a.usage.Prompt <= 0 || a.usage.Completion <= 0 || a.usage.Total != a.usage.Prompt+a.usage.Completion {
			return fmt.Errorf("usage: %+v", a.usage)
		}
		if a.reasoning != "" {
			err = expect("order", a.order, "rt")
		} else if model == srv.model {
			err = errors.New("no reasoning")
		}
		return errors.Join(err, expect("content", a.content, said), expect("finish", a.finish, "stop"), expect("error", a.failure, ""))
	})
}

func rawChatCalls(ctx context.Context, srv *server) error {
	return eachModel(ctx, srv, func(model string) error {
		events, err := srv.stream(ctx, "/v1/chat/completions", chatRequest(model, bothCalls, object{"tools": chatTools()}))
		if err != nil {
			return err
		}
		a, err := foldChat(events)
		if err != nil {
			return err
		}
		err = errors.Join(expect("calls", len(a.calls), 2), expect("finish", a.finish, "tool_calls"))
		if err != nil {
			return err
		}
		for i, want := range wantCalls {
			err = errors.Join(err, expect("name", a.calls[i].Function.Name, "get_weather"), sameJSON("arguments", a.calls[i].Function.Arguments, want))
		}
		if a.calls[0].ID == a.calls[1].ID {
			err = errors.Join(err, errors.New("both calls have the same id"))
		}
		return err
	})
}

func rawChatWhole(ctx context.Context, srv *server) error {
	return eachModel(ctx, srv, func(model string) error {
		body := chatRequest(model, bothCalls, object{"tools": chatTools()})
		events, err := srv.stream(ctx, "/v1/chat/completions", body)
		if err != nil {
			return err
		}
		streamed, err := foldChat(events)
		if err != nil {
			return err
		}
		delete(body, "stream")
		delete(body, "stream_options")
		var whole chatBody
		if _, err := srv.exchange(ctx, http.MethodPost, "/v1/chat/completions", body, http.StatusOK, &whole); err != nil {
			return err
		}
		a, err := whole.answer()
		if err != nil {
			return err
		}
		return errors.Join(a.same(streamed), expect("usage", *a.usage, *streamed.usage))
	})
}

func rawMessagesText(ctx context.Context, srv *server) error {
	return eachModel(ctx, srv, func(model string) error {
		events, err := srv.stream(ctx, "/v1/messages", messageRequest(model, "say "+said, object{"thinking": thinking(), "tools": messageTools()}))
		if err != nil {
			return err
		}
		a, err := foldMessages(events)
		if err != nil {
			return err
		}
		want := "text"
		if model == srv.model {
			want = "thinking text"
		}
		if *a.Usage.Output <= 0 || *a.started.Input <= 0 {
			err = fmt.Errorf("usage: %d in, %d out", *a.started.Input, *a.Usage.Output)
		}
		return errors.Join(err, expect("blocks", a.kinds(), want), expect("text", a.text(), said), expect("stop_reason", a.stop(), "end_turn"))
	})
}

func rawMessagesInterleaved(ctx context.Context, srv *server) error {
	body := messageRequest(srv.model, "interleave\n"+bothCalls, object{"thinking": thinking(), "tools": messageTools()})
	events, err := srv.stream(ctx, "/v1/messages", body)
	if err != nil {
		return err
	}
	a, err := foldMessages(events)
	if err != nil {
		return err
	}
	err = errors.Join(expect("blocks", a.kinds(), "thinking tool_use thinking tool_use"), expect("stop_reason", a.stop(), "tool_use"))
	if err != nil {
		return err
	}
	return errors.Join(sameJSON("input of the first", string(a.Content[1].Input), wantCalls[0]), sameJSON("input of the second", string(a.Content[3].Input), wantCalls[1]))
}

func rawMessagesWhole(ctx context.Context, srv *server) error {
	return eachModel(ctx, srv, func(model string) error {
		body := messageRequest(model, "interleave\n"+bothCalls, object{"thinking": thinking(), "tools": messageTools()})
		events, err := srv.stream(ctx, "/v1/messages", body)
		if err != nil {
			return err
		}
		streamed, err := foldMessages(events)
		if err != nil {
			return err
		}
		delete(body, "stream")
		var whole messageAnswer
		if _, err := srv.exchange(ctx, http.MethodPost, "/v1/messages", body, http.StatusOK, &whole); err != nil {
			return err
		}
		return whole.same(streamed)
	})
}

func rawCount(ctx context.Context, _ *stage, srv *server) (string, error) {
	body := messageRequest(srv.model, "say hello", object{"thinking": thinking(), "tools": messageTools(), "system": "Be short."})
	events, err := srv.stream(ctx, "/v1/messages", body)
	if err != nil {
		return "", err
	}
	a, err := foldMessages(events)
	if err != nil {
		return "", err
	}
	delete(body, "stream")
	delete(body, "max_tokens")
	var count struct {
		Input int `json:"input_tokens"`
	}
	h, err := srv.exchange(ctx, http.MethodPost, "/v1/messages/count_tokens", body, http.StatusOK, &count)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d tokens", count.Input), errors.Join(
		expect("count and usage", count.Input, *a.started.Input+a.started.Cached), expect("x-weir-count", h.Get("X-Weir-Count"), ""))
}

// rawLength has the answer cut inside the arguments of a call: the finish must not be one of tool use.
func rawLength(ctx context.Context, srv *server) error {
	text := `call get_weather {"city":"` + strings.Repeat("far away ", 60) + `"}`
	return eachModel(ctx, srv, func(model string) error {
		events, err := srv.stream(ctx, "/v1/chat/completions", chatRequest(model, text, object{"tools": chatTools(), "max_tokens": 60}))
		if err != nil {
			return err
		}
		a, err := foldChat(events)
		if err != nil {
			return err
		}
		events, err = srv.stream(ctx, "/v1/messages", messageRequest(model, text, object{"tools": messageTools(), "max_tokens": 60}))
		if err != nil {
			return err
		}
		m, err := foldMessages(events)
		if err != nil {
			return err
		}
		return errors.Join(expect("finish", a.finish, "length"), expect("stop_reason", m.stop(), "max_tokens"))
	})
}

// rawBroken has the engine's stream break off: the client is told inside the stream.
func rawBroken(ctx context.Context, srv *server) error {
	const text = "long 200\nfail after 40"
	events, err := srv.stream(ctx, "/v1/chat/completions", chatRequest(srv.model, text, nil))
	if err != nil {
		return err
	}
	a, err := foldChat(events)
	if err != nil {
		return err
	}
	events, err = srv.stream(ctx, "/v1/messages", messageRequest(srv.model, text, nil))
	if err != nil {
		return err
	}
	m, err := foldMessages(events)
	if err != nil {
		return err
	}
	if a.failure == "" || m.failure == "" || a.finish != "" {
		return fmt.Errorf("chat: error %q, finish %q; messages: error %q", a.failure, a.finish, m.failure)
	}
	return nil
}

// rawRefusals wants statuses and the error bodies of both families.
func rawRefusals(ctx context.Context, srv *server) error {
	ask := object{"model": "nobody", "max_tokens": 9, "messages": list{object{"role": "user", "content": "x"}}}
	var err error
	for _, c := range []struct {
		method, path string
		body         any
		status       int
	}{
		{"POST", "/v1/chat/completions", []byte(`{"model":`), 400},
		{"POST", "/v1/messages", []byte(`{"model":`), 400},
		{"POST", "/v1/chat/completions", ask, 404},
		{"POST", "/v1/messages", ask, 404},
		{"POST", "/v1/chat/completions", object{"model": srv.model, "messages": list{}}, 400},
		{"POST", "/v1/messages", object{"model": srv.model, "max_tokens": 9, "messages": list{object{"role": "user", "content": strings.Repeat("far too long ", 60_000)}}}, 400},
		{"POST", "/v1/nothing", nil, 404},
		{"GET", "/v1/messages", nil, 405},
	} {
		var body struct {
			Type  string `json:"type"`
			Error struct {
				Type    string `json:"type"`
				Message string `json:"message"`
			} `json:"error"`
			RequestID string `json:"request_id"`
		}
		h, e := srv.exchange(ctx, c.method, c.path, c.body, c.status, &body)
		if e == nil && (body.Error.Message == "" || body.Error.Type == "") {
			e = fmt.Errorf("%s %s: no error in the body", c.method, c.path)
		}
		if e == nil && c.method == http.MethodPost {
			id := h.Get("X-Request-Id")
			if c.path == "/v1/messages" {
				id = h.Get("Request-Id")
				e = errors.Join(expect("type", body.Type, "error"), expect("request_id", body.RequestID, id))
			}
			if id == "" {
				e = errors.Join(e, fmt.Errorf("%s %s: no request id", c.method, c.path))
			}
		}
		err = errors.Join(err, e)
	}
	return err
}

func rawGzip(ctx context.Context, srv *server) error {
	raw, err := json.Marshal(chatRequest(srv.model, "say small", nil))
	if err != nil {
		return err
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(raw); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	events, err := srv.stream(ctx, "/v1/chat/completions", b.Bytes(), "Content-Encoding", "gzip")
	if err != nil {
		return err
	}
	a, err := foldChat(events)
	if err != nil {
		return err
	}
	return expect("content", a.content, "small")
}

// rawLeaving closes the connection in the middle of a long answer and waits until no turn runs.
func rawLeaving(ctx context.Context, srv *server) error {
	n := 0
	err := srv.follow(ctx, "/v1/chat/completions", chatRequest(srv.model, "long 100000", nil), func(sseEvent) error {
		if n++; n == 5 {
			return errLeave
		}
		return nil
	})
	if err != nil {
		return err
	}
	return srv.untilIdle(ctx)
}
