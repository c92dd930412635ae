package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"testing"

	"github.com/weirgate/weir/engines"
	"github.com/weirgate/weir/engines/internal/upstream"
)

// Chunks as the servers send them (their ids and names shortened).
const (
	vllmChunk  = `{"id":"cmpl-b49b1bb61777d7c0","object":"text_completion","created":1795971572,"model":"tiny","choices":[{"index":0,"text":" Coco","logprobs":null,"finish_reason":null,"stop_reason":null,"prompt_token_ids":null,"token_ids":null}],"usage":null}`
	usageChunk = `{"id":"cmpl-b49b1bb61777d7c0","object":"text_completion","created":1795971572,"model":"tiny","choices":[{"index":0,"text":" aluno","logprobs":null,"finish_reason":null,"stop_reason":null,"prompt_token_ids":null,"token_ids":[76260]}],"usage":{"prompt_tokens":5,"total_tokens":7,"completion_tokens":2}}`
	idsChunk   = `{"id":"cmpl-b49b1bb61777d7c0","object":"text_completion","created":1795971572,"model":"tiny","choices":[{"index":0,"text":" aluno","logprobs":null,"finish_reason":null,"stop_reason":null,"prompt_token_ids":null,"token_ids":[76260]}],"usage":null}`
	lastChunk  = `{"id":"cmpl-b49b1bb61777d7c0","object":"text_completion","created":1795971572,"model":"tiny","choices":[{"index":0,"text":"","logprobs":null,"finish_reason":"stop","stop_reason":null,"prompt_token_ids":null,"token_ids":[151645]}],"usage":null}`
	llamaChunk = `{"choices":[{"text":" capital","index":0,"logprobs":null,"finish_reason":null}],"created":1795971374,"model":"gemma","system_fingerprint":"b0-unknown","object":"text_completion","id":"chatcmpl-9SLtjtRqI9XKfXMwRGc3nepUlX5hmGDV"}`
	chatChunk  = `{"id":"chatcmpl-a42f140703db68f2","object":"chat.completion.chunk","created":1795971775,"model":"tiny","choices":[{"index":0,"delta":{"content":"ür"},"logprobs":null,"finish_reason":null,"token_ids":null}]}`
)

func decoderFor(tb testing.TB, cfg Config) *decoder {
	tb.Helper()
	cfg.BaseURL = "http://127.0.0.1:1/v1"
	e, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	var d decoder
	d.init(e)
	return &d
}

func TestChunkAllocations(t *testing.T) {
	for name, c := range map[string]struct {
		cfg   Config
		chunk string
	}{
		"vllm":         {Config{}, vllmChunk},
		"vllm ids":     {Config{Extras: true, PromptIDs: true}, idsChunk},
		"vllm usage":   {Config{Extras: true, Special: []Special{{"<x>", 1}}}, usageChunk},
		"llama.cpp":    {Config{}, llamaChunk},
		"chat as text": {Config{Mode: Chat}, chatChunk},
	} {
		d, a, data := decoderFor(t, c.cfg), &accum{}, []byte(c.chunk)
		one := func() {
			a.reset()
			if err := d.chunk(data, a); err != nil {
				t.Fatal(err)
			}
		}
		one()
		if n := testing.AllocsPerRun(100, one); n != 0 {
			t.Errorf("%s: %v allocations a chunk", name, n)
		}
	}
}

