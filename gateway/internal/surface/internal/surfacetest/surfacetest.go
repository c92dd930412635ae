// Package surfacetest is what the tests of the surfaces share: told turns, a recording writer, golden
// files and the requests of real clients.
package surfacetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/surface"
	"github.com/weirgate/weir/gateway/internal/transport"
)

// Info is the same for every told turn.
func Info() surface.Info {
	return surface.Info{ID: "0123456789abcdefghijklmn", Model: `some/"model"`, Created: time.Unix(1700000000, 0), Dispatch: true}
}

// Recorder keeps frames as the text of an event stream.
type Recorder struct{ Text bytes.Buffer }

// Write keeps f.
func (r *Recorder) Write(f transport.Frame) error {
	if bytes.ContainsAny(f.Data, "\r\n") {
		return fmt.Errorf("a frame with a line break: %q", f.Data)
	}
	if f.Data[0] == '{' && !json.Valid(f.Data) {
		return fmt.Errorf("a frame that is not JSON: %s", f.Data)
	}
	if f.Event != "" {
		fmt.Fprintf(&r.Text, "event: %s\n", f.Event)
	}
	fmt.Fprintf(&r.Text, "data: %s\n\n", f.Data)
	return nil
}

// Flush does nothing.
func (*Recorder) Flush() error { return nil }

// Discard drops frames.
type Discard struct{}

// Write drops f.
func (Discard) Write(transport.Frame) error { return nil }

// Flush does nothing.
func (Discard) Flush() error { return nil }

// Golden compares got with testdata/name; with UPDATE_GOLDEN=1 it writes the file.
func Golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("UPDATE_GOLDEN") == "1" { //nolint:forbidigo // because it is a switch of the tests
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; got:\n%s\nwant:\n%s", path, got, want)
	}
}

// Recording is one request of a real client.
type Recording struct {
	Name, Scenario string
	Header         http.Header
	Body           []byte
}

// Recordings returns the recorded POST requests to a path, in order. Without the data the test is
// skipped.
func Recordings(tb testing.TB, path string) []Recording {
	tb.Helper()
	return recordings(tb, path, http.MethodPost)
}

// Frames returns the messages that clients sent on sockets of a path, in order, with the headers that opened them.
// Without the data the test is skipped.
func Frames(tb testing.TB, path string) []Recording {
	tb.Helper()
	return recordings(tb, path, "WS-MESSAGE")
}

