package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weirgate/weir/scripts/bench/internal/rawhttp"
)

const allParts = "think,text,call"

// script says what the engine double streams. Every process makes the same turn of it.
type script struct {
	Tokens int           // of a stream
	Parts  string        // think, text, call
	Pace   time.Duration // between two tokens of a paced stream
	Burst  int           // tokens a write of one that is not; 0: all
}

// turn is a scripted answer: the tokens of the engine, and what a client must be told.
type turn struct {
	tokens    []string
	reasoning string
	text      string
	tool      string
	arguments string
}

// The one tool of the requests, and the call of it up to its last argument, cut as a tokenizer would.
const toolName = "write_file"

var (
	callHeader = []string{
		`{"`, `name`, `":`, ` "`, `write`, `_file`, `",`, ` "`, `arguments`, `":`, ` {"`, `path`, `":`, ` "`, `notes`, `.md`, `",`, ` "`, `content`, `":`, ` "`,
	}
	callTail = []string{`"}}`}
	words    = []string{
		" the", " river", " falls", " over", " a", " low", " wall", ",", " so", " the", " water", " above", " it", " stands", " level", ".",
		" A", " gauge", " beside", " the", " crest", " shows", " how", " much", " flows", " past", " at", " any", " hour", ".", " Caf\u00e9", " 42",
	}
)

// turn makes the answer. Markers are tokens of their own, as they are in the vocabularies of the family.
func (s script) turn() (*turn, error) {
	parts := strings.Split(s.Parts, ",")
	for _, p := range parts {
		if !slices.Contains(strings.Split(allParts, ","), p) {
			return nil, fmt.Errorf("part %q, want some of %s", p, allParts)
		}
	}
	has := func(p string) bool { return slices.Contains(parts, p) }
	fixed := 0
	if has("think") {
		fixed += 5
	}
	if has("call") {
		fixed += len(callHeader) + len(callTail) + 4
	}
	free := s.Tokens - fixed
	if free < 2*len(parts) || s.Tokens > 65536 {
		return nil, fmt.Errorf("%d tokens, want %d to 65536 for %s", s.Tokens, fixed+2*len(parts), s.Parts)
	}
	t := &turn{}
	each := free / len(parts)
	for i, p := range parts {
		if i == len(parts)-1 {
			each = free - each*i
		}
		switch p {
		case "think":
			t.think(each)
		case "text":
			t.text += t.prose(each)
		case "call":
			t.call(each)
		}
	}
	return t, nil
}

// prose adds n words.
func (t *turn) prose(n int) string {
	from := len(t.tokens)
	for i := range n {
		t.tokens = append(t.tokens, words[i%len(words)])
	}
	return strings.Join(t.tokens[from:], "")
}

func (t *turn) think(n int) {
	t.tokens = append(t.tokens, "<think>", "\n")
	t.reasoning += t.prose(n)
	t.tokens = append(t.tokens, "\n", "</think>", "\n\n")
}

func (t *turn) call(n int) {
	t.tokens = append(t.tokens, "<tool_call>", "\n")
	t.tokens = append(t.tokens, callHeader...)
	content := t.prose(n)
	t.tokens = append(append(t.tokens, callTail...), "\n", "</tool_call>")
	t.tool, t.arguments = toolName, `{"path": "notes.md", "content": "`+content+`"}`
}

// finish is what a client is told of the end: the engine's own word without a call.
func (t *turn) finish(calls, stops string) string {
	if t.tool != "" {
		return calls
	}
	return stops
}

// events are the chunks of the answer in the shape of vLLM's /v1/completions, one a token, then the
// finish, the usage and the end.
func (t *turn) events() (tokens [][]byte, end []byte) {
	const head = `data: {"id":"cmpl-7d1c3f0e9b5a4c2e8f6071829304a5b6","object":"text_completion","created":1795971572,"model":"double","choices":[`
	for _, token := range t.tokens {
		text, err := json.Marshal(token)
		if err != nil {
			continue // a string is always encodable
		}
		e := head + `{"index":0,"text":` + string(text) + `,"logprobs":null,"finish_reason":null,"stop_reason":null,"prompt_token_ids":null,"token_ids":null}],"usage":null}` + "\n\n"
		tokens = append(tokens, rawhttp.AppendChunk(nil, e))
	}
	n := strconv.Itoa(len(t.tokens))
	end = rawhttp.AppendChunk(end, head+`{"index":0,"text":"","logprobs":null,"finish_reason":"stop","stop_reason":null,"prompt_token_ids":null,"token_ids":null}],"usage":null}`+"\n\n")
	end = rawhttp.AppendChunk(end, head+`],"usage":{"prompt_tokens":100,"total_tokens":`+strconv.Itoa(100+len(t.tokens))+`,"completion_tokens":`+n+`}}`+"\n\n")
	end = rawhttp.AppendChunk(end, "data: [DONE]\n\n")
	return tokens, append(end, rawhttp.StreamEnd...)
}

const (
	systemText = "You keep the notes of a weir. Write what the user tells you into the file he names, in plain words, and say what you wrote."
	userText   = "Please write down how the weir works: what the wall does, where the gauge stands and what it shows. Put it into notes.md."
	toolText   = "Writes text into a file, in place of what it held."
	toolSchema = `{"type":"object","properties":{"path":{"type":"string","description":"path of the file"},"content":{"type":"string","description":"the whole text"}},"required":["path","content"]}`
)

// chatBody is a request to /v1/chat/completions.
func chatBody(model string) string {
	return `{"model":"` + model + `","stream":true,"stream_options":{"include_usage":true},"max_tokens":4096,"temperature":0.7,"messages":[` +
		`{"role":"system","content":"` + systemText + `"},{"role":"user","content":"` + userText + `"}],` +
		`"tools":[{"type":"function","function":{"name":"` + toolName + `","description":"` + toolText + `","parameters":` + toolSchema + `}}]}`
}

// messagesBody is the same request to /v1/messages.
func messagesBody(model string) string {
	return `{"model":"` + model + `","stream":true,"max_tokens":4096,"thinking":{"type":"enabled","budget_tokens":2048},"system":"` + systemText + `",` +
		`"messages":[{"role":"user","content":"` + userText + `"}],` +
		`"tools":[{"name":"` + toolName + `","description":"` + toolText + `","input_schema":` + toolSchema + `}]}`
}

// responsesBody is the same request to /v1/responses. Its answer is not kept: the others are not either.
func responsesBody(model string) string {
	return `{"model":"` + model + `","stream":true,"store":false,"max_output_tokens":4096,"temperature":0.7,"instructions":"` + systemText + `",` +
		`"input":[{"role":"user","content":"` + userText + `"}],` +
		`"tools":[{"type":"function","name":"` + toolName + `","description":"` + toolText + `","parameters":` + toolSchema + `}]}`
}
