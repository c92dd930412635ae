package gateway_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

// frame is one event of a stream, or one message of a socket.
type frame struct {
	ID     json.RawMessage `json:"id"`
	Event  string          `json:"event"`
	Status int             `json:"status"`
	Data   json.RawMessage `json:"data"`
	Prefix string
}

// stream reads server-sent events.
type stream struct {
	tb   testing.TB
	resp *http.Response
	buf  *bufio.Reader
}

func newStream(tb testing.TB, resp *http.Response) *stream {
	tb.Helper()
	return &stream{tb: tb, resp: resp, buf: bufio.NewReader(resp.Body)}
}

// next returns the next event; false means that the stream ended between two events.
func (s *stream) next() (frame, bool) {
	s.tb.Helper()
	var f frame
	for {
		line, err := s.buf.ReadString('\n')
		if err == io.EOF && line == "" && f.Data == nil && f.Event == "" {
			return frame{}, false
		}
		if err != nil {
			s.tb.Fatalf("stream ends inside an event, after %q: %v", line, err)
		}
		line = strings.TrimSuffix(line, "\n")
		name, value, _ := strings.Cut(line, ": ")
		switch {
		case line == "":
			return f, true
		case name == "event":
			f.Event = value
		case name == "data" && f.Data == nil:
			f.Data = json.RawMessage(value)
		default:
			s.tb.Fatalf("unexpected line %q", line)
		}
	}
}

// must is next where one has to come.
func (s *stream) must() frame {
	s.tb.Helper()
	f, ok := s.next()
	if !ok {
		s.tb.Fatal("the stream has ended")
	}
	return f
}

// until returns the events up to the first whose data holds text, that one included.
func (s *stream) until(text string) []frame {
	s.tb.Helper()
	for out := []frame(nil); ; {
		f := s.must()
		if out = append(out, f); bytes.Contains(f.Data, []byte(text)) {
			return out
		}
	}
}

// rest returns all events that are still to come.
func (s *stream) rest() []frame {
	s.tb.Helper()
	var out []frame
	for {
		f, ok := s.next()
		if !ok {
			return out
		}
		out = append(out, f)
	}
}

// block is a piece of an answer: reasoning, text or call, whose text is its arguments.
type block struct {
	Kind, Text, Name, ID string
}

// answer is what a client made of a turn.
type answer struct {
	ID, Model, Finish, Sequence string
	Blocks                      []block
	Dispatched                  []block
	Fault                       *refusal
	Start, Input, Cached        int // tokens; Start is what the first event said
	Output                      int
	Alive                       int // keepalives
}

// add adds a delta, to the block before it if that is of its kind.
func (a *answer) add(kind, text string) {
	if n := len(a.Blocks); n > 0 && a.Blocks[n-1].Kind == kind {
		a.Blocks[n-1].Text += text
		return
	}
	a.Blocks = append(a.Blocks, block{Kind: kind, Text: text})
}

// of joins the texts of one kind of block.
func (a answer) of(kind string) string {
	var out string
	for _, b := range a.Blocks {
		if b.Kind == kind {
			out += b.Text
		}
	}
	return out
}

// calls are the calls alone.
func (a answer) calls() []block {
	var out []block
	for _, b := range a.Blocks {
		if b.Kind == "call" {
			out = append(out, b)
		}
	}
	return out
}

// kinds names the blocks in their order.
func (a answer) kinds() string {
	var out []string
	for _, b := range a.Blocks {
		out = append(out, b.Kind)
	}
	return strings.Join(out, " ")
}

// refusal is an error as a surface tells it.
type refusal struct {
	Status                         int
	Type, Code, Param, Message, ID string
}

// surface is one protocol, seen by a client.
type surface struct {
	name, path string
	idHeader   string
	stop       string // the finish of a turn that is whole
	cut        string // of one that was cut
	calls      string // of one that calls
	body       func(model, text string, more ...string) string
	read       func(tb testing.TB, frames []frame) answer
	whole      func(tb testing.TB, body []byte) answer
	refusal    func(tb testing.TB, status int, body []byte) refusal
}

func chat() surface {
	return surface{
		name: "chat", path: "/v1/chat/completions", idHeader: "X-Request-Id", stop: "stop", cut: "length", calls: "tool_calls",
		body: func(model, text string, more ...string) string {
			return object(append([]string{`"model":` + quote(model), `"messages":[{"role":"user","content":` + quote(text) + `}]`}, more...)...)
		},
		read: readChat, whole: wholeChat, refusal: chatRefusal,
	}
}

