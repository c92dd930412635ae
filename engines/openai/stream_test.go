package openai_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/weirgate/weir/engines"
	"github.com/weirgate/weir/engines/enginetest"
	"github.com/weirgate/weir/engines/openai"
)

func drain(t *testing.T, cfg openai.Config, script enginetest.Script) (enginetest.Output, error) {
	t.Helper()
	cfg.BaseURL = enginetest.NewDouble(script).Serve(t)
	st, err := open(t, cfg).Generate(t.Context(), enginetest.Request())
	if err != nil {
		t.Fatal(err)
	}
	return enginetest.Drain(t, st)
}

func TestStructured(t *testing.T) {
	script := enginetest.Script{Finish: "tool_calls", Chunks: []enginetest.Chunk{
		{Reasoning: "let "},
		{Reasoning: "me see"},
		{Text: "ok "},
		{Text: "then"},
		{Call: &enginetest.Call{Index: 0, ID: "a", Name: "f", Args: ""}},
		{Call: &enginetest.Call{Index: 0, Args: `{"x":`}},
		{Call: &enginetest.Call{Index: 0, Args: `1}`}},
		{Call: &enginetest.Call{Index: 1, ID: "b", Name: "g", Args: `{"é":"😀"}`}},
	}}
	out, err := drain(t, openai.Config{Mode: openai.Chat, Structured: true}, script)
	if err != nil {
		t.Fatal(err)
	}
	calls := map[int]*enginetest.Call{0: {Index: 0, ID: "a", Name: "f", Args: `{"x":1}`}, 1: {Index: 1, ID: "b", Name: "g", Args: `{"é":"😀"}`}}
	if out.Reasoning != "let me see" || out.Text != "ok then" || !reflect.DeepEqual(out.Calls, calls) || out.Finish.Reason != engines.ReasonToolCalls {
		t.Errorf("got %+v", out)
	}
	for _, c := range script.Chunks {
		raw := enginetest.Script{Chunks: []enginetest.Chunk{c}}
		_, err := drain(t, openai.Config{Mode: openai.Chat}, raw)
		var e *engines.Error
		if c.Text == "" && (!errors.As(err, &e) || e.Class != engines.ClassProtocol) {
			t.Errorf("parsed output in raw mode: %v", err)
		}
	}
}

func TestSpans(t *testing.T) {
	cfg := openai.Config{Extras: true, Special: []openai.Special{{Text: "<tool_call>", ID: 7}, {Text: "</tool_call>", ID: 8}, {Text: "<|im_end|>", ID: 9}}}
	for name, c := range map[string]struct {
		script enginetest.Script
		spans  string
		stop   string
	}{
		"a token a chunk":      {enginetest.Script{Chunks: []enginetest.Chunk{{Text: "<tool_call>", IDs: []uint32{7}}, {Text: "x", IDs: []uint32{1}}, {Text: "</tool_call>", IDs: []uint32{8}}}}, "<tool_call> </tool_call>", ""},
		"many in one":          {enginetest.Script{Chunks: []enginetest.Chunk{{Text: "a<tool_call>x</tool_call>\n<tool_call>y", IDs: []uint32{1, 7, 1, 8, 1, 7, 1}}}}, "<tool_call> </tool_call> <tool_call>", ""},
		"only text":            {enginetest.Script{Chunks: []enginetest.Chunk{{Text: "<tool_call>", IDs: []uint32{1, 2, 3}}}}, "", ""},
		"ids run ahead":        {enginetest.Script{Chunks: []enginetest.Chunk{{Text: "a", IDs: []uint32{1, 7}}, {Text: "<tool_call>b", IDs: []uint32{1}}}}, "<tool_call>", ""},
		"the end token is cut": {enginetest.Script{Chunks: []enginetest.Chunk{{Text: "a", IDs: []uint32{1}}, {Text: "", IDs: []uint32{9}}}}, "", "<|im_end|>"},
		"a stop id":            {enginetest.Script{Chunks: enginetest.Say("a"), Stop: "9"}, "", "<|im_end|>"},
		"a stop string":        {enginetest.Script{Chunks: enginetest.Say("a"), Stop: `"STOP"`}, "", "STOP"},
		"no stop":              {enginetest.Script{Chunks: enginetest.Say("a"), Stop: "null"}, "", ""},
	} {
		out, err := drain(t, cfg, c.script)
		if err != nil || strings.Join(out.Spans, " ") != c.spans || out.Finish.Stop != c.stop {
			t.Errorf("%s: spans %q, stop %q, %v", name, out.Spans, out.Finish.Stop, err)
		}
	}
}

