package responses_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/gateway/internal/chain"
	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/surface"
	"github.com/weirgate/weir/gateway/internal/surface/internal/surfacetest"
	"github.com/weirgate/weir/gateway/internal/surface/responses"
)

// recorded are the requests of real clients, by HTTP and on sockets.
func recorded(tb testing.TB) []surfacetest.Recording {
	tb.Helper()
	const path = "/v1/responses"
	return append(surfacetest.Recordings(tb, path), surfacetest.Frames(tb, path)...)
}

// missing are items that a recorded request relies on: the calls that its outputs answer.
func missing(req *surface.Request) []chain.Item {
	own := responses.OwnOf(req)
	if own.Previous == "" {
		return nil
	}
	out := []chain.Item{{Messages: []conv.Message{{Role: conv.User, Parts: []conv.Part{{Kind: conv.Text, Text: "before"}}}}}}
	for _, it := range own.Input {
		for _, m := range it.Messages {
			for _, p := range m.Parts {
				if p.Result != nil {
					call := &conv.ToolCall{ID: p.Result.CallID, Name: "f", Arguments: "{}"}
					out = append(out, chain.Item{Messages: []conv.Message{{Role: conv.Assistant, Parts: []conv.Part{{Kind: conv.Call, Call: call}}}}})
				}
			}
		}
	}
	return out
}

func TestRecordedRequests(t *testing.T) {
	all := recorded(t)
	for _, r := range all {
		req, err := responses.Surface{}.Decode(r.Body, r.Header)
		if err == nil {
			err = responses.Join(req, missing(req))
		}
		if err != nil {
			t.Errorf("%s: %v", r.Name, err)
			continue
		}
		said := strings.Join(surfacetest.Dump(req.Messages), "\n")
		for _, text := range texts(t, r.Body) {
			if !strings.Contains(said, fmt.Sprintf("%q", text)) {
				t.Errorf("%s: %.100q is lost", r.Name, text)
			}
		}
		for _, id := range []string{"msg_", "fc_", "rs_", "fco_", "ctco_"} {
			if strings.Contains(said, " "+id) {
				t.Errorf("%s: the id of an item is in the messages", r.Name)
			}
		}
		own := responses.OwnOf(req)
		if strings.Contains(r.Name, "codex") && (req.Session == "" || !own.Encrypted || own.Store) {
			t.Errorf("%s: session %q, %+v", r.Name, req.Session, own)
		}
		if len(req.Tools) == 0 && strings.Contains(string(r.Body), `"type":"function"`) {
			t.Errorf("%s: no tools", r.Name)
		}
	}
	t.Logf("%d requests", len(all))
}

// texts are what the items of a body say.
func texts(t *testing.T, body []byte) []string {
	t.Helper()
	var doc struct {
		Instructions string
		Input        json.RawMessage
	}
	if err := json.Unmarshal(body, &doc); err != nil {
		t.Fatal(err)
	}
	var out []string
	if doc.Instructions != "" {
		out = append(out, doc.Instructions)
	}
	var text string
	if json.Unmarshal(doc.Input, &text) == nil {
		return append(out, text)
	}
	var items []struct {
		Content, Output    json.RawMessage
		Summary            []struct{ Text string }
		Arguments, Input   string
		EncryptedContent   string `json:"encrypted_content"`
		Name, Role, CallID string
	}
	if err := json.Unmarshal(doc.Input, &items); err != nil {
		t.Fatal(err)
	}
	for _, it := range items {
		var content []string
		for _, raw := range []json.RawMessage{it.Content, it.Output} {
			var parts []struct {
				Text     string
				ImageURL string `json:"image_url"`
			}
			if json.Unmarshal(raw, &text) == nil && text != "" {
				content = append(content, text)
			} else if json.Unmarshal(raw, &parts) == nil {
				for _, p := range parts {
					content = append(content, p.Text+p.ImageURL)
				}
			}
			text = ""
		}
		if len(content) == 0 && len(it.Summary) == 1 { // content says the same at more length
			content = append(content, it.Summary[0].Text)
		}
		for _, s := range append(content, it.Arguments, it.Input, it.EncryptedContent) {
			if s != "" {
				out = append(out, s)
			}
		}
	}
	return out
}

// TestHistoryIsStable: what a client says again in a later request of one conversation maps to the same messages.
func TestHistoryIsStable(t *testing.T) {
	type key struct{ scenario, first string }
	last := map[key][]string{}
	compared := 0
	for _, r := range recorded(t) {
		req, err := responses.Surface{}.Decode(r.Body, r.Header)
		if err == nil {
			err = responses.Join(req, missing(req))
		}
		if err != nil {
			t.Fatalf("%s: %v", r.Name, err)
		}
		if responses.OwnOf(req).Previous != "" || strings.Contains(string(r.Body), `"compaction"`) || len(req.Messages) == 0 {
			continue
		}
		lines := surfacetest.Dump(req.Messages)
		if strings.Contains(lines[len(lines)-1], "CONTEXT CHECKPOINT COMPACTION") {
			continue
		}
		k := key{r.Scenario, surfacetest.Opening(lines)}
		if before, ok := last[k]; ok {
			compared++
			if at := surfacetest.Diverge(before, lines); at < len(before) {
				t.Errorf("%s: message %d is\n%.300s\nwas\n%.300s", r.Name, at, lines[min(at, len(lines)-1)], before[at])
			}
		}
		last[k] = lines
	}
	t.Logf("%d pairs of requests compared", compared)
}

