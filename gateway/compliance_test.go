package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/weirgate/weir/engines/enginetest"
)

// openNames takes the event names of the Open Responses specification.
const openNames = "[responses]\nreasoning_names = \"open\"\n"

// create posts a request to responses, and wants an answer that is complete.
func (w *world) create(members ...string) response {
	w.tb.Helper()
	return w.created(responses().path, members...)
}

func (w *world) created(path string, members ...string) response {
	w.tb.Helper()
	resp, b := w.post(path, object(append([]string{`"model":"sim"`}, members...)...))
	if resp.StatusCode != http.StatusOK {
		w.tb.Fatalf("%s: %s", resp.Status, b)
	}
	return complete(w.tb, b)
}

// complete wants the resource of an answer that ended well.
func complete(tb testing.TB, raw []byte) response {
	tb.Helper()
	r := parseResponse(tb, raw)
	if r.Status != "completed" || r.Error != nil || r.Incomplete != nil || r.Usage == nil {
		tb.Errorf("not completed: %s", raw)
	}
	return r
}

// says joins the texts of an answer's messages.
func (r *response) says(tb testing.TB) string {
	tb.Helper()
	var out string
	for i := range r.Output {
		if r.Output[i].Type == "message" {
			out += r.Output[i].text(tb)
		}
	}
	return out
}

// item is the one item of a type.
func (r *response) item(tb testing.TB, kind string) *responseItem {
	tb.Helper()
	i := slices.IndexFunc(r.Output, func(it responseItem) bool { return it.Type == kind })
	if i < 0 {
		tb.Fatalf("there is no %s: %+v", kind, r.Output)
	}
	return &r.Output[i]
}

// create runs a turn of a socket of responses, whose events must be well-formed, and returns its resource.
func (s *socket) create(members ...string) response {
	s.tb.Helper()
	s.request("1", object(append([]string{`"model":"sim"`}, members...)...))
	frames := s.turn("1")
	checkEvents(s.tb, frames)
	readResponses(s.tb, frames)
	return complete(s.tb, resourceOf(s.tb, frames))
}

// resourceOf is the resource in the last event of a turn.
func resourceOf(tb testing.TB, frames []frame) json.RawMessage {
	tb.Helper()
	frames = slices.DeleteFunc(slices.Clone(frames), func(f frame) bool { return f.Event == "done" })
	var e struct{ Response json.RawMessage }
	if err := json.Unmarshal(frames[len(frames)-1].Data, &e); err != nil || e.Response == nil {
		tb.Fatalf("the last event, %v: %s", err, frames[len(frames)-1].Data)
	}
	return e.Response
}

// fails runs a turn of a socket that must be refused with a code.
func (s *socket) fails(code string, members ...string) refusal {
	s.tb.Helper()
	s.request("1", object(append([]string{`"model":"sim"`}, members...)...))
	f, e := s.refused(responses())
	schema{"status": "int", "error.code": "string null", "error.message": "string", "error.param": "string null"}.check(s.tb, "an error", f.Data)
	if s.next(); e.Code != code || e.Status != http.StatusBadRequest {
		s.tb.Errorf("got %+v, want code %q", e, code)
	}
	return e
}

func previous(r response) string { return `"previous_response_id":` + quote(r.ID) }

func says(text string) string { return `"input":` + quote(text) }

const (
	unstored = `"store":false`
	lookTool = `"tools":[{"type":"function","name":"look","description":"Looks at a place.","parameters":{"type":"object","properties":{"place":{"type":"string"}},"required":["place"]}}]`
)

// result is an input that answers a call.
func result(call, text string) string {
	return `"input":[` + object(`"type":"function_call_output"`, `"call_id":`+quote(call), `"output":`+quote(text)) + `]`
}