func TestSurrogatesAcrossChunks(t *testing.T) {
	for name, c := range map[string]struct {
		chunks []string
		want   string
	}{
		"pair in one":         {[]string{`"\ud83d\ude00"`}, "😀"},
		"pair in two":         {[]string{`"a\ud83d"`, `"\ude00b"`}, "a😀b"},
		"half, then a letter": {[]string{`"\ud83d"`, `"b"`}, "\ufffdb"},
		"half at the end":     {[]string{`"a\ud83d"`}, "a\ufffd"},
		"half, then empty":    {[]string{`"\ud83d"`, `""`, `"\ude00"`}, "😀"},
		"escaped backslash":   {[]string{`"\\ud83d"`, `"b"`}, `\ud83db`},
		"three backslashes":   {[]string{`"\\\ud83d"`, `"\ude00"`}, `\😀`},
		"low alone":           {[]string{`"\ude00"`}, "\ufffd"},
		"raw half character":  {[]string{"\"\xe2\x82\"", "\"\xac\""}, "€"},
		"escapes":             {[]string{`"\"\\\/\b\f\n\r\t\u00e9"`}, "\"\\/\b\f\n\r\té"},
	} {
		d, a := decoderFor(t, Config{}), &accum{}
		for _, text := range c.chunks {
			if err := d.chunk([]byte(`{"choices":[{"text":`+text+`}]}`), a); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		d.flush(a)
		if string(a.text) != c.want {
			t.Errorf("%s: got %q, want %q", name, a.text, c.want)
		}
	}
}

// TestLayoutTakesEscapedQuotes: chunks of a call's JSON are recognised, those with another string are not.
func TestLayoutTakesEscapedQuotes(t *testing.T) {
	var l layout
	const before, after = `{"choices":[{"text":"`, `","finish_reason":null}]}`
	l.note(engines.FragmentText, len(`"a"`), len(before)+len(`a"`))
	l.learn([]byte(before + "a" + after))
	for inner, want := range map[string]bool{
		`b`:             true,
		``:              true,
		`{\"name\": \"`: true,
		`\"`:            true,
		`\\`:            true,
		`\\\"`:          true,
		`"`:             false,
		`\\"`:           false,
		`\`:             false,
		`a\"\`:          false,
		`b","x":"\"`:    false,
		`\"","x":"`:     false,
	} {
		got, _, ok := l.match([]byte(before + inner + after))
		if ok != want || ok && string(got) != inner {
			t.Errorf("%s: got %s, %v", inner, got, ok)
		}
	}
}

// TestLayoutTakesIDs: the ids behind a text may be any, as long as they are numbers in JSON.
func TestLayoutTakesIDs(t *testing.T) {
	var l layout
	const before, middle, after = `{"choices":[{"text":"`, `","token_ids":[`, `]}]}`
	l.note(engines.FragmentText, len(`"a"`), len(before)+len(`a"`))
	l.noteIDs(len(`[7]`), len(before+"a"+middle+`7]`))
	l.learn([]byte(before + "a" + middle + "7" + after))
	for _, c := range []struct {
		text, ids string
		want      bool
	}{
		{`b`, `8`, true},
		{``, ``, true},
		{`\"`, `0,10,999999999`, true},
		{`\\`, `1`, true},
		{`"`, `1`, false},
		{`\\"`, `1`, false},
		{`b`, `1,`, false},
		{`b`, `,1`, false},
		{`b`, `1,,2`, false},
		{`b`, `01`, false},
		{`b`, `-1`, false},
		{`b`, `1.5`, false},
		{`b`, `1e3`, false},
		{`b`, `1 ,2`, false},
		{`b`, `null`, false},
		{`b`, `4294967295`, false},
		{`b`, `1],"x":[2`, false},
	} {
		text, ids, ok := l.match([]byte(before + c.text + middle + c.ids + after))
		if ok != c.want || ok && (string(text) != c.text || string(ids) != c.ids) {
			t.Errorf("%s and %s: got %s and %s, %v", c.text, c.ids, text, ids, ok)
		}
	}
}

// FuzzChunk: every error is of the right type, what is told fits what was read, and chunks that are
// recognised by their layout say what they say when they are read. A decoder that served another stream
// says what a new one says.
func FuzzChunk(f *testing.F) {
	chunks := []string{vllmChunk, usageChunk, idsChunk, lastChunk, `{"choices":[{"text":"\"a","token_ids":[1,2]}]}`, `{"choices":[{"text":"a\\","token_ids":[]}]}`, `{"choices":[{"text":"a","token_ids":[1,-2]}]}`, `{"choices":[{"text":"a","token_ids":[1,,2]}]}`, llamaChunk, chatChunk, `{"error":"x"}`, `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}]}}]}`, `{"choices":[{"text":"\ud83d"}]}`, `{"choices":[{"text":"\ude00"}]}`, `{"choices":[{"text":"a\\"}]}`, `{"choices":[{"text":"a\""}]}`, `{"choices":[{"text":"\\\"","x":"\""}]}`, `{"choices":[{"text":"","delta":{"content":"b"}}]}`}
	for _, a := range chunks {
		for _, b := range chunks {
			f.Add([]byte(a), []byte(b))
		}
	}
	f.Fuzz(func(t *testing.T, one, two []byte) {
		for _, cfg := range []Config{{}, {Extras: true, Special: []Special{{"Coco", 76260}}}, {Extras: true, PromptIDs: true}, {Mode: Chat, Structured: true}} {
			fast, slow := decoderFor(t, cfg), decoderFor(t, cfg)
			slow.layout.off = true
			for _, data := range [][]byte{two, one, two} {
				_ = fast.chunk(data, &accum{})
			}
			fast.reset()
			a, b := &accum{}, &accum{}
			for _, data := range [][]byte{one, two, one, one, two} {
				err, serr := fast.chunk(data, a), slow.chunk(data, b)
				var e *engines.Error
				if (err == nil) != (serr == nil) || err != nil && !errors.As(err, &e) {
					t.Fatalf("%q: %v, read %v", data, err, serr)
				}
			}
			fast.flush(a)
			slow.flush(b)
			a.deliver(cfg.Structured)
			b.deliver(cfg.Structured)
			if !reflect.DeepEqual(a.delta, b.delta) || fast.finish != slow.finish || fast.usage != slow.usage || !bytes.Equal(a.text, b.text) {
				t.Fatalf("by layout %+v %+v\nread %+v %+v", a.delta, fast.finish, b.delta, slow.finish)
			}
			for _, s := range a.delta.Spans {
				if int(s.Off)+int(s.Len) > len(a.text) {
					t.Fatalf("span %+v outside of %d bytes", s, len(a.text))
				}
			}
			total := 0
			for _, f := range a.delta.Fragments {
				total += len(f.Text)
			}
			if cfg.Structured && total != len(a.text) {
				t.Fatalf("fragments hold %d of %d bytes", total, len(a.text))
			}
		}
	})
}

func BenchmarkChunk(b *testing.B) {
	for _, c := range []struct {
		name, chunk string
		cfg         Config
		read        bool // not recognised by layout
	}{
		{"vllm", vllmChunk, Config{}, false},
		{"vllm-read", vllmChunk, Config{}, true},
		{"vllm-ids", idsChunk, Config{Extras: true, PromptIDs: true}, false},
		{"vllm-ids-read", idsChunk, Config{Extras: true, PromptIDs: true}, true},
		{"vllm-usage-ids", usageChunk, Config{Extras: true, Special: []Special{{"<x>", 1}}}, false},
		{"llamacpp", llamaChunk, Config{}, false},
		{"llamacpp-read", llamaChunk, Config{}, true},
		{"chat-raw", chatChunk, Config{Mode: Chat}, false},
		{"chat-structured", chatChunk, Config{Mode: Chat, Structured: true}, false},
	} {
		b.Run(c.name, func(b *testing.B) {
			d, a, data := decoderFor(b, c.cfg), &accum{}, []byte(c.chunk)
			d.layout.off = c.read
			b.ReportAllocs()
			for b.Loop() {
				a.reset()
				if err := d.chunk(data, a); err != nil {
					b.Fatal(err)
				}
				a.deliver(c.cfg.Structured)
			}
		})
	}
}

func BenchmarkPromptIDs(b *testing.B) {
	req := &engines.Request{Model: "m", IDs: make([]uint32, 61_000), MaxTokens: 1}
	for i := range req.IDs {
		req.IDs[i] = uint32(i*2654435761) % 152_000
	}
	text := appendIDs(nil, req.IDs)
	e := decoderFor(b, Config{PromptIDs: true, Extras: true}).e
	for _, c := range []struct {
		name string
		text [][]byte
	}{{"formatted", nil}, {"with text", [][]byte{text}}} {
		b.Run(c.name, func(b *testing.B) {
			req.IDsText = c.text
			body := &upstream.Body{}
			b.ReportAllocs()
			for b.Loop() {
				body.Buf = body.Buf[:0]
				if err := e.completion(body, req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestAppendIDs(t *testing.T) {
	for _, ids := range [][]uint32{nil, {0}, {7, 10, 99, 100, 101, 999, 1000, 9999, 10000, 99999, 100000, 1234567, 12345678, 999999999, 1000000000, math.MaxUint32}} {
		want, _ := json.Marshal(append([]uint32{}, ids...))
		if got := appendIDs([]byte("x["), ids); string(got)+"]" != "x"+string(want) {
			t.Errorf("got %s], want x%s", got, want)
		}
	}
}
