package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weirgate/weir/gateway"
	"github.com/weirgate/weir/scripts/bench/internal/rawhttp"
	"github.com/weirgate/weir/scripts/bench/internal/rig"
)

// smallText is a short conversation, of several rounds all the same.
const smallText = 60_000

// listen serves on a loopback port until the test ends.
func listen(t *testing.T, serve func(context.Context, net.Listener) error) *rig.Process {
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
	return &rig.Process{Addr: ln.Addr().String()}
}

// TestGateways sends prompts through everything that is measured, and checks the answers and what the
// engine got as the benchmark does.
func TestGateways(t *testing.T) {
	data, missing := findVocabulary()
	for _, name := range []string{"HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"} { // for both, which so compile plugins once
		t.Setenv(name, t.TempDir())
	}
	for _, prompt := range []string{promptText, promptIDs} {
		t.Run(prompt, func(t *testing.T) {
			d := newDouble()
			b := bench{o: options{Text: smallText, Clients: 3, Time: time.Hour, Prompt: prompt, Gateways: allGateways}}
			b.double = listen(t, func(ctx context.Context, ln net.Listener) error { return rawhttp.Serve(ctx, ln, d.answer) })
			b.proxy = listen(t, func(ctx context.Context, ln net.Listener) error { return rig.Proxy(ctx, ln, b.double.Addr) })
			if prompt == promptIDs {
				if missing != nil {
					t.Skipf("SKIPPED: nothing measured in tokens: %v", missing)
				}
				b.model = filepath.Join(t.TempDir(), "model")
				if err := writeModel(b.model, data); err != nil {
					t.Fatal(err)
				}
			}
			b.weir = startGateway(t, b.config())
			var err error
			if b.asked, err = rawhttp.Dial(t.Context(), b.double.Addr); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(b.asked.Close)
			l, err := newLoad(spec{Text: smallText})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(l.pool.Close)
			if prompt == promptIDs {
				want := len(tokenizer(t, data).Encode(nil, render(t, l.streamed.JSON)))
				if b.units, err = countTokens(t.Context(), b.weir.Addr, l.streamed); err != nil || b.units != want {
					t.Errorf("weir counts %d tokens, error %v; want %d", b.units, err, want)
				}
			}
			for kind := range strings.SplitSeq(allKinds, ",") {
				for _, target := range b.targets(kind) {
					target.job.Each, target.job.Input = 2, 0
					o := l.run(t.Context(), &target.job)
					s, err := b.seen()
					if err == nil {
						err = b.compare(&target, &o, s)
					}
					if err != nil || o.Error != "" || o.Requests != 6 || o.P99 <= 0 {
						t.Errorf("%s, %s: %+v, error %v", kind, target.gateway, o, err)
					}
				}
			}
		})
	}
}

// findVocabulary reads the vocabulary if it is there.
func findVocabulary() ([]byte, error) {
	dir, err := vocabularies()
	if err != nil {
		return nil, err
	}
	return os.ReadFile(vocabularyIn(dir)) // which gateway/tokenizer/internal/truth/fetch.sh brings
}

