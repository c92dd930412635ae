package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirgate/weir/engines/enginetest"
	"github.com/weirgate/weir/gateway/internal/tenant"
)

// keyed are tenants, each with lines of its own, and the headers with their keys.
func keyed(lines ...string) (tables string, headers [][]string) {
	for i, more := range lines {
		key, hash := tenant.NewKey()
		tables += fmt.Sprintf("[[tenants]]\nname = \"t%d\"\nkeys = [%q]\n%s\n", i, hash, more)
		headers = append(headers, []string{"Authorization", "Bearer " + key})
	}
	return tables, headers
}

// kept asks for what is kept of an answer.
func (w *world) kept(method, path string, header ...string) (status int, body []byte) {
	w.tb.Helper()
	resp, b := w.do(w.request(method, responses().path+"/"+path, "", header...))
	return resp.StatusCode, b
}

// asked posts a request to responses and returns its answer.
func (w *world) asked(header []string, members ...string) (status int, body []byte) {
	w.tb.Helper()
	resp, b := w.post(responses().path, object(append([]string{`"model":"sim"`}, members...)...), header...)
	return resp.StatusCode, b
}

// lost wants a refusal that makes clients send the conversation in full.
func lost(t *testing.T, what string, status int, body []byte) {
	t.Helper()
	if e := responsesRefusal(t, status, body); status != http.StatusBadRequest || e.Code != "previous_response_not_found" {
		t.Errorf("%s: %d %+v", what, status, e)
	}
}

// TestResponseOwners has two tenants: what is kept of one does not exist for the other.
func TestResponseOwners(t *testing.T) {
	t.Parallel()
	tenants, h := keyed("", "")
	w := start(t, options{tenants: tenants})
	resp, b := w.post(responses().path, object(`"model":"sim"`, says("say mine")), h[0]...)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", resp.Status, b)
	}
	r := parseResponse(t, b)
	item := r.item(t, "message").ID
	for _, path := range []string{r.ID, r.ID + "/input_items"} {
		if status, b := w.kept(http.MethodGet, path, h[0]...); status != http.StatusOK {
			t.Errorf("the owner's %s: %d %s", path, status, b)
		}
		if status, b := w.kept(http.MethodGet, path, h[1]...); status != http.StatusNotFound || strings.Contains(string(b), "mine") {
			t.Errorf("another's %s: %d %s", path, status, b)
		}
	}
	if status, _ := w.kept(http.MethodPost, r.ID+"/cancel", h[1]...); status != http.StatusNotFound {
		t.Errorf("another cancels: %d", status)
	}
	if status, _ := w.kept(http.MethodDelete, r.ID, h[1]...); status != http.StatusNotFound {
		t.Errorf("another deletes: %d", status)
	}
	if status, _ := w.kept(http.MethodGet, r.ID, "Authorization", "Bearer nobody"); status != http.StatusUnauthorized {
		t.Errorf("nobody gets: %d", status)
	}
	for _, more := range []string{previous(r), `"input":[{"type":"item_reference","id":` + quote(item) + `},{"role":"user","content":"say more"}]`} {
		members := []string{more}
		if !strings.Contains(more, "input") {
			members = append(members, says("say more"))
		}
		status, b := w.asked(h[1], members...)
		lost(t, "another with "+more, status, b)
		if status, b := w.asked(h[0], members...); status != http.StatusOK {
			t.Errorf("the owner with %s: %d %s", more, status, b)
		}
	}
	k := w.dial(responses().path, h[1]...)
	k.fails("previous_response_not_found", says("say more"), previous(r))
	if status, again := w.kept(http.MethodGet, r.ID, h[0]...); status != http.StatusOK || !sameJSON(t, again, b) {
		t.Errorf("after all that: %d %s", status, again)
	}
}

// sameJSON compares values.
func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	return printed(t, string(a)) == printed(t, string(b))
}

