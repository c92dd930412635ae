package gateway_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// answered is the answer to a request on responses, as one body.
func (w *world) answered(body string) response {
	w.tb.Helper()
	resp, b := w.post("/v1/responses", body)
	if resp.StatusCode != http.StatusOK {
		w.tb.Fatalf("%s: %s", resp.Status, b)
	}
	return parseResponse(w.tb, b)
}

// listed are the types of an answer's input items in order, all pages of two.
func (w *world) listed(id string) string {
	w.tb.Helper()
	var kinds []string
	for after := ""; ; {
		resp, b := w.do(w.request(http.MethodGet, "/v1/responses/"+id+"/input_items?order=asc&limit=2&after="+after, ""))
		var page struct {
			Data    []struct{ ID, Type, Role string }
			LastID  *string `json:"last_id"`
			HasMore bool    `json:"has_more"`
		}
		if err := json.Unmarshal(b, &page); err != nil || resp.StatusCode != http.StatusOK {
			w.tb.Fatalf("%s: %s", resp.Status, b)
		}
		for _, it := range page.Data {
			kinds = append(kinds, strings.TrimPrefix(it.Type+" "+it.Role, "message "))
		}
		if !page.HasMore {
			return strings.Join(kinds, ", ")
		}
		after = *page.LastID
	}
}

// TestInputItems lists what answers were made from: what they went on from is part of that.
func TestInputItems(t *testing.T) {
	t.Parallel()
	w := defaultWorld(t)
	const tools = `"tools":[{"type":"function","name":"look","parameters":{"type":"object"}}]`
	first := w.answered(`{"model":"weir/sim",` + tools + `,"input":"call look {}"}`)
	call := first.Output[len(first.Output)-1].Call
	second := w.answered(`{"model":"weir/sim",` + tools + `,"previous_response_id":"` + first.ID + `","input":[{"type":"function_call_output","call_id":"` + call + `","output":"seen"}]}`)
	third := w.answered(`{"model":"weir/sim","previous_response_id":"` + second.ID + `","input":"say bye"}`)
	if got := w.listed(first.ID); got != "user" {
		t.Errorf("first: %s", got)
	}
	const want = "user, reasoning , function_call , function_call_output "
	if got := w.listed(second.ID); got != want {
		t.Errorf("second: %s", got)
	}
	// A parent that was deleted is no longer shown by itself; it stays part of what went on from it.
	resp, _ := w.do(w.request(http.MethodDelete, "/v1/responses/"+second.ID, ""))
	if got := w.listed(third.ID); got != want+", reasoning , assistant, user" || resp.StatusCode != http.StatusOK {
		t.Errorf("third: %s (%s)", got, resp.Status)
	}
}

// TestStoredOnSocket stores an answer that goes on from one of the same socket that is stored nowhere: it can be gone on
// with when the socket is no more.
func TestStoredOnSocket(t *testing.T) {
	t.Parallel()
	w := defaultWorld(t)
	s := w.dial("/v1/responses")
	on := func(body string) response {
		s.request(`"x"`, body)
		frames := s.turn(`"x"`)
		last := frames[len(frames)-2] // before the done of the tests' own
		var e struct{ Response json.RawMessage }
		if err := json.Unmarshal(last.Data, &e); err != nil || e.Response == nil {
			t.Fatalf("it ends with %s", last.Data)
		}
		return parseResponse(t, e.Response)
	}
	first := on(`{"model":"weir/sim","store":false,"input":"say one"}`)
	second := on(`{"model":"weir/sim","previous_response_id":"` + first.ID + `","input":"say two"}`)
	third := on(`{"model":"weir/sim","previous_response_id":"` + second.ID + `","input":"say three"}`)
	s.conn.Close()
	want := "user, reasoning , assistant, user"
	if got := w.listed(second.ID); got != want {
		t.Errorf("second: %s", got)
	}
	if got := w.listed(third.ID); got != want+", reasoning , assistant, user" {
		t.Errorf("third: %s", got)
	}
	for _, id := range []string{second.ID, third.ID} {
		next := w.answered(`{"model":"weir/sim","previous_response_id":"` + id + `","input":"say on"}`)
		if next.Output[len(next.Output)-1].text(t) != "on" {
			t.Errorf("got %+v", next.Output)
		}
	}
	resp, b := w.post("/v1/responses", `{"model":"weir/sim","previous_response_id":"`+first.ID+`","input":"say on"}`)
	if resp.StatusCode != http.StatusBadRequest {
		t.Errorf("what was not stored: %s: %s", resp.Status, b)
	}
}

// TestResponsesAtOnce has a client that begins its next turn as soon as it was told of the end of one.
func TestResponsesAtOnce(t *testing.T) {
	t.Parallel()
	w := defaultWorld(t)
	s := w.dial("/v1/responses")
	for i := range 60 {
		s.request(`"x"`, `{"model":"weir/sim","store":false,`+[]string{`"input":"say a"}`, `"generate":false,"input":"say a"}`, `"input":[{"type":"nonsense","role":1}]}`}[i%3])
		frames := s.turn(`"x"`)
		last := frames[len(frames)-2]
		if failed := i%3 == 2; (last.Event == "error") != failed || last.Status == http.StatusConflict {
			t.Fatalf("turn %d ends with %s", i, last.Data)
		}
	}
}