func TestFinishReasons(t *testing.T) {
	for word, want := range map[string]engines.Reason{
		"stop": engines.ReasonStop, "length": engines.ReasonLength, "tool_calls": engines.ReasonToolCalls, "content_filter": engines.ReasonContent,
		"abort": engines.ReasonAbort, "eos_token": engines.ReasonStop,
	} {
		out, err := drain(t, openai.Config{}, enginetest.Script{Chunks: enginetest.Say("a"), Finish: word})
		if err != nil || out.Finish.Reason != want {
			t.Errorf("%s: %+v, %v", word, out.Finish, err)
		}
	}
}

// TestWaitingChunksMerge: what the server sent in one go takes few deltas, of a bounded size.
func TestWaitingChunksMerge(t *testing.T) {
	var b strings.Builder
	for range 2000 {
		b.WriteString("data: {\"choices\":[{\"text\":\"0123456789\"}]}\n\n")
	}
	b.WriteString("data: {\"choices\":[{\"text\":\"\",\"finish_reason\":\"stop\"}]}\n\n")
	base := stream(t, b.String())
	st, err := open(t, openai.Config{BaseURL: base}).Generate(t.Context(), enginetest.Request())
	if err != nil {
		t.Fatal(err)
	}
	out, err := enginetest.Drain(t, st)
	if err != nil || len(out.Text) != 20_000 {
		t.Fatalf("%d bytes, %v", len(out.Text), err)
	}
	if out.Deltas > 200 {
		t.Errorf("%d deltas for 2,000 chunks that waited", out.Deltas)
	}
}

// TestClosedStreamIsDead: what a stream worked with serves another one, which the first holder's calls
// must not reach.
func TestClosedStreamIsDead(t *testing.T) {
	gate := make(chan struct{})
	d := enginetest.NewDouble(enginetest.Script{Chunks: enginetest.Words(3), Fault: enginetest.FaultStall, At: 3}, enginetest.Script{Chunks: enginetest.Words(5), Gate: gate})
	e := open(t, openai.Config{BaseURL: d.Serve(t)})
	one, err := e.Generate(t.Context(), enginetest.Request())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := one.Next(); err != nil {
		t.Fatal(err)
	}
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	two, err := e.Generate(t.Context(), enginetest.Request())
	if err != nil {
		t.Fatal(err)
	}
	poke := func() {
		t.Helper()
		if d, err := one.Next(); err == nil || err == io.EOF {
			t.Errorf("a closed stream gave %+v, %v", d, err)
		}
		if err := one.Close(); err != nil {
			t.Errorf("the second close: %v", err)
		}
		if !one.(engines.Peeker).Ready() {
			t.Error("a closed stream would wait")
		}
	}
	left, text := 5, ""
	for {
		poke()
		if left > 0 && !two.(engines.Peeker).Ready() {
			gate <- struct{}{}
			left--
		}
		d, err := two.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("after %q: %v", text, err)
		}
		text += string(d.Bytes)
	}
	if text != " w0 w1 w2 w3 w4" {
		t.Errorf("got %q", text)
	}
	if err := two.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	poke()
}

// TestStreamsShareNothing: streams that end in the midst of things leave nothing to the next ones.
func TestStreamsShareNothing(t *testing.T) {
	special := []openai.Special{{Text: "<a>", ID: 7}, {Text: "<b>", ID: 8}}
	last := enginetest.Script{Chunks: []enginetest.Chunk{{Text: "x<b>", IDs: []uint32{1, 8}}}, Usage: enginetest.UsageNever}
	for name, first := range map[string]enginetest.Script{
		"usage, a stop, a waiting id": {Chunks: []enginetest.Chunk{{Text: "y", IDs: []uint32{7}}}, Stop: `"S"`, Finish: "length", Cached: 1},
		"cut":                         {Chunks: []enginetest.Chunk{{Text: "<a>", IDs: []uint32{7, 7}}, {Text: "z"}}, Fault: enginetest.FaultLine, At: 1},
		"an error":                    {Chunks: enginetest.Words(3), Fault: enginetest.FaultError, At: 2},
	} {
		e := open(t, openai.Config{Extras: true, Special: special, BaseURL: enginetest.NewDouble(first, last).Serve(t)})
		for i := range 3 {
			st, err := e.Generate(t.Context(), enginetest.Request())
			if err != nil {
				t.Fatal(err)
			}
			out, err := enginetest.Drain(t, st)
			if i == 0 {
				continue
			}
			if err != nil || out.Text != "x<b>" || strings.Join(out.Spans, " ") != "<b>" || out.Usage != nil || *out.Finish != (engines.Finish{Reason: engines.ReasonStop}) {
				t.Errorf("after %s: %+v, %v", name, out, err)
			}
		}
	}
}

