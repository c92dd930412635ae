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

	"github.com/weirgate/weir/scripts/e2e/internal/harness"
)

// rawRefusals wants statuses and the error bodies of both families.
func rawRefusals(ctx context.Context, srv *harness.Server) error {
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
		{"POST", "/v1/chat/completions", object{"model": srv.Model, "messages": list{}}, 400},
		{"POST", "/v1/messages", object{"model": srv.Model, "max_tokens": 9, "messages": list{object{"role": "user", "content": strings.Repeat("far too long ", 60_000)}}}, 400},
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
		h, e := srv.Exchange(ctx, c.method, c.path, c.body, c.status, &body)
		if e == nil && (body.Error.Message == "" || body.Error.Type == "") {
			e = fmt.Errorf("%s %s: no error in the body", c.method, c.path)
		}
		if e == nil && c.method == http.MethodPost {
			id := h.Get("X-Request-Id")
			if c.path == "/v1/messages" {
				id = h.Get("Request-Id")
				e = errors.Join(harness.Expect("type", body.Type, "error"), harness.Expect("request_id", body.RequestID, id))
			}
			if id == "" {
				e = errors.Join(e, fmt.Errorf("%s %s: no request id", c.method, c.path))
			}
		}
		err = errors.Join(err, e)
	}
	return err
}

func rawGzip(ctx context.Context, srv *harness.Server) error {
	raw, err := json.Marshal(harness.ChatRequest(srv.Model, "say small", nil))
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
	events, err := srv.Stream(ctx, "/v1/chat/completions", b.Bytes(), "Content-Encoding", "gzip")
	if err != nil {
		return err
	}
	a, err := harness.FoldChat(events)
	if err != nil {
		return err
	}
	return harness.Expect("content", a.Content, "small")
}

// rawLeaving closes the connection in the middle of a long answer and waits until no turn runs.
func rawLeaving(ctx context.Context, srv *harness.Server) error {
	n := 0
	err := srv.Follow(ctx, "/v1/chat/completions", harness.ChatRequest(srv.Model, "long 100000", nil), func(harness.Event) error {
		if n++; n == 5 {
			return harness.ErrLeave
		}
		return nil
	})
	if err != nil {
		return err
	}
	return srv.UntilIdle(ctx)
}

// rawSocket runs a turn with text and one with calls on one socket, for both surfaces.
func rawSocket(ctx context.Context, srv *harness.Server) error {
	chat, err := srv.Dial(ctx, "/v1/chat/completions")
	if err != nil {
		return err
	}
	for _, text := range []string{"say " + said, bothCalls} {
		events, err := chat.Turn("a", harness.ChatRequest(srv.Model, text, object{"tools": harness.ChatTools()}))
		if err != nil {
			return err
		}
		// A socket has no [DONE], since a done frame follows.
		a, err := harness.FoldChat(append(events, harness.Event{Data: "[DONE]"}))
		if err != nil {
			return err
		}
		if a.Content != said && len(a.Calls) != 2 || a.Usage == nil {
			return fmt.Errorf("chat: content %q, %d calls, usage %v", a.Content, len(a.Calls), a.Usage)
		}
	}
	messages, err := srv.Dial(ctx, "/v1/messages")
	if err != nil {
		return err
	}
	for _, text := range []string{"say " + said, bothCalls} {
		events, err := messages.Turn("b", harness.MessageRequest(srv.Model, text, object{"tools": harness.MessageTools(), "thinking": harness.Thinking()}))
		if err != nil {
			return err
		}
		a, err := harness.FoldMessages(events)
		if err != nil {
			return err
		}
		if kinds := a.Kinds(); a.Text() != said && kinds != "thinking tool_use tool_use" {
			return fmt.Errorf("messages: %s, text %q", kinds, a.Text())
		}
	}
	return errors.Join(chat.Close(), messages.Close())
}
