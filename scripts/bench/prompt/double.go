package main

import (
	"bytes"
	"encoding/json"
	"hash/maphash"
	"io"
	"net/http"
	"strconv"
	"sync"

	"github.com/weirgate/weir/scripts/bench/internal/rawhttp"
)

// Paths of the double.
const (
	pathCompletions = "/v1/completions"
	pathChat        = "/v1/chat/completions"
	pathSeen        = "/seen" // GET: what came since it was last asked
)

// The one token of every answer.
const (
	token   = "Done"
	tokenID = 17453
)

// prompts say how an engine is given its prompt.
const (
	promptIDs  = "ids"
	promptText = "text"
)

// tailSize is how much of a body's end is looked at to see that it is no other's.
const tailSize = 32 << 10

// seen is what the double was asked. Units are ids of a prompt, bytes of one that is text, or bytes of a
// body that is no completion.
type seen struct {
	Requests int
	Distinct int // by the ends of their bodies
	Min, Max int // units
	Prompt   string
}

// double is an engine that reads a whole request, counts its prompt and answers with one token.
type double struct {
	seed maphash.Seed

	mu    sync.Mutex
	seen  seen                // guarded by mu
	tails map[uint64]struct{} // guarded by mu; cleared whenever the load's run is over
}

func newDouble() *double {
	return &double{seed: maphash.MakeSeed(), tails: map[uint64]struct{}{}}
}

// answer serves all paths.
func (d *double) answer(w io.Writer, r *http.Request, body []byte) error {
	var out []byte
	switch {
	case r.Method == http.MethodGet && r.URL.Path == pathSeen:
		out = d.report()
	case r.Method == http.MethodPost && (r.URL.Path == pathCompletions || r.URL.Path == pathChat):
		prompt, n := "", len(body)
		if r.URL.Path == pathCompletions {
			prompt, n = measure(body)
		}
		d.note(prompt, n, maphash.Bytes(d.seed, body[max(0, len(body)-tailSize):]))
		out = appendAnswer(make([]byte, 0, 1024), n)
	default:
		out = []byte(rawhttp.NotFound)
	}
	_, err := w.Write(out)
	return err
}

func (d *double) note(prompt string, n int, tail uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.seen.Requests == 0 {
		d.seen.Min, d.seen.Max, d.seen.Prompt = n, n, prompt
	}
	if d.seen.Prompt != prompt {
		d.seen.Prompt = "mixed"
	}
	d.seen.Requests++
	d.seen.Min, d.seen.Max = min(d.seen.Min, n), max(d.seen.Max, n)
	d.tails[tail] = struct{}{}
}

// report answers with what was seen, and forgets it.
func (d *double) report() []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen.Distinct = len(d.tails)
	b, err := json.Marshal(&d.seen)
	if err != nil {
		return []byte(rawhttp.NotFound) // numbers are always encodable
	}
	d.seen = seen{}
	clear(d.tails)
	return append([]byte("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "+strconv.Itoa(len(b))+"\r\n\r\n"), b...)
}

// measure finds the prompt of a completions request and counts it, without reading the JSON around it: of
// ids it counts the commas, of a text the bytes up to the closing quote.
func measure(body []byte) (prompt string, n int) {
	const name = `"prompt":`
	at := bytes.Index(body, []byte(name))
	if at < 0 || at+len(name) == len(body) {
		return "", 0
	}
	rest := bytes.TrimLeft(body[at+len(name):], " ")
	switch {
	case len(rest) > 0 && rest[0] == '[':
		end := bytes.IndexByte(rest, ']')
		if end < 0 || len(bytes.TrimSpace(rest[1:end])) == 0 {
			return promptIDs, 0
		}
		return promptIDs, bytes.Count(rest[:end], []byte(",")) + 1
	case len(rest) > 0 && rest[0] == '"':
		return promptText, quoted(rest[1:])
	}
	return "", 0
}

// quoted is the length of a JSON string whose opening quote is off.
func quoted(b []byte) int {
	for at := 0; ; {
		i := bytes.IndexByte(b[at:], '"')
		if i < 0 {
			return len(b)
		}
		at += i
		escapes := 0
		for at-escapes > 0 && b[at-escapes-1] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return at
		}
		at++
	}
}

// appendAnswer appends a stream as vLLM's /v1/completions sends it for one token of a prompt of n.
func appendAnswer(dst []byte, n int) []byte {
	const head = `data: {"id":"cmpl-5b0f6a3d9c2e4718a6d4c3b2a1908f7e","object":"text_completion","created":1795971572,"model":"double","choices":[`
	dst = append(dst, rawhttp.StreamHead...)
	dst = rawhttp.AppendChunk(dst, head+`{"index":0,"text":"`+token+`","logprobs":null,"finish_reason":"length","stop_reason":null,"prompt_token_ids":null,"token_ids":[`+strconv.Itoa(tokenID)+`]}],"usage":null}`+"\n\n")
	dst = rawhttp.AppendChunk(dst, head+`],"usage":{"prompt_tokens":`+strconv.Itoa(n)+`,"total_tokens":`+strconv.Itoa(n+1)+`,"completion_tokens":1}}`+"\n\n")
	dst = rawhttp.AppendChunk(dst, "data: [DONE]\n\n")
	return append(dst, rawhttp.StreamEnd...)
}