// TestOpenResponses has a row for each rule that the compliance tests of Open Responses ask for. As they do, it breaks none
// of them while all run at once.
func TestOpenResponses(t *testing.T) {
	t.Parallel()
	w := start(t, options{more: openNames})
	t.Cleanup(w.http.CloseIdleConnections)
	for _, c := range []struct {
		name string
		rule func(w *world)
	}{
		{"basic", func(w *world) {
			r := w.create(`"input":[{"type":"message","role":"user","content":"say three short words"}]`)
			if got := r.says(w.tb); got != "three short words" || !r.Store || r.Previous != nil || r.Model != "sim" {
				w.tb.Errorf("said %q: %+v", got, r)
			}
		}},
		{"phases are taken and come back", phasesRule},
		{"streamed", func(w *world) {
			frames := w.frames(responses().path, responses().body("sim", "say one two three", streamed))
			checkEvents(w.tb, frames)
			if a := readResponses(w.tb, frames); a.of("text") != "one two three" || a.of("reasoning") == "" {
				w.tb.Errorf("got %+v", a)
			}
			for _, f := range frames {
				if strings.Contains(f.Event, "reasoning_text") {
					w.tb.Errorf("the specification has no %s", f.Event)
				}
			}
			complete(w.tb, resourceOf(w.tb, frames))
		}},
		{"a system message", func(w *world) {
			w.create(`"input":[{"type":"message","role":"system","content":"Speak as a captain does."},{"type":"message","role":"user","content":"Greet me."}]`)
			w.create(`"input":[{"role":"developer","content":[{"type":"input_text","text":"Be brief."}]},{"role":"user","content":"Greet me."}]`, `"instructions":"Speak as a captain does."`)
		}},
		{"a call", func(w *world) {
			r := w.create(says("call look {\"place\": \"Oslo\"}"), lookTool)
			if c := r.item(w.tb, "function_call"); c.Name != "look" || c.text(w.tb) != `{"place": "Oslo"}` || c.Call == "" || c.Status != "completed" {
				w.tb.Errorf("got %+v", c)
			}
		}},
		{"a call, streamed", streamedCallRule},
		{"a call and its result", callRule},
		{"many turns in one input", func(w *world) {
			r := w.create(`"input":[{"type":"message","role":"user","content":"I am Ada."},{"type":"message","role":"assistant","content":"Good day, Ada."},{"type":"message","role":"user","content":"say Ada"}]`)
			if r.says(w.tb) != "Ada" {
				w.tb.Errorf("got %+v", r.Output)
			}
		}},
		{"previous_response_id", func(w *world) {
			first := w.create(says("say noted"))
			next := w.create(says("say again"), previous(first))
			if next.Previous == nil || *next.Previous != first.ID || next.Usage.Input <= first.Usage.Input {
				w.tb.Errorf("after %+v: %+v", first, next)
			}
		}},
		{"compact", compactRule},
		{"compact without a model", func(w *world) {
			resp, b := w.post(responses().path+"/compact", `{"input":[{"type":"message","role":"user","content":"Make it short."}]}`)
			if e := responsesRefusal(w.tb, resp.StatusCode, b); e.Status != http.StatusBadRequest || e.Param != "model" {
				w.tb.Errorf("got %+v", e)
			}
		}},
		{"socket", func(w *world) {
			if r := w.dial(responses().path).create(`"input":[{"type":"message","role":"user","content":"say one two"}]`); r.says(w.tb) != "one two" || !r.Store {
				w.tb.Errorf("got %+v", r)
			}
		}},
		{"socket, one after the other", func(w *world) {
			k := w.dial(responses().path)
			for _, text := range []string{"first", "second"} {
				if r := k.create(says("say "+text), unstored); r.says(w.tb) != text || r.Store {
					w.tb.Errorf("got %+v", r)
				}
			}
		}},
		{"socket, goes on", func(w *world) {
			k := w.dial(responses().path)
			first := k.create(says("say noted"), unstored)
			if next := k.create(says("say again"), previous(first), unstored); next.Previous == nil || *next.Previous != first.ID || next.Usage.Input <= first.Usage.Input {
				w.tb.Errorf("after %+v: %+v", first, next)
			}
		}},
		{"socket, opened again", func(w *world) {
			old := w.dial(responses().path)
			first := old.create(says("say noted"), unstored)
			old.conn.Close()
			k := w.dial(responses().path)
			k.fails("previous_response_not_found", says("say again"), previous(first), unstored)
			if r := k.create(says("say anew"), unstored); r.says(w.tb) != "anew" {
				w.tb.Errorf("got %+v", r)
			}
		}},
		{"socket, unknown id", func(w *world) {
			w.dial(responses().path).fails("previous_response_not_found", says("say no"), `"previous_response_id":"resp_of_nobody"`, unstored)
		}},
		{"socket, a turn that fails is not gone on from", func(w *world) {
			k := w.dial(responses().path)
			first := k.create(says("say noted"), unstored)
			if e := k.fails("", result("call_of_nobody", "done"), previous(first), unstored); !strings.HasPrefix(e.Param, "input") {
				w.tb.Errorf("got %+v", e)
			}
			k.fails("previous_response_not_found", says("say again"), previous(first), unstored)
		}},
		{"socket, a compaction begins anew", func(w *world) {
			items := w.compacted()
			if r := w.dial(responses().path).create(`"input":[`+items+`,{"type":"message","role":"user","content":"say short"}]`, `"tools":[]`, unstored); r.says(w.tb) != "short" || r.Previous != nil {
				w.tb.Errorf("got %+v", r)
			}
		}},
		{"socket, generate false", func(w *world) {
			k := w.dial(responses().path)
			warm := k.create(says("say warm"), `"generate":false`, unstored)
			if len(warm.Output) != 0 || warm.Usage.Total != 0 {
				w.tb.Errorf("got %+v", warm)
			}
			next := k.create(says("say hot"), previous(warm), unstored)
			if alone := k.create(says("say hot"), unstored); next.says(w.tb) != "hot" || next.Usage.Input <= alone.Usage.Input {
				w.tb.Errorf("got %+v, alone %+v", next, alone)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := *w
			w.tb = t
			c.rule(&w)
		})
	}
}

func phasesRule(w *world) {
	w.tb.Helper()
	r := w.create(`"input":[{"type":"message","role":"assistant","phase":"commentary","content":"I look it up."},` +
		`{"type":"message","role":"assistant","phase":"final_answer","content":"It is four."},{"type":"message","role":"user","content":"say four"}]`)
	if r.says(w.tb) != "four" {
		w.tb.Errorf("got %+v", r.Output)
	}
	resp, b := w.do(w.request(http.MethodGet, responses().path+"/"+r.ID+"/input_items?order=asc", ""))
	var list struct{ Data []struct{ Phase string } }
	if err := json.Unmarshal(b, &list); err != nil || resp.StatusCode != http.StatusOK || len(list.Data) != 3 {
		w.tb.Fatalf("%s, %v: %s", resp.Status, err, b)
	}
	if list.Data[0].Phase != "commentary" || list.Data[1].Phase != "final_answer" || list.Data[2].Phase != "" {
		w.tb.Errorf("got %s", b)
	}
}

func streamedCallRule(w *world) {
	w.tb.Helper()
	frames := w.frames(responses().path, responses().body("sim", "call look {\"place\": \"Oslo\"}", lookTool, streamed))
	checkEvents(w.tb, frames)
	a := readResponses(w.tb, frames)
	if calls := a.calls(); len(calls) != 1 || calls[0].Name != "look" || calls[0].Text != `{"place": "Oslo"}` {
		w.tb.Errorf("got %+v", a)
	}
	for _, name := range []string{"response.function_call_arguments.delta", "response.function_call_arguments.done"} {
		if !slices.ContainsFunc(frames, func(f frame) bool { return f.Event == name }) {
			w.tb.Errorf("there is no %s", name)
		}
	}
	r := complete(w.tb, resourceOf(w.tb, frames))
	r.item(w.tb, "function_call")
}

func callRule(w *world) {
	w.tb.Helper()
	r := w.create(says("Look at Oslo."), lookTool, `"tool_choice":{"type":"function","name":"look"}`)
	call := r.item(w.tb, "function_call")
	if call.Name != "look" {
		w.tb.Errorf("got %+v", call)
	}
	next := w.create(result(call.Call, "rain"), previous(r))
	if !strings.Contains(next.says(w.tb), "rain") {
		w.tb.Errorf("got %+v", next)
	}
	// The same without anything being kept here.
	w.create(`"input":[{"role":"user","content":"Look at Oslo."},`+
		object(`"type":"function_call"`, `"call_id":`+quote(call.Call), `"name":"look"`, `"arguments":`+quote(call.text(w.tb)))+`,`+
		object(`"type":"function_call_output"`, `"call_id":`+quote(call.Call), `"output":"rain"`)+`]`, lookTool, unstored)
}

// compacted is the output of a compaction, as items of an input.
func (w *world) compacted() string {
	w.tb.Helper()
	resp, b := w.post(responses().path+"/compact", `{"model":"sim","prompt_cache_key":"k","input":[{"type":"message","role":"user","content":"We start on Monday."},`+
		`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"On Monday, then."}]}]}`)
	var v struct {
		ID, Object string
		Output     []json.RawMessage
	}
	if err := json.Unmarshal(b, &v); err != nil || resp.StatusCode != http.StatusOK || v.Object != "response.compaction" || v.ID == "" || len(v.Output) == 0 {
		w.tb.Fatalf("%s, %v: %s", resp.Status, err, b)
	}
	compactionSchema.check(w.tb, "a compaction", b)
	last := v.Output[len(v.Output)-1]
	if field(w.tb, last, "type") != "compaction" || field(w.tb, last, "encrypted_content") == "" {
		w.tb.Errorf("got %s", b)
	}
	var items []string
	for _, it := range v.Output {
		items = append(items, string(it))
	}
	itemSchemas["compaction"].check(w.tb, "a compaction", last)
	return strings.Join(items, ",")
}

func compactRule(w *world) {
	w.tb.Helper()
	r := w.create(`"input":[` + w.compacted() + `,{"role":"user","content":"say on"}]`)
	if r.says(w.tb) != "on" {
		w.tb.Errorf("got %+v", r.Output)
	}
}

// TestResponseMedia sends an image and a file: an engine that renders itself gets them, a template of text has no place for them.
func TestResponseMedia(t *testing.T) {
	t.Parallel()
	w := start(t, options{})
	w.configure(options{more: fmt.Sprintf("[engines.chat]\nkind = \"openai\"\nurl = %q\nmode = \"chat\"\n[[models]]\nid = \"chat\"\nengines = [\"chat\"]\n", w.engine)})
	if err := w.gw.Reload(); err != nil {
		t.Fatal(err)
	}
	w.double.Play(enginetest.Script{Chunks: enginetest.Say("A dot.")})
	for _, part := range []string{
		`{"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgo="}`,
		`{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERi0xLjE="}`,
	} {
		input := `"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"What is it?"},` + part + `]}]`
		w.double.Requests()
		resp, b := w.post(responses().path, object(`"model":"chat"`, input))
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", resp.Status, b)
			continue
		}
		if r := complete(t, b); r.says(t) != "A dot." {
			t.Errorf("got %+v", r)
		}
		_, data, _ := strings.Cut(strings.Trim(part, `"}`), "base64,")
		if got := w.double.Requests(); len(got) != 1 || !strings.Contains(string(got[0].Body), data) {
			t.Errorf("the engine got %d requests without %s", len(got), data)
		}
		resp, b = w.post(responses().path, object(`"model":"sim"`, input))
		if e := responsesRefusal(t, resp.StatusCode, b); resp.StatusCode != http.StatusBadRequest || e.Code != "unsupported" {
			t.Errorf("%s: %+v", resp.Status, e)
		}
	}
}