// TestResponseKept asks for answers that are kept: they are what the client was told, however it was told.
func TestResponseKept(t *testing.T) {
	t.Parallel()
	w := start(t, options{})
	const asks = "call f {\"a\": 1}"
	_, whole := w.asked(nil, says(asks), responses().tools("f"), `"metadata":{"a":"b"}`)
	stream := resourceOf(t, w.frames(responses().path, responses().body("sim", asks, responses().tools("f"), streamed)))
	k := w.dial(responses().path)
	k.request("1", responses().body("sim", asks, responses().tools("f")))
	onSocket := resourceOf(t, k.turn("1"))
	for what, told := range map[string][]byte{"whole": whole, "streamed": stream, "socket": onSocket} {
		r := complete(t, told)
		if status, b := w.kept(http.MethodGet, r.ID); status != http.StatusOK || !sameJSON(t, b, told) {
			t.Errorf("%s: %d\ngot  %s\nwant %s", what, status, b, told)
		}
		if status, _ := w.kept(http.MethodGet, r.ID+"?stream=true"); status != http.StatusBadRequest {
			t.Errorf("%s: streamed again: %d", what, status)
		}
		if status, b := w.kept(http.MethodPost, r.ID+"/cancel"); status != http.StatusBadRequest {
			t.Errorf("%s: cancelled when over: %d %s", what, status, b)
		}
	}
	quiet := w.create(says("say hi"), unstored)
	for _, path := range []string{quiet.ID, "resp_none", "resp_none/input_items"} {
		if status, _ := w.kept(http.MethodGet, path); status != http.StatusNotFound {
			t.Errorf("%s: %d", path, status)
		}
	}
	status, b := w.asked(nil, says("say more"), previous(quiet))
	lost(t, "one that was not kept", status, b)
}

// TestResponseDeleted deletes an answer in the middle of a conversation: it is gone, and what went on from it is not.
func TestResponseDeleted(t *testing.T) {
	t.Parallel()
	w := start(t, options{script: []enginetest.Script{{Chunks: enginetest.Say("Green.")}, {Chunks: enginetest.Say("Blue.")}, {Chunks: enginetest.Say("Red.")}}})
	next := func(members ...string) response {
		t.Helper()
		resp, b := w.post(responses().path, object(append([]string{`"model":"double"`}, members...)...))
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s", resp.Status, b)
		}
		return complete(t, b)
	}
	first := next(says("What is grass?"))
	second := next(says("What is the sky?"), previous(first))
	w.double.Requests()
	for _, r := range []response{first, second} {
		if status, b := w.kept(http.MethodDelete, r.ID); status != http.StatusOK || !sameJSON(t, b, []byte(`{"id":"`+r.ID+`","object":"response","deleted":true}`)) {
			t.Errorf("deleted: %d %s", status, b)
		}
		if r.ID == first.ID {
			next(says("What is rust?"), previous(second))
			if p := w.prompt(); !strings.Contains(p, "What is grass?") || !strings.Contains(p, "Green.") || !strings.Contains(p, "Blue.") {
				t.Errorf("the prompt: %s", p)
			}
		}
		if status, _ := w.kept(http.MethodGet, r.ID); status != http.StatusNotFound {
			t.Errorf("got it again: %d", status)
		}
		if status, _ := w.kept(http.MethodDelete, r.ID); status != http.StatusNotFound {
			t.Errorf("deleted again: %d", status)
		}
		status, b := w.asked(nil, says("say more"), previous(r))
		lost(t, "deleted", status, b)
	}
}