// startGateway serves a configuration in this process.
func startGateway(t *testing.T, config string) *rig.Process {
	t.Helper()
	file := filepath.Join(t.TempDir(), "weir.toml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	g, err := gateway.New(t.Context(), gateway.Options{ConfigFile: file, LookupEnv: os.LookupEnv})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	server := httptest.NewServer(g.Handler())
	t.Cleanup(server.Close)
	return &rig.Process{Addr: server.Listener.Addr().String()}
}

// TestCompare wants to be told of an engine that got something else.
func TestCompare(t *testing.T) {
	weir, raw := target{job: job{Shape: shapeWhole}}, target{job: job{Shape: shapeRaw}}
	for name, c := range map[string]struct {
		t    target
		seen seen
		want string // "" if it is right
	}{
		"right":       {weir, seen{4, 4, 9, 9, promptIDs}, ""},
		"raw":         {raw, seen{4, 4, 200, 200, ""}, ""},
		"once more":   {weir, seen{5, 5, 9, 9, promptIDs}, "5 requests came"},
		"alike":       {weir, seen{4, 3, 9, 9, promptIDs}, "3 different"},
		"text":        {weir, seen{4, 4, 9, 9, promptText}, `"text"`},
		"one shorter": {weir, seen{4, 4, 8, 9, promptIDs}, "8 to 9 tokens"},
		"all longer":  {weir, seen{4, 4, 10, 10, promptIDs}, "10 to 10 tokens"},
	} {
		b := bench{o: options{Prompt: promptIDs}, units: 9}
		err := b.compare(&c.t, &rawhttp.Outcome{Requests: 4}, &c.seen)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	b := bench{o: options{Prompt: promptIDs}}
	if err := b.compare(&weir, &rawhttp.Outcome{Requests: 1}, &seen{1, 1, 9, 9, promptIDs}); err != nil || b.units != 9 {
		t.Errorf("the first count is %d, error %v", b.units, err)
	}
	if err := b.compare(&weir, &rawhttp.Outcome{}, &seen{}); err == nil {
		t.Error("no request at all is right")
	}
}

// TestChecker wants every kind of damage to be noticed.
func TestChecker(t *testing.T) {
	raw, err := rawhttp.BodyOf(appendAnswer(nil, 9))
	if err != nil {
		t.Fatal(err)
	}
	whole := `{"choices":[{"message":{"content":"Done"},"finish_reason":"length"}],"usage":{"prompt_tokens":9,"completion_tokens":1}}`
	stream := "data: {\"choices\":[{\"delta\":{\"content\":\"Done\"}}]}\n\ndata: {\"choices\":[{\"delta\":{},\"finish_reason\":\"length\"}]}\n\n" +
		"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":1}}\n\ndata: [DONE]\n\n"
	for shape, body := range map[string]string{shapeRaw: string(raw), shapeWhole: whole, shapeStream: stream} {
		c := checker{shape: shape, input: 9, raw: raw}
		if err := c.check([]byte(body)); err != nil {
			t.Errorf("%s: %v", shape, err)
		}
		for n := range len(body) {
			if c.check([]byte(body[:n])) == nil {
				t.Errorf("%s: %d of %d bytes are taken for all", shape, n, len(body))
			}
		}
		for old, changed := range map[string]string{"Done": "Dont", "length": "stop", "_tokens\":9": "_tokens\":8", "completion_tokens\":1": "completion_tokens\":2", "[DONE]": "{}"} {
			if strings.Contains(body, old) && c.check([]byte(strings.ReplaceAll(body, old, changed))) == nil {
				t.Errorf("%s: %q for %q goes unnoticed", shape, changed, old)
			}
		}
	}
}

func TestConversation(t *testing.T) {
	r := newTestRequest(t, smallText)
	again := newTestRequest(t, smallText)
	if !bytes.Equal(r.JSON, again.JSON) {
		t.Error("two processes make different conversations")
	}
	var c chatRequest
	if err := json.Unmarshal(r.JSON, &c); err != nil {
		t.Fatal(err)
	}
	roles := map[string]int{}
	for _, m := range c.Messages {
		roles[m.Role]++
		for _, call := range m.Calls {
			if !json.Valid([]byte(call.Function.Arguments)) {
				t.Errorf("arguments %s", call.Function.Arguments)
			}
		}
	}
	if last := c.Messages[len(c.Messages)-1]; c.Messages[0].Role != "system" || roles["user"] == 0 || roles["assistant"] < 5 || roles["tool"] < roles["assistant"] || last.Role != "tool" {
		t.Errorf("roles %v, the last is %s", roles, last.Role)
	}
	for _, tool := range c.Tools {
		if !json.Valid(tool.Function.Parameters) {
			t.Errorf("parameters %s", tool.Function.Parameters)
		}
	}
	if len(c.Tools) != toolCount || c.Output != 1 || !c.Stream || !c.Options.Usage {
		t.Errorf("%d tools, %d tokens, stream %v %+v", len(c.Tools), c.Output, c.Stream, c.Options)
	}
	if bytes.Contains(r.JSON, []byte(slot)) || r.tail < 1 || r.tail >= len(r.slots) {
		t.Errorf("slot %d of %d begins the tail", r.tail, len(r.slots))
	}
	if whole, err := newRequest(smallText, false); err != nil || bytes.Contains(whole.JSON, []byte("stream_options")) {
		t.Errorf("not streamed: error %v", err)
	}
	if _, err := newRequest(1<<40, false); err == nil {
		t.Error("a conversation without end is made")
	}
}

