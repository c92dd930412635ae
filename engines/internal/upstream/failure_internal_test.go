package upstream

import (
	"net/http"
	"testing"
	"time"
)

func TestFailures(t *testing.T) {
	for name, c := range map[string]struct {
		body, message string
		overflow      bool
		limit         int
	}{
		"openai":         {`{"error":{"message":"m","type":"invalid_request_error","param":null,"code":null}}`, "m", false, 0},
		"openai code":    {`{"error":{"message":"too much","type":"invalid_request_error","code":"context_length_exceeded"}}`, "too much", true, 0},
		"vllm flat":      {`{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the messages, 1000 in the completion).","type":"BadRequestError","param":null,"code":400}`, "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the messages, 1000 in the completion).", true, 4096},
		"sglang":         {`{"object":"error","message":"Requested token count exceeds the model's maximum context length of 8192 tokens.","code":400}`, "Requested token count exceeds the model's maximum context length of 8192 tokens.", true, 8192},
		"sglang input":   {`{"message":"The input (9000 tokens) is longer than the model's context length (8192 tokens)."}`, "The input (9000 tokens) is longer than the model's context length (8192 tokens).", true, 8192},
		"llama.cpp":      {`{"error":{"code":400,"message":"request (3000 tokens) exceeds the available context size (2048 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":3000,"n_ctx":2048}}`, "request (3000 tokens) exceeds the available context size (2048 tokens), try increasing it", true, 2048},
		"anthropic":      {`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, "prompt is too long: 210000 tokens > 200000 maximum", true, 200000},
		"fastapi":        {`{"detail":"Not Found"}`, "Not Found", false, 0},
		"fastapi list":   {`{"detail":[{"loc":["body"],"msg":"field required","type":"missing"}]}`, "field required", false, 0},
		"string":         {`{"error":"oops"}`, "oops", false, 0},
		"plain":          {" upstream timed out\n", "upstream timed out", false, 0},
		"page":           {"<html>hello</html>", "", false, 0},
		"empty":          {"", "", false, 0},
		"broken JSON":    {`{"error":{"message":"m"`, `{"error":{"message":"m"`, false, 0},
		"absurd numbers": {`{"message":"maximum context length is 99999999999999999999 tokens"}`, "maximum context length is 99999999999999999999 tokens", true, 999999999},
	} {
		f := parseFailure([]byte(c.body))
		if f.message != c.message || f.overflow() != c.overflow || f.limit() != c.limit {
			t.Errorf("%s: got %q, overflow %v, limit %d", name, f.message, f.overflow(), f.limit())
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for v, want := range map[string]time.Duration{
		"": 0, "2": 2 * time.Second, "0.5": 500 * time.Millisecond, "-1": 0, "x": 0, "NaN": 0, "1e9": time.Hour, "+Inf": time.Hour,
		now.Add(30 * time.Second).Format(http.TimeFormat): 30 * time.Second,
		now.Add(-time.Minute).Format(http.TimeFormat):     0,
	} {
		if got := retryAfter(http.Header{"Retry-After": {v}}, now); got != want {
			t.Errorf("%q: got %v, want %v", v, got, want)
		}
	}
}

func FuzzFailure(f *testing.F) {
	f.Add([]byte(`{"error":{"message":"maximum context length is 12","code":"x"}}`))
	f.Add([]byte(`{"detail":[{"msg":["a",{"error":{}}]}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		v := parseFailure(b)
		if len(v.message) > 3*maxMessage || v.limit() < 0 {
			t.Fatalf("%d bytes of message, limit %d", len(v.message), v.limit())
		}
	})
}