func messages() surface {
	return surface{
		name: "messages", path: "/v1/messages", idHeader: "Request-Id", stop: "end_turn", cut: "max_tokens", calls: "tool_use",
		body: func(model, text string, more ...string) string {
			return object(append([]string{`"model":` + quote(model), `"max_tokens":2048`, `"messages":[{"role":"user","content":` + quote(text) + `}]`}, more...)...)
		},
		read: readMessages, whole: wholeMessages, refusal: messagesRefusal,
	}
}

func responses() surface {
	return surface{
		name: "responses", path: "/v1/responses", idHeader: "X-Request-Id", stop: "completed", cut: "max_output_tokens", calls: "completed",
		body: func(model, text string, more ...string) string {
			for i := range more {
				more[i] = strings.Replace(more[i], `"max_tokens"`, `"max_output_tokens"`, 1)
			}
			return object(append([]string{`"model":` + quote(model), `"input":[{"role":"user","content":` + quote(text) + `}]`}, more...)...)
		},
		read: readResponses, whole: wholeResponses, refusal: responsesRefusal,
	}
}

// finish is what this surface says where chat and messages say these.
func (s surface) finish(chat, messages string) string {
	switch s.name {
	case "chat":
		return chat
	case "messages":
		return messages
	}
	switch chat {
	case "stop", "tool_calls":
		return s.stop
	case "length":
		return s.cut
	}
	return chat
}

// onEach runs a test for each surface.
func onEach(t *testing.T, f func(t *testing.T, s surface)) {
	t.Helper()
	onThese(t, f, chat(), messages(), responses())
}

// onFramed runs a test for the surfaces whose sockets carry frames with ids.
func onFramed(t *testing.T, f func(t *testing.T, s surface)) {
	t.Helper()
	onThese(t, f, chat(), messages())
}

func onThese(t *testing.T, f func(t *testing.T, s surface), these ...surface) {
	t.Helper()
	for _, s := range these {
		t.Run(s.name, func(t *testing.T) { f(t, s) })
	}
}

// tools are members that declare tools f and g, on either surface.
func (s surface) tools(names ...string) string {
	var out []string
	for _, n := range names {
		schema := `{"type":"object","properties":{"a":{"type":"integer"},"t":{"type":"string"}}}`
		switch s.name {
		case "chat":
			out = append(out, `{"type":"function","function":{"name":`+quote(n)+`,"parameters":`+schema+`}}`)
		case "messages":
			out = append(out, `{"name":`+quote(n)+`,"input_schema":`+schema+`}`)
		default:
			out = append(out, `{"type":"function","name":`+quote(n)+`,"parameters":`+schema+`}`)
		}
	}
	return `"tools":[` + strings.Join(out, ",") + `]`
}

// stops is the member with stop strings.
func (s surface) stops(texts ...string) string {
	name := "stop"
	if s.name == "messages" {
		name = "stop_sequences"
	}
	list, err := json.Marshal(texts)
	if err != nil {
		panic(err) // strings always marshal
	}
	return `"` + name + `":` + string(list)
}

const (
	streamed = `"stream":true`
	// thinks turns thinking on where a surface has it off by default, and means nothing elsewhere.
	thinks = `"thinking":{"type":"enabled","budget_tokens":1024}`
)

func object(members ...string) string { return "{" + strings.Join(members, ",") + "}" }

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always marshals
	}
	return string(b)
}

// strict decodes JSON into v, which must know every member.
func strict(tb testing.TB, b []byte, v any) {
	tb.Helper()
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		tb.Fatalf("%v: %s", err, b)
	}
	if _, err := d.Token(); err != io.EOF {
		tb.Fatalf("more than one value: %s", b)
	}
}

// field is a string member of an object.
func field(tb testing.TB, b []byte, name string) string {
	tb.Helper()
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		tb.Fatal(err)
	}
	s, _ := m[name].(string)
	return s
}

func chatRefusal(tb testing.TB, status int, body []byte) refusal {
	tb.Helper()
	var v struct {
		Error struct {
			Message, Type string
			Param, Code   *string
		}
	}
	strict(tb, body, &v)
	r := refusal{Status: status, Type: v.Error.Type, Message: v.Error.Message}
	if v.Error.Param != nil {
		r.Param = *v.Error.Param
	}
	if v.Error.Code != nil {
		r.Code = *v.Error.Code
	}
	if r.Type == "" || r.Message == "" {
		tb.Errorf("an error without type or message: %s", body)
	}
	return r
}

func messagesRefusal(tb testing.TB, status int, body []byte) refusal {
	tb.Helper()
	var v struct {
		Type  string
		Error struct{ Type, Message string }
		ID    string `json:"request_id"`
	}
	strict(tb, body, &v)
	if v.Type != "error" || v.Error.Type == "" || v.Error.Message == "" {
		tb.Errorf("not an error of messages: %s", body)
	}
	return refusal{Status: status, Type: v.Error.Type, Message: v.Error.Message, ID: v.ID}
}