// TestPatch wants other digits in every slot for every number, and nothing else changed.
func TestPatch(t *testing.T) {
	r := newTestRequest(t, smallText)
	seen := map[string]bool{}
	for _, n := range []uint64{1, 2, 3, 10, 99, 100, 12_345_678, 50_000_000, 99_999_999} {
		body := r.patched(r.slots[r.tail:], n)
		at := r.slots[r.tail]
		if !json.Valid(body) || len(body) != len(r.JSON) || !bytes.Equal(body[:at], r.JSON[:at]) {
			t.Errorf("%d breaks the request", n)
		}
		for k, at := range r.slots[r.tail:] {
			digits := strconv.Itoa(k) + " " + string(body[at:at+len(slot)])
			if seen[digits] {
				t.Errorf("slot and digits %s came before %d", digits, n)
			}
			seen[digits] = true
		}
	}
}

func TestTemplate(t *testing.T) {
	got := render(t, []byte(`{"tools":[{"name":"look"}],"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"One"},
		{"role":"assistant","content":"","reasoning_content":"old","tool_calls":[{"function":{"name":"look","arguments":"{\"at\": 1}"}}]},{"role":"tool","content":"r"},
		{"role":"user","content":"Two"},
		{"role":"assistant","content":"I look.","reasoning_content":"new","tool_calls":[{"function":{"name":"look","arguments":{"at":1}}},{"function":{"name":"look","arguments":{}}}]},
		{"role":"tool","content":"r1"},{"role":"tool","content":"r2"}]}`))
	_, got, _ = strings.Cut(got, "\n</tool_call><|im_end|>\n")
	const want = `<|im_start|>user
One<|im_end|>
<|im_start|>assistant
<tool_call>
{"name": "look", "arguments": {"at": 1}}
</tool_call><|im_end|>
<|im_start|>user
<tool_response>
r
</tool_response><|im_end|>
<|im_start|>user
Two<|im_end|>
<|im_start|>assistant
<think>
new
</think>

I look.
<tool_call>
{"name": "look", "arguments": {"at": 1}}
</tool_call>
<tool_call>
{"name": "look", "arguments": {}}
</tool_call><|im_end|>
<|im_start|>user
<tool_response>
r1
</tool_response>
<tool_response>
r2
</tool_response><|im_end|>
<|im_start|>assistant
`
	if got != want {
		t.Errorf("got\n%s", got)
	}
	if got := render(t, []byte(`{"messages":[{"role":"user","content":"One"}]}`)); got != "<|im_start|>user\nOne<|im_end|>\n<|im_start|>assistant\n" {
		t.Errorf("got\n%s", got)
	}
}

func TestCountTokens(t *testing.T) {
	r := newTestRequest(t, smallText)
	for name, c := range map[string]struct {
		body string
		want int
	}{"count": {`{"count":61000,"max_model_len":131072}`, 61_000}, "none": {`{}`, 0}, "no JSON": {"x", 0}, "refused": {"", 0}} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			var ask struct {
				Model           string
				Messages, Tools []any
			}
			if err := json.NewDecoder(req.Body).Decode(&ask); err != nil || req.URL.Path != "/v1/tokenize" || ask.Model != modelID || len(ask.Messages) != r.messages || len(ask.Tools) != toolCount || c.body == "" {
				http.Error(w, "refused", http.StatusBadRequest)
				return
			}
			_, _ = io.WriteString(w, c.body)
		}))
		got, err := countTokens(t.Context(), s.Listener.Addr().String(), r)
		s.Close()
		if got != c.want || (err == nil) != (c.want > 0) {
			t.Errorf("%s: got %d, error %v", name, got, err)
		}
	}
}

