package enginetest

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/weirgate/weir/engines"
)

const pieces = "The weir – Wehr, 堰 – is 10 m wide;\nπ ≈ 3.14 😀\u2028 \"quoted\" \\ \t</s>"

// text cuts the sample into chunks of a few characters.
func text() []Chunk {
	var chunks []Chunk
	rest := []rune(pieces)
	for len(rest) > 0 {
		n := min(3, len(rest))
		chunks = append(chunks, Chunk{Text: string(rest[:n])})
		rest = rest[n:]
	}
	return chunks
}

// http injects faults. The tests share a server, so they run one after another.
func (s *suite) http(t *testing.T) {
	t.Helper()
	t.Run("forms of one stream", s.forms)
	t.Run("broken streams", s.broken)
	t.Run("refused requests", s.refused)
	t.Run("nobody listens", func(t *testing.T) {
		e := s.f.Open(t, "http://127.0.0.1:1/v1") // port 1 is nobody's
		if _, err := e.Generate(t.Context(), s.f.Request()); classOf(err) != "unavailable" || !engines.Retryable(err) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("cancelled while it stalls", func(t *testing.T) { s.stall(t, false) })
	t.Run("closed while it stalls", func(t *testing.T) { s.stall(t, true) })
	t.Run("cancelled before the headers", s.headers)
	t.Run("ready", s.ready)
}

// forms are ways to say the same.
func (s *suite) forms(t *testing.T) {
	for name, script := range map[string]Script{
		"plain":                    {},
		"crlf":                     {EOL: "\r\n"},
		"cr":                       {EOL: "\r"},
		"cr and lf in two writes":  {SplitEOL: true},
		"a byte a write":           {Write: 1},
		"seven bytes a write":      {Write: 7, EOL: "\r\n"},
		"finish on every chunk":    {FinishEvery: true},
		"no done":                  {NoDone: true},
		"usage with the finish":    {Usage: UsageFinish},
		"usage on every chunk":     {Usage: UsageEvery},
		"usage every, finish also": {Usage: UsageEvery, FinishEvery: true, NoDone: true},
		"no usage":                 {Usage: UsageNever},
		"cached":                   {Cached: 1},
	} {
		t.Run(name, func(t *testing.T) {
			script.Chunks = text()
			s.double.Play(script)
			out, err := Drain(t, s.generate(t, t.Context()))
			if err != nil || out.Text != pieces {
				t.Fatalf("got %q, %v\nwant %q", out.Text, err, pieces)
			}
			if out.Finish.Reason != engines.ReasonStop {
				t.Errorf("finish %+v", out.Finish)
			}
			if script.Usage == UsageNever {
				if out.Usage != nil {
					t.Errorf("usage out of nothing: %+v", out.Usage)
				}
			} else if out.Usage == nil || out.Usage.Output != len(script.Chunks) || out.Usage.Cached != script.Cached {
				t.Errorf("usage %+v, want %d tokens, %d cached", out.Usage, len(script.Chunks), script.Cached)
			}
		})
	}
}

func (s *suite) broken(t *testing.T) {
	for name, c := range map[string]struct {
		script Script
		text   bool // the text before the fault must arrive
		class  string
	}{
		"cut inside a line":       {Script{Fault: FaultLine, At: 4}, true, "protocol"},
		"cut inside the first":    {Script{Fault: FaultLine}, false, "protocol"},
		"ends without a finish":   {Script{Fault: FaultEnd, At: 4}, true, "protocol"},
		"ends at once":            {Script{Fault: FaultEnd}, false, "protocol"},
		"connection breaks":       {Script{Fault: FaultReset, At: 4}, false, "protocol"},
		"error chunk":             {Script{Fault: FaultError, At: 4}, true, "protocol"},
		"error chunk at once":     {Script{Fault: FaultError}, false, "protocol"},
		"error chunk, text only":  {Script{Fault: FaultError, Error: `{"error":"out of memory"}`}, false, "protocol"},
		"overflow in the stream":  {Script{Fault: FaultError, Error: `{"error":{"object":"error","message":"The input (9000 tokens) is longer than the model's context length (8192 tokens).","code":400}}`}, false, "overflow"},
		"a chunk that is no JSON": {Script{Fault: FaultError, At: 2, Error: `{"choices":[{"text":`}, true, "protocol"},
	} {
		t.Run(name, func(t *testing.T) {
			c.script.Chunks = text()
			s.double.Play(c.script)
			out, err := Drain(t, s.generate(t, t.Context()))
			if got := classOf(err); got != c.class {
				t.Fatalf("got %v, want class %s", err, c.class)
			}
			var before strings.Builder
			for _, p := range c.script.Chunks[:c.script.At] {
				before.WriteString(p.Text)
			}
			if want := before.String(); c.text && out.Text != want || !strings.HasPrefix(want, out.Text) {
				t.Errorf("before the fault: %q, want %q", out.Text, want)
			}
		})
	}
}

func (s *suite) refused(t *testing.T) {
	for name, c := range map[string]struct {
		script Script
		class  string
		retry  time.Duration
		limit  int
	}{
		"500":             {script: Script{Status: 500, Body: `{"error":{"message":"boom"}}`}, class: "internal"},
		"502 with a page": {script: Script{Status: 502, Type: "text/html", Body: "<html>bad gateway</html>"}, class: "internal"},
		"503":             {script: Script{Status: 503}, class: "busy"},
		"429 with delay":  {script: Script{Status: 429, Header: http.Header{"Retry-After": {"7"}}, Body: `{"error":{"message":"slow down"}}`}, class: "busy", retry: 7 * time.Second},
		"529":             {script: Script{Status: 529}, class: "busy"},
		"400":             {script: Script{Status: 400, Body: `{"object":"error","message":"bad regex","type":"BadRequestError","code":400}`}, class: "refused"},
		"404":             {script: Script{Status: 404, Body: `{"detail":"Not Found"}`}, class: "refused"},
		"422":             {script: Script{Status: 422, Body: `{"detail":[{"loc":["body","stop"],"msg":"not a list"}]}`}, class: "refused"},
		"redirect":        {script: Script{Status: 302, Header: http.Header{"Location": {"/v1/models"}}}, class: "protocol"},
		"a page":          {script: Script{Type: "text/html", Body: "<html>welcome</html>"}, class: "protocol"},
		"a JSON body":     {script: Script{Type: "application/json", Body: `{"error":{"message":"no stream"}}`}, class: "protocol"},
		"openai overflow": {script: Script{Status: 400, Body: `{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}`}, class: "overflow", limit: 8192},
		"vllm overflow":   {script: Script{Status: 400, Body: `{"error":{"message":"The decoder prompt (length 9254) is longer than the maximum model length of 4096. Make sure ...","type":"BadRequestError","param":null,"code":400}}`}, class: "overflow", limit: 4096},
		"llama overflow":  {script: Script{Status: 400, Body: `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":3000,"n_ctx":2048}}`}, class: "overflow", limit: 2048},
	} {
		t.Run(name, func(t *testing.T) {
			s.double.Play(c.script)
			_, err := s.engine.Generate(t.Context(), s.f.Request())
			var e *engines.Error
			if classOf(err) != c.class || !errors.As(err, &e) {
				t.Fatalf("got %v, want class %s", err, c.class)
			}
			if e.RetryAfter != c.retry || e.Limit != c.limit || c.script.Status != 0 && e.Status != c.script.Status {
				t.Errorf("status %d, retry after %v, limit %d, want %d, %v, %d", e.Status, e.RetryAfter, e.Limit, c.script.Status, c.retry, c.limit)
			}
		})
	}
}

// stall ends a stream that has stopped, and waits until the server has seen it.
func (s *suite) stall(t *testing.T, closing bool) {
	t.Helper()
	s.double.Play(Script{Chunks: text(), Fault: FaultStall, At: 2})
	for len(s.double.gone) > 0 {
		<-s.double.gone
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	st := s.generate(t, ctx)
	got := ""
	for got == "" {
		d, err := st.Next()
		if err != nil {
			t.Fatal(err)
		}
		got += string(d.Bytes)
		for _, f := range d.Fragments {
			got += f.Text
		}
	}
	if closing {
		if err := st.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		<-s.double.Gone()
		return
	}
	failed := make(chan error, 1)
	go func() {
		for {
			if _, err := st.Next(); err != nil {
				failed <- err
				return
			}
		}
	}()
	cancel()
	if err := <-failed; !canceledError(err) {
		t.Errorf("got %v, want the cancellation", err)
	}
	<-s.double.Gone()
	if err := st.Close(); err != nil && !canceledError(err) {
		t.Errorf("close: %v", err)
	}
}

// headers cancels a request that the server has not answered.
func (s *suite) headers(t *testing.T) {
	hang := make(chan struct{})
	srv := newHanging(t, hang)
	e := s.f.Open(t, srv)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-hang
		cancel()
	}()
	if _, err := e.Generate(ctx, s.f.Request()); !canceledError(err) {
		t.Errorf("got %v, want the cancellation", err)
	}
}

// ready steps the server chunk by chunk: as long as Ready says yes, Next needs no further chunk.
func (s *suite) ready(t *testing.T) {
	gate := make(chan struct{})
	script := Script{Chunks: text(), Gate: gate}
	s.double.Play(script)
	st := s.generate(t, t.Context())
	p, ok := st.(engines.Peeker)
	if !ok {
		_ = st.Close()
		t.Skip("the stream is no Peeker")
	}
	left := len(script.Chunks)
	var b strings.Builder
	for {
		if !p.Ready() && left > 0 {
			gate <- struct{}{}
			left--
		}
		d, err := st.Next()
		if err != nil {
			break
		}
		b.Write(d.Bytes)
		for _, f := range d.Fragments {
			b.WriteString(f.Text)
		}
	}
	if got := b.String(); got != pieces {
		t.Errorf("got %q, want %q", got, pieces)
	}
	if err := st.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}
