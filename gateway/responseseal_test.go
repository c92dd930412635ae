package gateway_test

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirgate/weir/engines/enginetest"
)

// sealKeys makes a file with a key of seals, and returns the lines that name it.
func sealKeys(t *testing.T, more string) string {
	t.Helper()
	var key [32]byte
	_, _ = rand.Read(key[:]) // it does not fail
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte(hex.EncodeToString(key[:])), 0o600); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("[seal]\nkeys = [%q]\n%s\n", "file:"+path, more)
}

const (
	// sealedThought has what a client could lose or change: spaces, letters beyond ASCII, JSON's own marks.
	sealedThought = "First  two spaces,\tthen \"quotes\" \\ and é, 漢字, 👩‍🚀;\n\n  an indented line, {\"a\": 1}."
	sealing       = `"include":["reasoning.encrypted_content"]`
)

// thinks has the scripted model think and call, and returns the reasoning item with its seal and the call.
func (w *world) thinks(header []string, members ...string) (reasoning, call responseItem) {
	w.tb.Helper()
	w.double.Play(enginetest.Script{Chunks: enginetest.Say("<think>\n", sealedThought, "\n</think>\n\n", callF)})
	resp, b := w.post(responses().path, object(append([]string{`"model":"double"`, says("go"), responses().tools("f"), unstored}, members...)...), header...)
	if resp.StatusCode != http.StatusOK {
		w.tb.Fatalf("%s: %s", resp.Status, b)
	}
	r := complete(w.tb, b)
	w.double.Requests()
	w.double.Play(enginetest.Script{Chunks: enginetest.Say("Done.")})
	return *r.item(w.tb, "reasoning"), *r.item(w.tb, "function_call")
}

// goesOn sends a reasoning item, which the client may have changed, with the call and its result, and returns the answer.
func (w *world) goesOn(header []string, reasoning string, call responseItem) (status int, body []byte) {
	w.tb.Helper()
	input := []string{
		`{"role":"user","content":"go"}`, reasoning,
		object(`"type":"function_call"`, `"call_id":`+quote(call.Call), `"name":"f"`, `"arguments":`+quote(call.text(w.tb))),
		object(`"type":"function_call_output"`, `"call_id":`+quote(call.Call), `"output":"fine"`),
	}
	resp, b := w.post(responses().path, object(`"model":"double"`, `"input":[`+strings.Join(input, ",")+`]`, responses().tools("f"), unstored), header...)
	return resp.StatusCode, b
}

// reasoningItem is a reasoning item as a client sends it; without text its content is left out.
func reasoningItem(seal string, text ...string) string {
	members := []string{`"type":"reasoning"`, `"id":"rs_1"`, `"summary":[]`, `"encrypted_content":` + quote(seal)}
	for _, s := range text {
		members = append(members, `"content":[{"type":"reasoning_text","text":`+quote(s)+`}]`)
	}
	return object(members...)
}

// TestResponseSeals sends sealed reasoning back, to another gateway with the same key: what is sealed counts, byte for byte,
// whatever is visible beside it. A seal that does not open leaves what is visible.
func TestResponseSeals(t *testing.T) {
	t.Parallel()
	keys := sealKeys(t, "")
	tenants, h := keyed("", "")
	made := start(t, options{more: keys, tenants: tenants})
	w := start(t, options{more: keys, tenants: tenants})
	strict := start(t, options{more: keys + "strict = true\n", tenants: tenants})
	other := start(t, options{more: sealKeys(t, ""), tenants: tenants})
	r, call := made.thinks(h[0], sealing)
	if r.Sealed == "" || strings.Contains(r.Sealed, "spaces") || r.text(t) != sealedThought {
		t.Fatalf("got %+v", r)
	}
	if plain, _ := made.thinks(h[0], `"store":true`); plain.Sealed != "" {
		t.Errorf("sealed unasked: %+v", plain)
	}
	whole := "<think>\n" + sealedThought + "\n</think>"
	last := len(r.Sealed) - 10
	broken := r.Sealed[:last] + string(r.Sealed[last]^1) + r.Sealed[last+1:]
	for _, c := range []struct {
		name, item string
		tenant     int
		w          *world
		has, not   string // of the prompt
		refused    bool
	}{
		{name: "as it came", item: reasoningItem(r.Sealed, sealedThought), w: w, has: whole},
		{name: "content left out", item: reasoningItem(r.Sealed), w: w, has: whole},
		{name: "content null", item: strings.Replace(reasoningItem(r.Sealed), "{", `{"content":null,`, 1), w: w, has: whole},
		{name: "content changed", item: reasoningItem(r.Sealed, "something else"), w: w, has: whole, not: "something else"},
		{name: "the one that made it", item: reasoningItem(r.Sealed, "something else"), w: made, has: whole, not: "something else"},
		{name: "strict", item: reasoningItem(r.Sealed, "something else"), w: strict, has: whole, not: "something else"},

		{name: "another tenant", item: reasoningItem(r.Sealed, "seen"), tenant: 1, w: w, has: "<think>\nseen\n</think>", not: "spaces"},
		{name: "another tenant, nothing seen", item: reasoningItem(r.Sealed), tenant: 1, w: w, has: `"name": "f"`, not: "spaces"},
		{name: "another tenant, strict", item: reasoningItem(r.Sealed, "seen"), tenant: 1, w: strict, refused: true},
		{name: "another key", item: reasoningItem(r.Sealed, "seen"), w: other, has: "<think>\nseen\n</think>", not: "spaces"},
		{name: "broken", item: reasoningItem(broken, "seen"), w: w, has: "<think>\nseen\n</think>", not: "spaces"},
		{name: "broken, strict", item: reasoningItem(broken, "seen"), w: strict, refused: true},
		{name: "cut, strict", item: reasoningItem(r.Sealed[:len(r.Sealed)/2], "seen"), w: strict, refused: true},
		{name: "foreign", item: reasoningItem("gAAAAABo-of-another-vendor", "seen"), w: w, has: "<think>\nseen\n</think>"},
		{name: "foreign, strict", item: reasoningItem("gAAAAABo-of-another-vendor", "seen"), w: strict, has: "<think>\nseen\n</think>"},
		{name: "no seal", item: reasoningItem("", "seen"), w: strict, has: "<think>\nseen\n</think>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := *c.w
			w.tb = t
			w.double.Requests()
			w.double.Play(enginetest.Script{Chunks: enginetest.Say("Done.")})
			status, b := w.goesOn(h[c.tenant], c.item, call)
			if c.refused {
				if e := responsesRefusal(t, status, b); status != http.StatusBadRequest || !strings.Contains(e.Param, "encrypted_content") {
					t.Errorf("%d %+v", status, e)
				}
				return
			}
			if status != http.StatusOK {
				t.Fatalf("%d %s", status, b)
			}
			if p := w.prompt(); !strings.Contains(p, c.has) || c.not != "" && strings.Contains(p, c.not) {
				t.Errorf("the prompt has not %q, or has %q:\n%s", c.has, c.not, p)
			}
		})
	}
}

