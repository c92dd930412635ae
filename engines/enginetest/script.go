package enginetest

import (
	"net/http"
	"strconv"
	"time"

	"github.com/weirgate/weir/abi/jsonscan"
)

// Chunk is what one event of a script says. On /completions only Text counts.
type Chunk struct {
	Text      string
	Reasoning string
	Call      *Call
	IDs       []uint32 // token_ids, as vLLM sends them on request
	List      string   // JSON text of token_ids instead, for what no server should send
}

// Call is a fragment of a tool call: ID and Name stand in the first one alone.
type Call struct {
	Index int
	ID    string
	Name  string
	Args  string
}

// Say is a chunk for each piece of text.
func Say(pieces ...string) []Chunk {
	chunks := make([]Chunk, len(pieces))
	for i, p := range pieces {
		chunks[i].Text = p
	}
	return chunks
}

// Words is n chunks of one word.
func Words(n int) []Chunk {
	chunks := make([]Chunk, n)
	for i := range chunks {
		chunks[i].Text = " w" + strconv.Itoa(i)
	}
	return chunks
}

// Fault is what goes wrong with an answer, after Script.At chunks.
type Fault uint8

// Faults.
const (
	FaultNone  Fault = iota
	FaultLine        // the answer ends inside a line
	FaultEnd         // the answer ends, whole as HTTP but without a finish reason
	FaultReset       // the connection breaks
	FaultStall       // nothing comes any more until the client leaves
	FaultError       // an error chunk, and the end
)

// Usage is where an answer counts its tokens.
type Usage uint8

// Places.
const (
	UsageChunk  Usage = iota // in a last chunk of its own, choices []
	UsageFinish              // in the chunk with the finish reason
	UsageEvery               // in every chunk
	UsageNever
)

// Script is one answer. The zero value streams nothing and stops.
type Script struct {
	Chunks []Chunk
	Finish string   // "" means stop
	Stop   string   // JSON text of stop_reason in the last chunk
	Last   []uint32 // token_ids of the last chunk, which has no text

	// A prompt that is refused, as vLLM does: longer than Window tokens, or with an id not below Vocabulary;
	// 0: no limit.
	Window, Vocabulary int

	// An answer that is no stream.
	Status int // 0: stream
	Header http.Header
	Type   string // content type; "" means text/event-stream, or application/json beside a status
	Body   string // sent instead of a stream when Type is set and Status is 200, or beside another status

	Fault Fault
	At    int    // chunks before the fault
	Error string // the error chunk's JSON; "" means a plain one

	EOL         string // line end; "" means LF
	SplitEOL    bool   // a flush between CR and LF
	Write       int    // bytes a write; 0: an event a write
	Pause       time.Duration
	Gate        <-chan struct{} // received from before each chunk
	FinishEvery bool            // the finish reason stands on every chunk
	StopEvery   bool            // and so does the stop reason
	NoDone      bool            // no [DONE]
	Usage       Usage
	Cached      int
}

// rendered is a script's events as JSON. finish is the index of the chunk with the finish reason.
func (s *Script) rendered(chat bool, maxTokens, input int) [][]byte {
	chunks, reason := s.Chunks, s.Finish
	if reason == "" {
		reason = "stop"
	}
	if maxTokens > 0 && maxTokens < len(chunks) {
		chunks, reason = chunks[:maxTokens], "length"
	}
	var events [][]byte
	if chat {
		events = append(events, []byte(`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"double","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}`))
	}
	for i := range chunks {
		e := appendChunk(nil, chat, &chunks[i])
		e = append(e, `,"logprobs":null,"finish_reason":`...)
		if s.FinishEvery {
			e = jsonscan.AppendString(e, reason)
		} else {
			e = append(e, "null"...)
		}
		if s.StopEvery {
			e = append(append(e, `,"stop_reason":`...), s.Stop...)
		}
		e = append(e, `}]`...)
		if s.Usage == UsageEvery {
			e = appendUsage(append(e, `,"usage":`...), input, s.Cached, i+1)
		}
		events = append(events, append(e, '}'))
	}
	last := appendChunk(nil, chat, &Chunk{IDs: s.Last})
	last = jsonscan.AppendString(append(last, `,"logprobs":null,"finish_reason":`...), reason)
	if s.Stop != "" {
		last = append(append(last, `,"stop_reason":`...), s.Stop...)
	}
	last = append(last, `}]`...)
	if s.Usage == UsageFinish || s.Usage == UsageEvery {
		last = appendUsage(append(last, `,"usage":`...), input, s.Cached, len(chunks))
	}
	events = append(events, append(last, '}'))
	if s.Usage == UsageChunk {
		e := appendUsage([]byte(`{"id":"1","created":1,"model":"double","choices":[],"usage":`), input, s.Cached, len(chunks))
		events = append(events, append(e, '}'))
	}
	return events
}

// appendChunk writes a chunk up to what follows the text in its choice.
func appendChunk(dst []byte, chat bool, c *Chunk) []byte {
	if !chat {
		dst = append(dst, `{"id":"cmpl-1","object":"text_completion","created":1795971572,"model":"double","choices":[{"index":0,"text":`...)
		return appendIDs(jsonscan.AppendString(dst, c.Text), c)
	}
	dst = append(dst, `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1795971572,"model":"double","choices":[{"index":0,"delta":{`...)
	switch {
	case c.Call != nil:
		dst = strconv.AppendInt(append(dst, `"tool_calls":[{"index":`...), int64(c.Call.Index), 10)
		if c.Call.ID != "" {
			dst = jsonscan.AppendString(append(dst, `,"type":"function","id":`...), c.Call.ID)
		}
		dst = append(dst, `,"function":{`...)
		if c.Call.Name != "" {
			dst = append(jsonscan.AppendString(append(dst, `"name":`...), c.Call.Name), ',')
		}
		dst = append(jsonscan.AppendString(append(dst, `"arguments":`...), c.Call.Args), `}}]`...)
	case c.Reasoning != "":
		dst = jsonscan.AppendString(append(dst, `"reasoning_content":`...), c.Reasoning)
	case c.Text != "":
		dst = jsonscan.AppendString(append(dst, `"content":`...), c.Text)
	}
	return appendIDs(append(dst, '}'), c)
}

func appendIDs(dst []byte, c *Chunk) []byte {
	if c.List != "" {
		return append(append(dst, `,"token_ids":`...), c.List...)
	}
	for i, id := range c.IDs {
		dst = append(dst, [...]string{`,"token_ids":[`, `,`}[min(i, 1)]...)
		dst = strconv.AppendUint(dst, uint64(id), 10)
	}
	if len(c.IDs) > 0 {
		dst = append(dst, ']')
	}
	return dst
}

func appendUsage(dst []byte, input, cached, output int) []byte {
	dst = strconv.AppendInt(append(dst, `{"prompt_tokens":`...), int64(input), 10)
	dst = strconv.AppendInt(append(dst, `,"completion_tokens":`...), int64(output), 10)
	dst = strconv.AppendInt(append(dst, `,"total_tokens":`...), int64(input+output), 10)
	dst = strconv.AppendInt(append(dst, `,"prompt_tokens_details":{"cached_tokens":`...), int64(cached), 10)
	return append(dst, `}}`...)
}