// TestParts runs a program in weir's place.
func TestParts(t *testing.T) {
	for name, c := range map[string]struct{ script, want string }{
		"parts":      {`[ "$1 $2 $3 $5 $7 $8 $9" = "bench prompt --config --request --rounds 200 --json" ] && [ "$(sort -u "$6" | wc -l)" = 220 ] && echo '{"parts":[{"name":"decode","ms":0.5}],"total_ms":2}'`, ""},
		"no command": {"echo weir: unknown command >&2; echo usage >&2; exit 2", "unknown command"},
		"no JSON":    {"echo parts", "invalid character"},
		"no parts":   {"echo {}", "no parts"},
	} {
		r, err := rig.New("prompt", io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		b := bench{Rig: r, binary: filepath.Join(t.TempDir(), "weir")}
		if err := os.WriteFile(b.binary, []byte("#!/bin/sh\n"+c.script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		a, err := b.parts(t.Context(), newTestRequest(t, smallText), kindShared)
		switch {
		case c.want == "":
			if err != nil || len(a.Parts) != 1 || a.Parts[0] != (part{"decode", 0.5}) || a.Total != 2 {
				t.Errorf("%s: got %+v, error %v", name, a, err)
			}
		case err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "usage"):
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
		r.Close()
	}
}

func TestReport(t *testing.T) {
	r := results{Prompt: promptIDs, Units: 61_000}
	r.add(kindShared, []row{
		{Gateway: gatewayProxy, Rounds: []sample{{PerSecond: 1700, CPU: 0.4}}},
		{Gateway: gatewayStream, Rounds: []sample{{PerSecond: 900, CPU: 1.5}, {PerSecond: 1200, CPU: 0.8}, {PerSecond: 1100, CPU: 1.1}}},
	})
	r.parts(&account{Parts: []part{{"decode", 0.5}}, Total: 1.25}, nil)
	r.add(kindUnique, []row{{Gateway: gatewayWhole, Rounds: []sample{{PerSecond: 499, CPU: 2.9}}}})
	r.parts(nil, errors.New("no such command"))
	if got := r.Kinds[0].Rows[1]; got.Median.PerSecond != 1100 || got.Median.CPU != 1.1 || got.CPULow != 0.8 || got.CPUHigh != 1.5 || got.Missed || !r.Kinds[1].Rows[0].Missed {
		t.Errorf("got %+v", got)
	}
	var b strings.Builder
	if err := r.write(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"prompts of 61000 tokens", "1.250   missed", "met", "is not known: no such command", "ReverseProxy"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
	r = results{Prompt: promptText}
	r.add(kindUnique, []row{{Gateway: gatewayWhole, Rounds: []sample{{PerSecond: 1}}}})
	r.parts(&account{Parts: []part{{"decode", 0.25}}, Total: 0.75}, nil)
	b.Reset()
	if err := r.write(&b); err != nil || !strings.Contains(b.String(), "0.250   0.750") || strings.Contains(b.String(), "missed") {
		t.Errorf("error %v, got\n%s", err, b.String())
	}
}

func TestFlags(t *testing.T) {
	for name, args := range map[string][]string{
		"argument": {"x"}, "flag": {"-x"}, "rounds": {"-rounds", "101"}, "no rounds": {"-rounds", "-1"}, "time": {"-time", "1h"}, "clients": {"-clients", "0"},
		"kind": {"-kinds", "other"}, "gateway": {"-gateways", "direct,other"}, "no gateway": {"-gateways", ""}, "prompt": {"-prompt", "other"},
	} {
		if _, err := parseFlags(args, io.Discard); err == nil {
			t.Errorf("%s: %v is accepted", name, args)
		}
	}
	o, err := parseFlags([]string{"-quick", "-kinds", "shared", "-gateways", "proxy,whole"}, io.Discard)
	if err != nil || o.Rounds != 2 || o.Time != time.Second || o.Clients != 8 {
		t.Errorf("got %+v, error %v", o, err)
	}
}