// TestTail: a server that keeps its stream open after the finish reason does not keep the turn open.
func TestTail(t *testing.T) {
	out, err := drain(t, openai.Config{TailTimeout: 20 * time.Millisecond}, enginetest.Script{Chunks: enginetest.Words(3), FinishEvery: true, Fault: enginetest.FaultStall, At: 3})
	if err != nil || out.Text != " w0 w1 w2" || out.Finish.Reason != engines.ReasonStop {
		t.Errorf("got %+v, %v", out, err)
	}
}

func stream(t *testing.T, body string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

// TestRecordedStreams: what vLLM and llama.cpp really sent.
func TestRecordedStreams(t *testing.T) {
	dir := samples(t)
	for file, c := range map[string]struct {
		cfg             openai.Config
		text, reasoning string
		calls           int
		usage           engines.Usage
		reason          engines.Reason
	}{
		"vllm_v1_completions.txt":     {openai.Config{Extras: true}, " Coco aluno Coco aluno", "", 0, engines.Usage{Input: 5, Output: 4}, engines.ReasonLength},
		"llamacpp_v1_completions.txt": {openai.Config{}, " the capital of the country", "", 0, engines.Usage{Input: 6, Cached: 1, Output: 5}, engines.ReasonLength},
		"vllm_chat_tools.txt":         {openai.Config{Mode: openai.Chat, Structured: true}, "\n\nOk.\n", "\nLook up Zürich 𓀀.\n", 1, engines.Usage{Input: 135, Output: 38}, engines.ReasonToolCalls},
		"llamacpp_chat_tools.txt":     {openai.Config{Mode: openai.Chat, Structured: true}, "", "", 1, engines.Usage{}, 0}, // the recording is cut
	} {
		raw, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		c.cfg.BaseURL = stream(t, string(raw))
		st, err := open(t, c.cfg).Generate(t.Context(), enginetest.Request())
		if err != nil {
			t.Fatal(err)
		}
		out, err := enginetest.Drain(t, st)
		var broken *engines.Error
		switch {
		case c.reason == 0:
			if !errors.As(err, &broken) || broken.Class != engines.ClassProtocol || len(out.Calls) != c.calls || out.Finish != nil {
				t.Errorf("%s: %+v, %v, want it cut", file, out, err)
			}
			continue
		case err != nil:
			t.Errorf("%s: %v", file, err)
			continue
		case out.Text != c.text || out.Reasoning != c.reasoning || len(out.Calls) != c.calls || out.Finish.Reason != c.reason:
			t.Errorf("%s: %q, %q, %d calls, %+v", file, out.Text, out.Reasoning, len(out.Calls), out.Finish)
		}
		if c.usage.Input > 0 && (out.Usage == nil || *out.Usage != c.usage) {
			t.Errorf("%s: usage %+v, want %+v", file, out.Usage, c.usage)
		}
		for _, call := range out.Calls {
			if call.Name != "get_weather" || call.ID == "" || !strings.HasSuffix(call.Args, "}") {
				t.Errorf("%s: call %+v", file, call)
			}
		}
	}
}

func samples(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	for err == nil && filepath.Dir(dir) != dir {
		if _, e := os.Stat(filepath.Join(dir, "go.mod")); e == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	dir = filepath.Join(dir, "..", "shared", "engines", "samples")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("SKIPPED: ../shared/engines/samples is not here, so no recorded stream was read")
	}
	return dir
}

// BenchmarkStream is one token over a loopback connection, the server's share included.
func BenchmarkStream(b *testing.B) {
	base := enginetest.NewDouble(enginetest.Script{Chunks: enginetest.Words(10_000)}).Serve(b)
	e := open(b, openai.Config{BaseURL: base})
	b.ReportAllocs()
	tokens := 0
	for b.Loop() {
		st, err := e.Generate(b.Context(), enginetest.Request())
		if err != nil {
			b.Fatal(err)
		}
		out, err := enginetest.Drain(b, st)
		if err != nil {
			b.Fatal(err)
		}
		tokens += out.Usage.Output
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(tokens), "ns/token")
}
