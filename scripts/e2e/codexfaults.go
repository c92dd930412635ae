package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/weirgate/weir/scripts/e2e/internal/harness"
)

// onceAtResult does something to the first message of a socket that has a tool's result in it.
func onceAtResult(do func(text []byte) ([]byte, error)) harness.Meddle {
	var done atomic.Bool
	return func(_, _ int, fromServer bool, text []byte) ([]byte, error) {
		if fromServer || !bytes.Contains(text, []byte(`"function_call_output"`)) || done.Swap(true) {
			return text, nil
		}
		return do(text)
	}
}

// cutAt breaks a socket at the first event of a type after so many answers were completed.
func cutAt(after int32, kind string) harness.Meddle {
	var completed atomic.Int32
	var done atomic.Bool
	return func(_, _ int, fromServer bool, text []byte) ([]byte, error) {
		if fromServer && bytes.Contains(text, []byte(`"type":"response.completed"`)) {
			completed.Add(1)
		}
		// The prewarm is an answer too.
		if fromServer && completed.Load() > after && bytes.Contains(text, []byte(`"type":"`+kind+`"`)) && !done.Swap(true) {
			return nil, harness.ErrCut
		}
		return text, nil
	}
}

// codexSocketFaults are what happens to sockets between Codex and the gateway.
func codexSocketFaults(g *group) []scenario {
	unknown := func(text []byte) ([]byte, error) {
		var frame map[string]json.RawMessage
		if err := json.Unmarshal(text, &frame); err != nil {
			return nil, err
		}
		frame["previous_response_id"] = json.RawMessage(`"resp_that_nobody_knows"`)
		return json.Marshal(frame)
	}
	return []scenario{
		codexScenario(g, codexSocket, "cut", codexOptions{meddle: cutAt(1, "response.reasoning_text.delta")}, codexCut),
		codexScenario(g, codexSocket, "cut-after-thought", codexOptions{meddle: cutAt(1, "response.output_text.delta")}, codexCut),
		codexScenario(g, codexSocket, "unknown-previous", codexOptions{meddle: onceAtResult(unknown)}, codexUnknown),
		codexScenario(g, codexSocket, "too-large-for-hop", codexOptions{meddle: onceAtResult(func([]byte) ([]byte, error) { return nil, harness.ErrTooBig })}, codexFallback),
	}
}

// execOnce has Codex run one command, which it must do once, whatever happens between it and the gateway.
func (c *codexClient) execOnce(ctx context.Context) (*codexRun, error) {
	mark := newMark()
	run, err := c.exec(ctx, `call exec_command {"cmd":"echo `+mark+`"}`)
	switch {
	case err != nil:
		return nil, err
	case run.failed != "":
		return nil, fmt.Errorf("failed: %q", run.failed)
	}
	return run, ranOnce(run, mark)
}

// codexCut loses the socket in the middle of an answer: Codex comes back with everything on a new one.
func codexCut(ctx context.Context, c *codexClient, _ codexTransport) (string, error) {
	run, err := c.execOnce(ctx)
	if err != nil {
		return "", err
	}
	all, err := c.framed()
	if err != nil {
		return "", err
	}
	last := &all[len(all)-1]
	if last.socket == 0 || last.Previous != "" || !strings.Contains(last.kinds(), "user reasoning function_call function_call_output") {
		return "", fmt.Errorf("the last frame, of socket %d, goes on with %q and has %s", last.socket, last.Previous, last.kinds())
	}
	return strings.Join(run.errors, "; "), nil
}

// errorFrame is what a gateway says of a request that it does not serve.
type errorFrame struct {
	Type    string            `json:"type"`
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Error   struct {
		Type, Code, Message, Param string
	} `json:"error"`
}

// errorFrames are those on Codex's sockets.
func errorFrames(c *codexClient) []errorFrame {
	var all []errorFrame
	for _, s := range c.hop.Sockets() {
		for _, m := range s.Messages {
			var e errorFrame
			if m.FromServer && m.Close == 0 && json.Unmarshal(m.Text, &e) == nil && e.Type == "error" {
				all = append(all, e)
			}
		}
	}
	return all
}

// codexUnknown names an answer that is not there: Codex is told so, and sends everything.
func codexUnknown(ctx context.Context, c *codexClient, _ codexTransport) (string, error) {
	run, err := c.execOnce(ctx)
	if err != nil {
		return "", err
	}
	frames := errorFrames(c)
	if len(frames) != 1 || frames[0].Status != http.StatusBadRequest || frames[0].Error.Code != "previous_response_not_found" || frames[0].Error.Param != "previous_response_id" {
		return "", fmt.Errorf("refused with %+v", frames)
	}
	all, err := c.framed()
	if err != nil {
		return "", err
	}
	last := &all[len(all)-1]
	if last.Previous != "" || !strings.Contains(last.kinds(), "user reasoning function_call function_call_output") {
		return "", fmt.Errorf("the last frame goes on with %q and has %s", last.Previous, last.kinds())
	}
	return strings.Join(run.errors, "; "), nil
}

// codexFallback has the socket closed with 1009: Codex goes on over HTTP, with everything.
func codexFallback(ctx context.Context, c *codexClient, _ codexTransport) (string, error) {
	run, err := c.execOnce(ctx)
	if err != nil {
		return "", err
	}
	posted, err := c.posted()
	if err != nil {
		return "", err
	}
	if len(posted) != 1 || !strings.Contains(posted[0].kinds(), "user reasoning function_call function_call_output") {
		return "", fmt.Errorf("%d requests over HTTP", len(posted))
	}
	return strings.Join(run.errors, "; "), nil
}
