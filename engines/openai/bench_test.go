package openai_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"strconv"
	"sync"
	"testing"

	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/engines"
	"github.com/weirgate/weir/engines/enginetest"
	"github.com/weirgate/weir/engines/openai"
)

// canned answers every request with the same bytes and allocates nothing for one, so that a benchmark's
// allocations are the adapter's and the transport's.
func canned(tb testing.TB, answer []byte) string {
	tb.Helper()
	ln, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	var conns sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	conns.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			conns.Go(func() {
				defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
				answerAll(conn, answer)
			})
		}
	})
	tb.Cleanup(func() {
		_ = ln.Close()
		cancel()
		conns.Wait()
	})
	return "http://" + ln.Addr().String() + "/v1"
}

// answerAll writes answer for each request, until the client leaves.
func answerAll(conn net.Conn, answer []byte) {
	defer func() { _ = conn.Close() }()
	buf := make([]byte, 1<<20)
	for n := 0; ; {
		m, err := conn.Read(buf[n:])
		if err != nil {
			return
		}
		n += m
		head, rest, ok := bytes.Cut(buf[:n], []byte("\r\n\r\n"))
		if !ok {
			continue
		}
		_, after, _ := bytes.Cut(head, []byte("Content-Length: "))
		length := 0
		for _, c := range after {
			if c < '0' || c > '9' {
				break
			}
			length = 10*length + int(c-'0')
		}
		if len(rest) < length {
			continue
		}
		n = 0
		if _, err := conn.Write(answer); err != nil {
			return
		}
	}
}

// vllmAnswer is a whole answer of as many tokens, one chunk of HTTP's chunked coding an event.
func vllmAnswer(tokens ...string) []byte {
	var b []byte
	event := func(choices, usage string) {
		data := `data: {"id":"cmpl-7d1c3f0e9b5a4c2e8f6071829304a5b6","object":"text_completion","created":1795971572,"model":"double","choices":[` + choices + `],"usage":` + usage + "}\n\n"
		b = append(strconv.AppendInt(b, int64(len(data)), 16), "\r\n"+data+"\r\n"...)
	}
	choice := func(text, reason string) string {
		return `{"index":0,"text":` + string(jsonscan.AppendString(nil, text)) + `,"logprobs":null,"finish_reason":` + reason + `,"stop_reason":null,"prompt_token_ids":null,"token_ids":null}`
	}
	for _, t := range tokens {
		event(choice(t, "null"), "null")
	}
	event(choice("", `"stop"`), "null")
	event("", `{"prompt_tokens":100,"total_tokens":164,"completion_tokens":64}`)
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nCache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n"
	return append(append([]byte(head), b...), "e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"...)
}

// callTokens are as many tokens of thought, prose and a tool call's JSON.
func callTokens(n int) []string {
	cycle := []string{" the", " river", ",", "\n", `{"`, "name", `":`, ` "`, "write", `",`, " Caf\u00e9", " 42", `"}}`, "."}
	tokens := make([]string, n)
	for i := range tokens {
		tokens[i] = cycle[i%len(cycle)]
	}
	return tokens
}

// BenchmarkGenerate is a whole stream of 64 tokens that the server sends in one write.
func BenchmarkGenerate(b *testing.B) {
	e := open(b, openai.Config{BaseURL: canned(b, vllmAnswer(callTokens(64)...)), Extras: true})
	req := enginetest.Request()
	req.Headers = map[string]string{"Traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
	b.ReportAllocs()
	deltas := 0
	for b.Loop() {
		deltas += generate(b, e, req)
	}
	b.ReportMetric(float64(deltas)/float64(b.N), "deltas/op")
}

// BenchmarkLongPrompt is a stream of one token behind a prompt of 61,000 ids, whose text is there in pieces of 500.
func BenchmarkLongPrompt(b *testing.B) {
	e := open(b, openai.Config{BaseURL: canned(b, vllmAnswer("a")), Extras: true, PromptIDs: true})
	req := &engines.Request{ID: "req-1", Model: "m", IDs: make([]uint32, 61_000), MaxTokens: 1}
	for i := range req.IDs {
		req.IDs[i] = uint32(i*2654435761) % 152_000
		if i%500 == 0 {
			req.IDsText = append(req.IDsText, nil)
		}
		last := &req.IDsText[len(req.IDsText)-1]
		if i > 0 {
			*last = append(*last, ',')
		}
		*last = strconv.AppendUint(*last, uint64(req.IDs[i]), 10)
	}
	b.ReportAllocs()
	for b.Loop() {
		generate(b, e, req)
	}
}

func generate(tb testing.TB, e *openai.Engine, req *engines.Request) (deltas int) {
	tb.Helper()
	st, err := e.Generate(tb.Context(), req)
	if err != nil {
		tb.Fatal(err)
	}
	for {
		d, err := st.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			tb.Fatal(err)
		}
		deltas++
		if d.Finish != nil && d.Finish.Reason != engines.ReasonStop {
			tb.Fatalf("finish %+v", d.Finish)
		}
	}
	if err := st.Close(); err != nil {
		tb.Fatal(err)
	}
	return deltas
}
