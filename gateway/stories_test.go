package gateway_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/engines"
	"github.com/weirgate/weir/engines/enginetest"
	"github.com/weirgate/weir/gateway/internal/assemble"
	chatsurface "github.com/weirgate/weir/gateway/internal/surface/chat"
	"github.com/weirgate/weir/gateway/internal/turn"
)

var update = flag.Bool("update", false, "write the golden sections of testdata/stories anew")

// TestStories tells what a model wrote, piece by piece, and compares what became of it at every place:
// the canonical events, and what clients of both surfaces and of a socket are sent. Each story is one
// file: its request is a body of chat; its engine is one piece a line as a Go string, so that half a
// character can stand in one, and how it finished where that is not "stop".
func TestStories(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/stories/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	w := start(t, options{})
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txtar"), func(t *testing.T) {
			w := *w
			w.tb = t
			a := readArchive(t, f)
			pieces, finish := readPieces(t, a.section("engine"))
			request := strings.TrimSpace(a.section("request"))
			w.double.Play(enginetest.Script{Type: "text/event-stream", Body: rawStream(pieces, finish)})

			a.compare(t, "events", eventsOf(t, request, pieces, finish), *update)
			a.compare(t, "chat", told(w.frames(chat().path, request)), *update)
			a.compare(t, "messages", told(w.frames(messages().path, asMessages(t, request))), *update)
			a.compare(t, "responses", told(w.frames(responses().path, asResponses(t, request))), *update)
			k := w.dial(chat().path)
			k.request(`"s1"`, request)
			a.compare(t, "socket", told(k.turn(`"s1"`)), *update)
			if *update {
				a.write(t, f)
			}
		})
	}
}

func readPieces(tb testing.TB, text string) (pieces []string, finish string) {
	tb.Helper()
	finish = "stop"
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if reason, ok := strings.CutPrefix(line, "finish "); ok {
			finish = reason
			continue
		}
		p, err := strconv.Unquote(line)
		if err != nil {
			tb.Fatalf("%s: %v", line, err)
		}
		pieces = append(pieces, p)
	}
	return pieces, finish
}

