package upstream

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/engines"
)

const (
	maxMessage    = 2 << 10 // bytes of an engine's words that are kept
	maxRetryAfter = time.Hour
)

// failure is what an engine said of one.
type failure struct {
	message    string
	code       string // its code or type, where that is a word
	window     int    // the window in tokens, where a member states it
	structured bool   // it was JSON with a message in it
}

// status classifies an answer that is not a success.
func (c *Client) status(resp *http.Response, body []byte) error {
	f := parseFailure(body)
	e := c.Fail(engines.ClassRefused, f.message, nil)
	e.Status = resp.StatusCode
	switch s := resp.StatusCode; {
	case f.overflow():
		e.Class, e.Limit = engines.ClassOverflow, f.limit()
	case s == http.StatusTooManyRequests || s == http.StatusServiceUnavailable || s == 529:
		e.Class, e.RetryAfter = engines.ClassBusy, retryAfter(resp.Header, time.Now())
	case s >= 500:
		e.Class = engines.ClassInternal
	case s < 400:
		e.Class = engines.ClassProtocol
		e.Message = "unexpected status, redirects are not followed"
	}
	if e.Message == "" {
		e.Message = http.StatusText(resp.StatusCode)
	}
	if e.Message == "" {
		e.Message = "no explanation"
	}
	return e
}

// ChunkError is the error that an engine wrote into its stream. Some say only there that the prompt
// is too long; everything else is a stream that is not what it should be.
func (c *Client) ChunkError(chunk []byte) *engines.Error {
	f := parseFailure(chunk)
	e := c.Fail(engines.ClassProtocol, f.message, nil)
	if f.overflow() {
		e.Class, e.Limit = engines.ClassOverflow, f.limit()
	}
	if e.Message == "" {
		e.Message = "the engine broke off with an error"
	}
	return e
}

// parseFailure reads the shapes that engines and the servers before them use: {"error":{"message"}},
// {"error":"text"}, {"message"}, {"detail"}, or plain text.
func parseFailure(b []byte) failure {
	var f failure
	r := jsonscan.NewReader(b)
	if r.Peek() == jsonscan.Object && f.object(r, 0) == nil && f.message != "" {
		f.structured = true
	} else if t := bytes.TrimSpace(b); len(t) > 0 && t[0] != '<' {
		f.message = string(t[:min(len(t), maxMessage)])
	}
	if len(f.message) > maxMessage {
		f.message = f.message[:maxMessage]
	}
	f.message = strings.ToValidUTF8(f.message, "\ufffd")
	return f
}

func (f *failure) object(r *jsonscan.Reader, depth int) error {
	return r.Object(func(key []byte) error {
		switch k := string(key); k {
		case "error", "detail", "message", "msg":
			return f.words(r, depth)
		case "code", "type":
			return f.codeWord(r)
		case "n_ctx", "max_model_len", "max_context_length":
			raw, err := r.Raw()
			if n, e := strconv.Atoi(string(raw)); e == nil && n > 0 {
				f.window = n
			}
			return err
		}
		_, err := r.Raw()
		return err
	})
}

// words reads a member that holds the message, or holds what holds it.
func (f *failure) words(r *jsonscan.Reader, depth int) error {
	switch t := r.Peek(); {
	case t == jsonscan.String:
		text, err := r.Text(nil)
		if f.message == "" {
			f.message = string(text)
		}
		return err
	case t == jsonscan.Object && depth < 3:
		return f.object(r, depth+1)
	case t == jsonscan.Array && depth < 3:
		return r.Array(func(int) error { return f.words(r, depth+1) })
	}
	_, err := r.Raw()
	return err
}

func (f *failure) codeWord(r *jsonscan.Reader) error {
	if r.Peek() != jsonscan.String {
		_, err := r.Raw()
		return err
	}
	text, err := r.Text(nil)
	if f.code == "" || strings.Contains(string(text), "context") {
		f.code = string(text)
	}
	return err
}

// windowWords stand right before the window's size in what engines say of a prompt that is too long:
// OpenAI and vLLM, vLLM's input check, SGLang, TensorRT-LLM, llama.cpp, and gateways in between.
var windowWords = [...]string{
	"maximum context length is ",
	"maximum context length of ",
	"maximum context length (",
	"maximum model length of ",
	"model's context length (",
	"model's context length of ",
	"available context size (",
	"maximum prompt length is ",
	"maximum allowed input length of ",
	"model only supports up to ",
	"should not exceed max_seq_len ",
	"context window of ",
}

// overflowWords tell a prompt that is too long without stating the window.
var overflowWords = [...]string{
	"context_length_exceeded",
	"exceed_context_size",
	"exceeds the available context size",
	"exceeds the context window",
	"longer than the maximum model length",
	"longer than the model's context length",
	"maximum context length",
	"model_context_window_exceeded",
	"prompt is too long",
	"reduce the length of the messages",
	"should not exceed max_seq_len",
	"should not exceed max_num_tokens",
}

func (f *failure) overflow() bool {
	switch f.code {
	case "context_length_exceeded", "exceed_context_size_error", "model_context_window_exceeded":
		return true
	}
	low := strings.ToLower(f.message)
	for _, w := range overflowWords {
		if strings.Contains(low, w) {
			return true
		}
	}
	for _, w := range windowWords {
		if strings.Contains(low, w) {
			return true
		}
	}
	return false
}

// limit is the window that the message states, 0 if it states none.
func (f *failure) limit() int {
	if f.window > 0 {
		return f.window
	}
	low := strings.ToLower(f.message)
	for _, w := range windowWords {
		if _, after, ok := strings.Cut(low, w); ok {
			if n := leadingInt(after); n > 0 {
				return n
			}
		}
	}
	// "prompt is too long: 210000 tokens > 200000 maximum"
	if _, after, ok := strings.Cut(low, " tokens > "); ok {
		return leadingInt(after)
	}
	return 0
}

func leadingInt(s string) int {
	n := 0
	for i := 0; i < len(s) && i < 9 && s[i]-'0' < 10; i++ {
		n = n*10 + int(s[i]-'0')
	}
	return n
}

// retryAfter reads the header's two forms, seconds and a date.
func retryAfter(h http.Header, now time.Time) time.Duration {
	v := strings.TrimSpace(h.Get("Retry-After"))
	var d time.Duration
	if s, err := strconv.ParseFloat(v, 64); err == nil && s > 0 && s <= maxRetryAfter.Seconds() {
		d = time.Duration(s * float64(time.Second))
	} else if err == nil && s > 0 {
		d = maxRetryAfter
	} else if t, err := http.ParseTime(v); err == nil {
		d = t.Sub(now)
	}
	return min(max(d, 0), maxRetryAfter)
}