// TestResponseCompaction has compactions in the next prompt as what they sum up, for their tenant alone.
func TestResponseCompaction(t *testing.T) {
	t.Parallel()
	keys := sealKeys(t, "")
	tenants, h := keyed("", "")
	made, w := start(t, options{more: keys, tenants: tenants}), start(t, options{more: keys, tenants: tenants})
	const summary = "They keep  bees, \"four\" hives; é 漢字."
	const input = `"input":[{"role":"user","content":"We keep bees."},{"role":"assistant","content":"How many?"},{"role":"user","content":"Four hives."}`
	for _, c := range []struct {
		name string
		item func(t *testing.T) (item, id string)
	}{
		{"compact", func(t *testing.T) (string, string) {
			t.Helper()
			resp, b := made.post(responses().path+"/compact", object(`"model":"double"`, input+`]`), h[0]...)
			var v struct{ Output []json.RawMessage }
			if err := json.Unmarshal(b, &v); err != nil || resp.StatusCode != http.StatusOK || len(v.Output) != 3 {
				t.Fatalf("%s, %v: %s", resp.Status, err, b)
			}
			return string(v.Output[2]), "" // behind what the user said
		}},
		{"a trigger", func(t *testing.T) (string, string) {
			t.Helper()
			frames := made.frames(responses().path, object(`"model":"double"`, input+`,{"type":"compaction_trigger"}]`, streamed), h[0]...)
			checkEvents(t, frames)
			readResponses(t, frames)
			raw := resourceOf(t, frames)
			var v struct {
				ID     string
				Output []json.RawMessage
			}
			if err := json.Unmarshal(raw, &v); err != nil || len(v.Output) != 1 {
				t.Fatalf("%v: %s", err, raw)
			}
			return string(v.Output[0]), v.ID
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			made, w := *made, *w
			made.tb, w.tb = t, t
			made.double.Requests()
			made.double.Play(enginetest.Script{Chunks: enginetest.Say("<think>\nhm\n</think>\n\n", summary, "\n")})
			item, id := c.item(t)
			itemSchemas["compaction"].check(t, "a compaction", []byte(item))
			if p := made.prompt(); !strings.Contains(p, "Four hives.") || strings.Contains(item, "bees") {
				t.Errorf("asked with %s, got %s", p, item)
			}
			w.double.Requests()
			ask := object(`"model":"double"`, `"input":[`+item+`,{"role":"user","content":"What do they keep?"}]`)
			resp, b := w.post(responses().path, ask, h[0]...)
			if resp.StatusCode != http.StatusOK {
				t.Fatalf("%s: %s", resp.Status, b)
			}
			if p := w.prompt(); !strings.Contains(p, summary) || strings.Contains(p, "Four hives.") || !strings.Contains(p, "What do they keep?") {
				t.Errorf("the prompt: %s", p)
			}
			resp, b = w.post(responses().path, ask, h[1]...)
			if e := responsesRefusal(t, resp.StatusCode, b); resp.StatusCode != http.StatusBadRequest || !strings.Contains(e.Param, "encrypted_content") {
				t.Errorf("another tenant: %s %+v", resp.Status, e)
			}
			if id == "" {
				return
			}
			made.double.Requests()
			resp, b = made.post(responses().path, object(`"model":"double"`, says("What do they keep?"), `"previous_response_id":`+quote(id)), h[0]...)
			if p := made.prompt(); resp.StatusCode != http.StatusOK || !strings.Contains(p, summary) || strings.Contains(p, "Four hives.") {
				t.Errorf("from what is kept: %s %s\n%s", resp.Status, b, p)
			}
		})
	}
}