// rawStream is the engine's answer. Its strings hold the bytes of the pieces as they are.
func rawStream(pieces []string, finish string) string {
	escape := strings.NewReplacer(`"`, `\"`, `\`, `\\`, "\n", `\n`, "\t", `\t`, "\r", `\r`)
	var out strings.Builder
	for _, p := range pieces {
		fmt.Fprintf(&out, "data: {\"choices\":[{\"index\":0,\"text\":\"%s\",\"finish_reason\":null}]}\n\n", escape.Replace(p))
	}
	fmt.Fprintf(&out, "data: {\"choices\":[{\"index\":0,\"text\":\"\",\"finish_reason\":%q}],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":%d}}\n\n", finish, len(pieces))
	return out.String() + "data: [DONE]\n\n"
}

// asMessages is a chat request in the other surface's words.
func asMessages(tb testing.TB, body string) string {
	tb.Helper()
	var r struct {
		Messages json.RawMessage
		Tools    []struct {
			Function struct {
				Name       string
				Parameters json.RawMessage
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &r); err != nil {
		tb.Fatal(err)
	}
	var tools []string
	for _, t := range r.Tools {
		tools = append(tools, object(`"name":`+quote(t.Function.Name), `"input_schema":`+string(t.Function.Parameters)))
	}
	return object(`"model":"double"`, `"max_tokens":999`, streamed, thinks, `"messages":`+string(r.Messages), `"tools":[`+strings.Join(tools, ",")+`]`)
}

// asResponses is a chat request of plain messages as a request of responses.
func asResponses(tb testing.TB, body string) string {
	tb.Helper()
	var r struct {
		Messages json.RawMessage
		Tools    []struct{ Function json.RawMessage }
	}
	if err := json.Unmarshal([]byte(body), &r); err != nil {
		tb.Fatal(err)
	}
	var tools []string
	for _, t := range r.Tools {
		tools = append(tools, `{"type":"function",`+strings.TrimPrefix(string(t.Function), "{"))
	}
	return object(`"model":"double"`, streamed, `"input":`+string(r.Messages), `"tools":[`+strings.Join(tools, ",")+`]`)
}

// script is an engine that gives the pieces of a story one by one.
type script struct {
	pieces []string
	finish engines.Reason
}

func (*script) Capabilities() engines.Capabilities { return engines.Capabilities{} }

func (s *script) Generate(context.Context, *engines.Request) (engines.Stream, error) {
	return &scriptStream{script: *s}, nil
}

type scriptStream struct {
	script
	at int
}

func (s *scriptStream) Next() (*engines.Delta, error) {
	defer func() { s.at++ }()
	switch n := len(s.pieces); {
	case s.at < n:
		return &engines.Delta{Bytes: []byte(s.pieces[s.at]), Tokens: 1}, nil
	case s.at == n:
		return &engines.Delta{Finish: &engines.Finish{Reason: s.finish}, Usage: &engines.Usage{Input: 9, Output: n}}, nil
	}
	return nil, io.EOF
}

func (*scriptStream) Close() error { return nil }

// teller writes canonical events, checked, as JSON lines.
type teller struct {
	event.Checker
	out []byte
}

func (t *teller) Event(e *event.Event) error {
	t.out = append(event.AppendJSON(t.out, e), '\n')
	return t.Checker.Event(e)
}

func (*teller) KeepAlive() error     { return nil }
func (*teller) Flush() (bool, error) { return true, nil }

// noMeter counts nothing.
type noMeter struct{}

func (noMeter) Tokens(int)              {}
func (noMeter) PluginFault(*host.Fault) {}

// eventsOf runs a turn over the built-in plugin as the gateway does, with every piece in a delta.
func eventsOf(tb testing.TB, request string, pieces []string, finish string) string {
	tb.Helper()
	req, err := chatsurface.Surface{}.Decode([]byte(request), nil)
	if err != nil {
		tb.Fatal(err)
	}
	reason := engines.ReasonStop
	if finish == "length" {
		reason = engines.ReasonLength
	}
	sink := &teller{}
	tn := turn.Turn{
		Request: &engines.Request{}, Replicas: []turn.Replica{{Engine: &script{pieces, reason}}}, Parser: builtinParser(tb, `{"reasoning":"qwen3","tools":"hermes"}`),
		Prompt:   &turn.Prompt{Start: guest.Start{Thinking: guest.ThinkingOn, Tools: len(req.Tools) > 0}.Append(nil)},
		Assemble: assemble.Options{Tools: req.Tools, Choice: req.Choice}, Streamed: true, Sink: sink, Meter: noMeter{},
		Times: turn.Times{HeaderWait: time.Minute, KeepAlive: time.Minute, Idle: time.Minute},
	}
	if _, err := tn.Run(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	if err := sink.Close(); err != nil {
		tb.Errorf("events: %v", err)
	}
	return string(sink.out)
}

// What differs from run to run, and what depends on the template's wording.
var (
	ids     = regexp.MustCompile(`"(chatcmpl-|msg_|call_|toolu_|resp_|rs_|fc_)[0-9A-Za-z]{24}[0-9a-f]*"`)
	created = regexp.MustCompile(`"(created|created_at|completed_at|sequence_number)":[0-9]+`)
	vouched = regexp.MustCompile(`"weir1\.t\.[0-9A-Za-z_-]{32}"`)
	counts  = regexp.MustCompile(`"(prompt_tokens|total_tokens|input_tokens)":[0-9]+`)
	// piece cuts a frame at the text of its delta.
	piece = regexp.MustCompile(`^(.*"(?:content|reasoning_content|arguments|text|thinking|partial_json|delta)":")((?:[^"\\]|\\.)*)("(?:[\]}]+|,"logprobs":\[\],"s|,"s).*)$`)
)

// told writes frames with neighbours of one block put together, for how an engine's pieces are read
// together is a matter of time, and with ids in the order in which they came.
func told(frames []frame) string {
	var out strings.Builder
	seen := map[string]string{}
	var before, text, after, name string // of the delta that may still grow
	put := func(event, data string) {
		if event != "" {
			fmt.Fprintf(&out, "event: %s\n", event)
		}
		if data != "" {
			fmt.Fprintf(&out, "data: %s\n", data)
		}
		out.WriteByte('\n')
	}
	flush := func() {
		if before != "" {
			put(name, before+text+after)
			before = ""
		}
	}
	for _, f := range frames {
		data := ids.ReplaceAllStringFunc(string(f.Data), func(id string) string {
			if seen[id] == "" {
				prefix := id[:strings.IndexAny(id, "-_")+1]
				n := 1
				for other := range seen {
					if strings.HasPrefix(other, prefix) {
						n++
					}
				}
				seen[id] = prefix + strconv.Itoa(n) + `"`
			}
			return seen[id]
		})
		data = created.ReplaceAllString(data, `"$1":1`)
		data = vouched.ReplaceAllString(data, `"weir1.t.tag"`)
		data = counts.ReplaceAllString(data, `"$1":9`)
		event := f.Event
		if f.ID != nil {
			event = string(f.ID) + " " + event
		}
		m := piece.FindStringSubmatch(data)
		if m != nil && before == m[1] && after == m[3] && name == event {
			text += m[2]
			continue
		}
		flush()
		if m == nil {
			put(event, data)
			continue
		}
		before, text, after, name = m[1], m[2], m[3], event
	}
	flush()
	return out.String()
}