// TestResponseItems pages through the input of an answer.
func TestResponseItems(t *testing.T) {
	t.Parallel()
	w := start(t, options{})
	var input, ids []string
	for i := range 25 {
		input = append(input, fmt.Sprintf(`{"type":"message","id":"msg_%d","role":"user","content":"say %d"}`, i, i))
		ids = append(ids, fmt.Sprint("msg_", i))
	}
	r := w.create(`"input":[` + strings.Join(input, ",") + `]`)
	page := func(query string) (got []string, more bool) {
		t.Helper()
		status, b := w.kept(http.MethodGet, r.ID+"/input_items"+query)
		var l struct {
			Object string
			Data   []struct{ ID string }
			First  *string `json:"first_id"`
			Last   *string `json:"last_id"`
			More   bool    `json:"has_more"`
		}
		if err := json.Unmarshal(b, &l); err != nil || status != http.StatusOK || l.Object != "list" || l.Data == nil {
			t.Fatalf("%d, %v: %s", status, err, b)
		}
		for _, d := range l.Data {
			got = append(got, d.ID)
		}
		if len(got) > 0 && (l.First == nil || l.Last == nil || *l.First != got[0] || *l.Last != got[len(got)-1]) {
			t.Errorf("%s: from and to: %s", query, b)
		}
		return got, l.More
	}
	for _, order := range []string{"asc", "desc"} {
		var all []string
		for more, after := true, ""; more; {
			var got []string
			got, more = page("?limit=7&order=" + order + after)
			if len(got) == 0 || len(got) > 7 {
				t.Fatalf("a page of %d", len(got))
			}
			all, after = append(all, got...), "&after="+got[len(got)-1]
		}
		for i := range all {
			want := ids[i]
			if order == "desc" {
				want = ids[len(ids)-1-i]
			}
			if len(all) != len(ids) || all[i] != want {
				t.Fatalf("%s: got %v", order, all)
			}
		}
	}
	if got, more := page(""); len(got) != 20 || !more || got[0] != "msg_24" {
		t.Errorf("without a query: %v, more %v", got, more)
	}
	if got, more := page("?after=msg_none&limit=100"); len(got) != 0 || more {
		t.Errorf("after nothing: %v, more %v", got, more)
	}
	for _, query := range []string{"?limit=0", "?limit=101", "?limit=x", "?order=up"} {
		if status, b := w.kept(http.MethodGet, r.ID+"/input_items"+query); status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", query, status, b)
		}
	}
}

// TestResponseCancelled ends turns that run from another connection. Their client is told, and nothing is kept of them.
func TestResponseCancelled(t *testing.T) {
	t.Parallel()
	w := start(t, options{})
	s := responses()
	stall := enginetest.Script{Chunks: enginetest.Say("Hello", " never"), Fault: enginetest.FaultStall, At: 1}
	cancel := func(t *testing.T, id string) {
		t.Helper()
		status, b := w.kept(http.MethodPost, id+"/cancel")
		if r := parseResponse(t, b); status != http.StatusOK || r.Status != "cancelled" || r.ID != id {
			t.Errorf("%d %s", status, b)
		}
		if status, b := w.kept(http.MethodPost, id+"/cancel"); status != http.StatusNotFound {
			t.Errorf("again: %d %s", status, b)
		}
		if status, b := w.kept(http.MethodGet, id); status != http.StatusNotFound {
			t.Errorf("kept: %d %s", status, b)
		}
	}
	idOf := func(f frame) string {
		t.Helper()
		var e struct{ Response struct{ ID string } }
		if err := json.Unmarshal(f.Data, &e); err != nil || e.Response.ID == "" {
			t.Fatalf("%v: %s", err, f.Data)
		}
		return e.Response.ID
	}
	t.Run("streamed", func(t *testing.T) {
		w.double.Play(stall)
		st := w.open(s.path, s.body("double", "hello", streamed))
		frames := st.until("Hello")
		cancel(t, idOf(frames[0]))
		w.gone()
		if a := s.read(t, append(frames, st.rest()...)); a.Fault == nil || !strings.Contains(a.Fault.Message, "canceled") {
			t.Errorf("the client is told %+v", a.Fault)
		}
	})
	t.Run("socket", func(t *testing.T) {
		w.double.Play(stall)
		k := w.dial(s.path)
		k.request("1", s.body("double", "hello"))
		frames := []frame{k.next()}
		for !strings.Contains(string(frames[len(frames)-1].Data), "Hello") {
			frames = append(frames, k.next())
		}
		cancel(t, idOf(frames[0]))
		w.gone()
		if a := s.read(t, append(frames, k.turn("1")...)); a.Fault == nil || !strings.Contains(a.Fault.Message, "canceled") {
			t.Errorf("the client is told %+v", a.Fault)
		}
		if r := k.create(says("say after")); r.says(t) != "after" {
			t.Errorf("the next turn: %+v", r)
		}
	})
}