// recordedFiles finds the files of recorded requests.
func recordedFiles(tb testing.TB) []string {
	tb.Helper()
	dir, err := filepath.Abs(".")
	if err != nil {
		tb.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			tb.Fatal("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
	files, err := filepath.Glob(filepath.Join(dir, "..", "shared", "data", "recorded", "*.json"))
	if err != nil || len(files) == 0 {
		tb.Skip("SKIPPED: no recorded requests in ../shared/data/recorded beside the repository")
	}
	return files
}

func recordings(tb testing.TB, path, method string) []Recording {
	tb.Helper()
	var out []Recording
	opened := map[string]http.Header{} // sockets by scenario
	for _, f := range recordedFiles(tb) {
		raw, err := os.ReadFile(f)
		if err != nil {
			tb.Fatal(err)
		}
		var r struct {
			Client, Scenario, Method, Path string
			Headers                        [][2]string
			Body                           json.RawMessage
		}
		if err := json.Unmarshal(raw, &r); err != nil {
			tb.Fatalf("%s: %v", f, err)
		}
		header, scenario := http.Header{}, r.Client+"/"+r.Scenario
		for _, h := range r.Headers {
			header.Add(h[0], h[1])
		}
		if r.Method == http.MethodGet {
			opened[scenario] = header
		}
		if r.Method != method || r.Path != path {
			continue
		}
		if len(header) == 0 && opened[scenario] != nil {
			header = opened[scenario]
		}
		var body bytes.Buffer // the files are indented, requests are not
		if err := json.Compact(&body, r.Body); err != nil {
			tb.Fatalf("%s: %v", f, err)
		}
		out = append(out, Recording{Name: filepath.Base(f), Scenario: scenario, Header: header, Body: body.Bytes()})
	}
	if len(out) == 0 {
		tb.Skipf("SKIPPED: no recorded %s to %s", method, path)
	}
	return out
}

// Dump writes messages in a form for people and comparisons, one line a part.
func Dump(messages []conv.Message) []string {
	var out []string
	for i := range messages {
		m := &messages[i]
		head := m.Role.String()
		if m.Name != "" {
			head += "(" + m.Name + ")"
		}
		out = append(out, head+":"+dumpParts(m.Parts))
	}
	return out
}

func dumpParts(parts []conv.Part) string {
	var b strings.Builder
	for i := range parts {
		p := &parts[i]
		switch p.Kind {
		case conv.Text:
			fmt.Fprintf(&b, " %stext %q", [...]string{"", "commentary ", "final "}[p.Phase], p.Text)
		case conv.Reasoning:
			fmt.Fprintf(&b, " reasoning %q seal %q", p.Text, p.Seal)
		case conv.Call:
			name := p.Call.Name
			if p.Call.Namespace != "" {
				name = p.Call.Namespace + "." + name
			}
			fmt.Fprintf(&b, " call %s %s %q%s", p.Call.ID, name, p.Call.Arguments, [...]string{"", " custom", " search"}[p.Call.Kind])
		case conv.Result:
			fmt.Fprintf(&b, " result %s [%s ]", p.Result.CallID, dumpParts(p.Result.Parts))
			if p.Result.IsError {
				b.WriteString(" error")
			}
		case conv.MediaPart:
			fmt.Fprintf(&b, " %s %s %q %q", p.Media.Type, p.Media.MIME, p.Media.URL, p.Media.Data)
		case conv.Reference:
			fmt.Fprintf(&b, " reference %s", p.Text)
		case conv.Summary:
			fmt.Fprintf(&b, " summary %q seal %q", p.Text, p.Seal)
		default:
			fmt.Fprintf(&b, " unknown %d", p.Kind)
		}
	}
	return b.String()
}

// Play tells a turn to an encoder, with the grammar of events checked, and returns what it wrote. A
// keepalive comes before and after the whole, and after the first event.
func Play(tb testing.TB, events []event.Event, s surface.Surface, req *surface.Request, info surface.Info) []byte {
	tb.Helper()
	var rec Recorder
	enc := s.Encode(req, info, &rec)
	check := event.Checker{Next: enc}
	for i := range events {
		if err := check.Event(&events[i]); err != nil {
			tb.Fatal(err)
		}
		if i == 0 {
			if err := enc.KeepAlive(); err != nil {
				tb.Fatal(err)
			}
		}
	}
	if err := check.Close(); err != nil {
		tb.Fatal(err)
	}
	if err := enc.KeepAlive(); err != nil {
		tb.Fatal(err)
	}
	return rec.Text.Bytes()
}

// Fold folds a told turn.
func Fold(tb testing.TB, events []event.Event) *event.Result {
	tb.Helper()
	var f event.Folder
	for i := range events {
		if err := f.Event(&events[i]); err != nil {
			tb.Fatal(err)
		}
	}
	return &f.Result
}

// Opening tells conversations apart: the system text and what the user said first.
func Opening(lines []string) string {
	var out []string
	for _, l := range lines {
		out = append(out, l)
		if strings.HasPrefix(l, "user") {
			break
		}
	}
	return strings.Join(out, "\n")
}

// Diverge is the number of leading messages that two requests share.
func Diverge(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// Kinds is the closed set of faults.
func Kinds() []fault.Kind {
	return []fault.Kind{
		fault.Invalid, fault.Unsupported, fault.Unauthorized, fault.Forbidden, fault.NotFound, fault.Conflict, fault.TooLarge, fault.Overflow,
		fault.Quota, fault.Busy, fault.Unavailable, fault.Engine, fault.Plugin, fault.Timeout, fault.Canceled, fault.Internal,
	}
}

// OwnsItsMemory checks that a request which is decoded stays what it is when the body is written over.
func OwnsItsMemory(t *testing.T, body []byte, decode func([]byte) (*surface.Request, error)) {
	t.Helper()
	want, err := decode(body)
	if err != nil {
		return
	}
	reused := bytes.Clone(body)
	got, err := decode(reused)
	for i := range reused {
		reused[i] = '#'
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%.1000q: the request refers to the body, %v", body, err)
	}
}

// LongBody is a request of about size bytes as agents send it: tools, then rounds of text, calls and
// results with many escapes. round writes one round, i counts them.
func LongBody(head string, size int, round func(b *bytes.Buffer, i int, text []byte), tail string) []byte {
	var b bytes.Buffer
	b.WriteString(head)
	line := "\tif err := run(ctx, \"name\"); err != nil { return fmt.Errorf(\"run: %w\", err) }\n"
	text, err := json.Marshal(strings.Repeat(line, 24))
	if err != nil {
		panic(err) // a string always marshals
	}
	for i := 0; b.Len() < size; i++ {
		round(&b, i, text)
	}
	b.WriteString(tail)
	return b.Bytes()
}

// ShortBody is a first request of a conversation with one tool, in the members that head and tools bring.
func ShortBody(head, tool string) []byte {
	const text = "You keep the notes of a weir. Write what the user tells you into the file he names, in plain words."
	return []byte(`{"model":"qwen",` + head + `"messages":[{"role":"user","content":"` + text + `\nNow."}],"tools":[` + tool + `]}`)
}

// Schema is the schema of that tool.
const Schema = `{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string","description":"the whole text"}},"required":["path"]}`

// BenchmarkShort encodes a short turn from its first event on: reasoning, text and a call.
func BenchmarkShort(b *testing.B, s surface.Surface) {
	req := &surface.Request{Request: &conv.Request{}}
	call := event.Call{ID: "call_0123456789", Name: "write_file"}
	events := []event.Event{
		{Kind: event.TurnStart},
		{Kind: event.ReasoningStart},
		{Kind: event.ReasoningDelta, Text: []byte(" the water stands level")},
		{Kind: event.ReasoningEnd},
		{Kind: event.TextStart},
		{Kind: event.TextDelta, Text: []byte(" over a low wall")},
		{Kind: event.TextEnd},
		{Kind: event.ToolStart, Call: call},
		{Kind: event.ToolArgs, Text: []byte(`{"path":"notes.md"}`)},
		{Kind: event.ToolEnd, Call: call, Complete: true},
		{Kind: event.UsageKind},
		{Kind: event.Finish, Reason: event.ReasonToolUse},
	}
	info := Info()
	b.ReportAllocs()
	for b.Loop() {
		enc := s.Encode(req, info, Discard{})
		for i := range events {
			if err := enc.Event(&events[i]); err != nil {
				b.Fatal(err)
			}
		}
	}
}