// everywhere has text in each place that takes a string or parts.
const everywhere = `{"model":"m","instructions":"i","input":[
	{"role":"system","content":"s"},{"type":"message","role":"developer","content":[{"type":"text","text":"d"}]},
	{"role":"user","content":"u"},{"role":"user","content":[{"type":"input_text","text":"v"},{"type":"text","text":"w"}]},
	{"type":"reasoning","content":[{"type":"reasoning_text","text":"r"}],"summary":[],"encrypted_content":"e"},
	{"type":"message","role":"assistant","phase":"final_answer","content":"a"},
	{"type":"function_call","call_id":"c","name":"f","namespace":"ns","arguments":"{\"content\": \"x\"}"},{"type":"function_call_output","call_id":"c","output":"r"},
	{"type":"custom_tool_call","call_id":"d","name":"p","input":"raw"},{"type":"custom_tool_call_output","call_id":"d","output":[{"type":"input_text","text":"r"}]},
	{"type":"tool_search_call","call_id":"s","arguments":{"content":"c","id":1}},{"type":"tool_search_output","call_id":"s","tools":[{"type":"function","name":"g"}]},
	{"type":"compaction","encrypted_content":"z"},{"type":"web_search_call","status":"completed"},{"role":"user","content":""}],
	"tools":[{"type":"custom","name":"p","format":{"type":"grammar","syntax":"lark"}},{"type":"namespace","name":"ns","description":"n","tools":[{"type":"function","name":"f","parameters":{"content":"c","id":1}}]},
	{"type":"tool_search","execution":"client","parameters":{"id":1}}],"tool_choice":{"type":"function","name":"f","namespace":"ns"},
	"reasoning":{"effort":"low","summary":"auto"},"text":{"verbosity":"low"},"include":["reasoning.encrypted_content"],"user":"u","safety_identifier":"w"}`

func TestSameInAllForms(t *testing.T) {
	decode := func(b []byte) (*surface.Request, error) {
		req, err := decode(b)
		if err == nil {
			err = responses.Join(req, missing(req))
		}
		if err != nil {
			return nil, err
		}
		req.Own = nil // it has the items as they came
		return req, nil
	}
	surfacetest.SameInAllForms(t, "everywhere", []byte(everywhere), decode)
	for _, r := range recorded(t) {
		surfacetest.SameInAllForms(t, r.Name, r.Body, decode)
	}
}

func TestOwnsItsMemory(t *testing.T) {
	surfacetest.OwnsItsMemory(t, []byte(everywhere), joined)
	for _, r := range recorded(t) {
		surfacetest.OwnsItsMemory(t, r.Body, decode)
	}
}

func FuzzDecode(f *testing.F) {
	for _, r := range refusals {
		if len(r.in) < 4096 {
			f.Add([]byte(r.in))
		}
	}
	f.Add([]byte(everywhere))
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := responses.Surface{}.Decode(body, http.Header{})
		again, err2 := responses.Surface{}.Decode(body, http.Header{})
		if !reflect.DeepEqual(req, again) || fmt.Sprint(err) != fmt.Sprint(err2) {
			t.Fatalf("%q: two results", body)
		}
		if err == nil {
			surfacetest.OwnsItsMemory(t, body, decode)
			if err = responses.Join(req, nil); err == nil {
				if len(req.Messages) == 0 && !responses.OwnOf(req).NoGenerate || req.Model == "" {
					t.Fatalf("%q: accepted without model or messages", body)
				}
				for range 2 {
					responses.Shorten(req, len(body)/2)
				}
				for i := range req.Messages {
					validTexts(t, body, req.Messages[i].Parts)
				}
				for _, it := range responses.OwnOf(req).Input {
					if !json.Valid(it.JSON) && json.Valid(body) {
						t.Fatalf("%q: an item is %q", body, it.JSON)
					}
				}
				return
			}
		}
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind != fault.Invalid && f.Kind != fault.Unsupported || f.Public == "" || !utf8.ValidString(f.Public) {
			t.Fatalf("%q: %v", body, err)
		}
	})
}

// validTexts wants UTF-8 of everything that parts say.
func validTexts(t *testing.T, body []byte, parts []conv.Part) {
	t.Helper()
	for _, p := range parts {
		said := []string{p.Text, p.Seal}
		if c := p.Call; c != nil {
			said = append(said, c.ID, c.Namespace, c.Name, c.Arguments)
		}
		if m := p.Media; m != nil {
			said = append(said, m.Type, m.MIME, m.URL, m.Data)
		}
		if r := p.Result; r != nil {
			said = append(said, r.CallID)
			validTexts(t, body, r.Parts)
		}
		for _, s := range said {
			if !utf8.ValidString(s) {
				t.Fatalf("%q: %q", body, s)
			}
		}
	}
}