// TestResponseRestart has a database outlive its gateway.
func TestResponseRestart(t *testing.T) {
	t.Parallel()
	store := fmt.Sprintf("[store]\npath = %q\n", filepath.Join(t.TempDir(), "responses.db"))
	tenants, h := keyed("", "")
	opt := options{more: store, tenants: tenants}
	w := start(t, opt)
	resp, b := w.post(responses().path, object(`"model":"double"`, says("What is grass?")), h[0]...)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", resp.Status, b)
	}
	first := complete(t, b)
	_, gone := w.asked(h[0], says("say gone"))
	if status, _ := w.kept(http.MethodDelete, parseResponse(t, gone).ID, h[0]...); status != http.StatusOK {
		t.Errorf("deleted: %d", status)
	}
	w.http.CloseIdleConnections()
	w.gw.Close()

	w = start(t, opt)
	if status, again := w.kept(http.MethodGet, first.ID, h[0]...); status != http.StatusOK || !sameJSON(t, again, b) {
		t.Errorf("after a restart: %d %s", status, again)
	}
	if status, _ := w.kept(http.MethodGet, first.ID, h[1]...); status != http.StatusNotFound {
		t.Errorf("another's: %d", status)
	}
	if status, _ := w.kept(http.MethodGet, parseResponse(t, gone).ID, h[0]...); status != http.StatusNotFound {
		t.Errorf("what was deleted: %d", status)
	}
	resp, b = w.post(responses().path, object(`"model":"double"`, says("And the sky?"), previous(first)), h[0]...)
	if p := w.prompt(); resp.StatusCode != http.StatusOK || !strings.Contains(p, "What is grass?") || !strings.Contains(p, "And the sky?") {
		t.Errorf("%s: %s\n%s", resp.Status, b, p)
	}
}

// TestResponseNotStored has a tenant of which nothing is kept.
func TestResponseNotStored(t *testing.T) {
	t.Parallel()
	tenants, h := keyed("store = false")
	w := start(t, options{tenants: tenants})
	status, b := w.asked(h[0], says("say hi"), `"store":true`)
	r := complete(t, b)
	if status != http.StatusOK || r.Store {
		t.Errorf("%d, it says that it is stored: %s", status, b)
	}
	for method, path := range map[string]string{http.MethodGet: r.ID, http.MethodDelete: r.ID, http.MethodPost: r.ID + "/cancel", http.MethodHead: r.ID + "/input_items"} {
		if status, b := w.kept(method, path, h[0]...); status != http.StatusNotFound {
			t.Errorf("%s %s: %d %s", method, path, status, b)
		}
	}
	status, b = w.asked(h[0], says("say more"), previous(r))
	lost(t, "goes on", status, b)
	status, b = w.asked(h[0], `"input":[{"type":"item_reference","id":`+quote(r.Output[0].ID)+`},{"role":"user","content":"say more"}]`)
	lost(t, "refers", status, b)
	k := w.dial(responses().path, h[0]...) // a socket remembers its own
	first := k.create(says("say one"))
	if next := k.create(says("say two"), previous(first)); first.Store || next.says(t) != "two" {
		t.Errorf("got %+v", next)
	}
	k.fails("previous_response_not_found", says("say three"), previous(r))
}
