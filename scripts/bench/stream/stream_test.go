package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weirgate/weir/gateway"
	"github.com/weirgate/weir/scripts/bench/internal/rawhttp"
	"github.com/weirgate/weir/scripts/bench/internal/rig"
)

func smallScript() script { return script{Tokens: 64, Parts: allParts, Pace: time.Millisecond} }

// listen serves on a loopback port until the test ends.
func listen(t *testing.T, serve func(context.Context, net.Listener) error) string {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return ln.Addr().String()
}

func rawBody(t *testing.T, d *double) []byte {
	t.Helper()
	b, err := d.body()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestGateways streams through everything that is measured, and checks the answers as the load does.
func TestGateways(t *testing.T) {
	s := smallScript()
	turn, err := s.turn()
	if err != nil {
		t.Fatal(err)
	}
	d := newDouble(s, turn)
	raw := rawBody(t, d)
	double := &rig.Process{Addr: listen(t, func(ctx context.Context, ln net.Listener) error { return rawhttp.Serve(ctx, ln, d.answer) })}
	proxy := &rig.Process{Addr: listen(t, func(ctx context.Context, ln net.Listener) error { return rig.Proxy(ctx, ln, double.Addr) })}
	b := bench{o: options{Script: s, Gateways: allGateways}, double: double, proxy: proxy}

	file := filepath.Join(t.TempDir(), "weir.toml")
	if err := os.WriteFile(file, []byte(b.config()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"} {
		t.Setenv(name, t.TempDir())
	}
	g, err := gateway.New(t.Context(), gateway.Options{ConfigFile: file, LookupEnv: os.LookupEnv})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	server := httptest.NewServer(g.Handler())
	t.Cleanup(server.Close)
	b.weir = &rig.Process{Addr: server.Listener.Addr().String()}

	for _, m := range []string{modeBurst, modePaced} {
		l := load{check: newChecker(turn, raw), pool: rawhttp.NewPool()}
		t.Cleanup(l.pool.Close)
		for _, target := range b.targets(mode{Name: m, Streams: 4, Each: 3}) {
			o := l.run(t.Context(), &target.job)
			if o.Error != "" || o.Requests != 12 || o.Bytes == 0 {
				t.Errorf("%s, %s: %d streams, %d bytes, error %q", m, target.gateway, o.Requests, o.Bytes, o.Error)
			}
		}
	}
}

// TestChecker wants every kind of damage to be noticed.
func TestChecker(t *testing.T) {
	s := smallScript()
	turn, err := s.turn()
	if err != nil {
		t.Fatal(err)
	}
	c := newChecker(turn, rawBody(t, newDouble(s, turn)))
	quote := func(s string) string {
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	chat := `data: {"choices":[{"delta":{"reasoning_content":` + quote(turn.reasoning) + `}}]}

data: {"choices":[{"delta":{"content":` + quote("\n\n"+turn.text) + `}}]}

data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"write_file","arguments":""}}]}}]}

data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":` + quote(turn.arguments) + `}}]}}]}

data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}

data: {"choices":[],"usage":{"completion_tokens":64}}

data: [DONE]

`
	messages := `event: content_block_delta
data: {"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":` + quote(turn.reasoning) + `}}

event: content_block_delta
data: {"type":"content_block_delta","delta":{"type":"text_delta","text":` + quote(turn.text) + `}}

event: content_block_start
data: {"type":"content_block_start","content_block":{"type":"tool_use","name":"write_file","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":` + quote(turn.arguments) + `}}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":64}}

event: message_stop
data: {"type":"message_stop"}

`
	responses := `event: response.reasoning_text.delta
data: {"type":"response.reasoning_text.delta","delta":` + quote(turn.reasoning) + `}

event: response.output_text.delta
data: {"type":"response.output_text.delta","delta":` + quote(turn.text) + `}

event: response.output_item.added
data: {"type":"response.output_item.added","item":{"type":"function_call","name":"write_file"}}

event: response.function_call_arguments.delta
data: {"type":"response.function_call_arguments.delta","delta":` + quote(turn.arguments) + `}

event: response.completed
data: {"type":"response.completed","response":{"status":"completed","usage":{"output_tokens":64}}}

`
	whole := map[string]string{shapeRaw: string(c.raw), shapeChat: chat, shapeMessages: messages, shapeResponses: responses}
	for shape, body := range whole {
		if err := c.check(shape, []byte(body)); err != nil {
			t.Errorf("%s: %v", shape, err)
		}
		for n := range len(body) {
			if c.check(shape, []byte(body[:n])) == nil {
				t.Errorf("%s: %d of %d bytes are taken for all", shape, n, len(body))
			}
		}
		for old, changed := range map[string]string{"crest": "crast", "gauge": "", "64}": "63}", "notes": "other", "[DONE]": "{}", "_stop\"": "_end\"", "write_file": "read_file", "tool_": "none_"} {
			if strings.Contains(body, old) && c.check(shape, []byte(strings.Replace(body, old, changed, 1))) == nil {
				t.Errorf("%s: %q for %q goes unnoticed", shape, changed, old)
			}
		}
		if c.check(shape, []byte(body+"data: {}\n\n")) == nil {
			t.Errorf("%s: an event after the end goes unnoticed", shape)
		}
		if c.check(shape, []byte(`data: {"type":"error","error":{"message":"m"}}`+"\n\n"+body)) == nil {
			t.Errorf("%s: an error goes unnoticed", shape)
		}
	}
}

func TestScript(t *testing.T) {
	for name, c := range map[string]struct {
		s        script
		marks    []string
		wantsErr bool
	}{
		"all":        {smallScript(), []string{"<think>", "</think>", "<tool_call>", "</tool_call>"}, false},
		"text":       {script{Tokens: 10, Parts: "text"}, nil, false},
		"call":       {script{Tokens: 200, Parts: "call"}, []string{"<tool_call>"}, false},
		"too short":  {script{Tokens: 20, Parts: allParts}, nil, true},
		"no part":    {script{Tokens: 64}, nil, true},
		"other part": {script{Tokens: 64, Parts: "think,sing"}, nil, true},
	} {
		turn, err := c.s.turn()
		if err != nil {
			if !c.wantsErr {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		all := strings.Join(turn.tokens, "")
		if c.wantsErr || len(turn.tokens) != c.s.Tokens {
			t.Errorf("%s: %d tokens, want %d", name, len(turn.tokens), c.s.Tokens)
		}
		for _, m := range c.marks {
			if strings.Count(all, m) != 1 {
				t.Errorf("%s: %s is missing in %s", name, m, all)
			}
		}
		if turn.tool != "" && !json.Valid([]byte(turn.arguments)) || !strings.Contains(all, turn.arguments) {
			t.Errorf("%s: arguments %s", name, turn.arguments)
		}
	}
}

// TestBursts wants the same bytes however they are cut into writes.
func TestBursts(t *testing.T) {
	s := smallScript()
	turn, err := s.turn()
	if err != nil {
		t.Fatal(err)
	}
	want := bytes.Join(newDouble(s, turn).bursts, nil)
	for burst, writes := range map[int]int{1: 64, 7: 10, 64: 1, 1000: 1} {
		s.Burst = burst
		d := newDouble(s, turn)
		if len(d.bursts) != writes || !bytes.Equal(bytes.Join(d.bursts, nil), want) {
			t.Errorf("%d tokens a write: %d writes, want %d", burst, len(d.bursts), writes)
		}
	}
}

func TestReport(t *testing.T) {
	r := newResults(options{Rounds: 3, Script: smallScript()}, 2)
	r.add(mode{Name: modeBurst, Streams: 32, Target: 1.6}, []row{
		{Gateway: gatewayProxy, Rounds: []sample{{CPU: 2}, {CPU: 4}, {CPU: 1}}},
		{Gateway: gatewayChat, Rounds: []sample{{CPU: 3}, {CPU: 4}, {CPU: 3}}},
	})
	if got := r.Modes[0].Rows[1]; got.Ratio != 1.5 || got.CPU != 3 || got.CPULow != 3 || got.CPUHigh != 4 {
		t.Errorf("got %+v", got)
	}
	if err := r.write(io.Discard); err != nil {
		t.Error(err)
	}
}

func TestFlags(t *testing.T) {
	for name, args := range map[string][]string{
		"argument": {"x"}, "flag": {"-x"}, "rounds": {"-rounds", "101"}, "streams": {"-burst-streams", "-1"}, "pace": {"-pace", "0s"}, "tokens": {"-tokens", "3"},
	} {
		if _, err := parseFlags(args, io.Discard); err == nil {
			t.Errorf("%s: %v is accepted", name, args)
		}
	}
}
