package gateway_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// families are models of the simulated engine that write in other ways than "sim".
const families = "[[models]]\nid = \"qwen2.5\"\nengines = [\"sim\"]\nfamily = \"qwen2.5\"\ntools = \"hermes\"\n" +
	"[[models]]\nid = \"qwen3.5\"\nengines = [\"sim\"]\nfamily = \"qwen3.5\"\nreasoning = \"qwen3\"\ntools = \"qwen3_coder\"\npolicy = \"qwen3.5\"\n" +
	"[[models]]\nid = \"coder\"\nengines = [\"sim\"]\nfamily = \"qwen3_coder\"\ntools = \"qwen3_coder\"\n"

// TestRoundTrip has the simulated engine write turns in each family's own format, cut into its tokens with
// its special tokens named, and wants them back as they were meant.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	w := start(t, options{more: families})
	arguments := []string{
		`{}`, `{"a": 1}`, `{"a":-12345678901234567890}`, `{"t":""}`, `{"t": "plain", "a": 0}`, `{"t":"two\nlines\n"}`, `{"t":"\n\nframed\n\n"}`,
		`{"t":"quotes \" and \\ and \u00e9 é 😀"}`, `{"t":"{\"not\": [an, object}"}`, `{"t":"a </tool_call> b <tool_call> c"}`, `{"t":"a </parameter> b"}`, `{"t":"x </parameter>\n<parameter> </function> y"}`,
		`{"t":"<think>no</think>"}`, `{"t":"true"}`, `{"t":"7"}`, `{"t":"null"}`, `{"t":"` + strings.Repeat("long ", 400) + `"}`, "{\"t\":\"tab\\tand nul\\u0000\"}",
	}
	for _, model := range []string{"sim", "qwen2.5", "qwen3.5", "coder"} {
		t.Run(model, func(t *testing.T) {
			onEach(t, func(t *testing.T, s surface) {
				w := *w
				w.tb = t
				for _, args := range arguments {
					text := "say Well: <b> & </b>.\ncall f " + args + "\ncall f " + args
					a := w.ask(s, s.body(model, text, s.tools("f"), streamed, thinks))
					calls := a.calls()
					if len(calls) != 2 || a.Finish != s.calls || a.of("text") != "Well: <b> & </b>." {
						t.Errorf("%s: %s, %s", args, plain(a.Blocks), a.Finish)
						continue
					}
					for _, c := range calls {
						if !equalJSON(t, c.Text, args) {
							t.Errorf("got %s, want %s", c.Text, args)
						}
					}
				}
			})
		})
	}
}

// equalJSON compares values; numbers by their digits.
func equalJSON(tb testing.TB, a, b string) bool {
	tb.Helper()
	var v [2]any
	for i, s := range []string{a, b} {
		d := json.NewDecoder(strings.NewReader(s))
		d.UseNumber()
		if err := d.Decode(&v[i]); err != nil {
			tb.Errorf("%s: %v", s, err)
			return false
		}
	}
	return reflect.DeepEqual(v[0], v[1])
}

// TestTexts has texts come back byte for byte.
func TestTexts(t *testing.T) {
	t.Parallel()
	w := start(t, options{more: families})
	for _, model := range []string{"sim", "qwen2.5", "qwen3.5", "coder"} {
		onEach(t, func(t *testing.T, s surface) {
			w := *w
			w.tb = t
			for _, text := range []string{
				"x", "two\nlines", "ends with space ", "ends with lines\n\n", "\r\n", "é😀\u2028\u2029\u0000\u001f", "`<think>` and `</think>` and `<tool_call>`", "a < b <t <tool", "{\"json\": true}", strings.Repeat("words ", 500),
			} {
				a := w.ask(s, s.body(model, "sayjson "+quote(text), s.tools("f"), streamed))
				if got := a.of("text"); got != text || a.Finish != s.stop {
					t.Errorf("%s: got %.80q, %s, want %.80q", model, got, a.Finish, text)
				}
			}
		})
	}
}

// TestManyAtOnce has many clients over both surfaces and sockets, each of which must get its own answer.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	w := start(t, options{more: families})
	var wg sync.WaitGroup
	for i := range 32 {
		s := chat()
		if i%2 == 0 {
			s = messages()
		}
		model := []string{"sim", "qwen3.5", "coder"}[i%3]
		wg.Go(func() {
			text := fmt.Sprintf("say client %d\ncall f {\"a\": %d}", i, i)
			check := func(a answer) {
				if calls := a.calls(); a.of("text") != fmt.Sprintf("client %d", i) || len(calls) != 1 || !strings.Contains(calls[0].Text, strconv.Itoa(i)) || a.Finish != s.calls {
					t.Errorf("client %d: %s", i, plain(a.Blocks))
				}
			}
			k := w.dial(s.path)
			for n := range 5 {
				check(s.read(t, w.frames(s.path, s.body(model, text, s.tools("f"), streamed, thinks))))
				_, b := w.post(s.path, s.body(model, text, s.tools("f"), thinks))
				check(s.whole(t, b))
				id := strconv.Itoa(n)
				k.request(id, s.body(model, text, s.tools("f"), thinks))
				check(s.read(t, k.turn(id)))
			}
		})
	}
	wg.Wait()
}

// TestOneEngineModel has entries of two families that give the simulated engine the same name: each still
// gets its own family's format.
func TestOneEngineModel(t *testing.T) {
	t.Parallel()
	w := start(t, options{more: "[[models]]\nid = \"json\"\nengines = [\"sim\"]\nengine_model = \"x\"\nfamily = \"qwen2.5\"\ntools = \"hermes\"\n" +
		"[[models]]\nid = \"xml\"\nengines = [\"sim\"]\nengine_model = \"x\"\nfamily = \"qwen3_coder\"\ntools = \"qwen3_coder\"\n"})
	s := chat()
	for range 8 {
		for _, model := range []string{"json", "xml"} {
			if a := w.ask(s, s.body(model, "call f {\"a\": 1}", s.tools("f"), streamed)); len(a.calls()) != 1 {
				t.Fatalf("%s: %s", model, plain(a.Blocks))
			}
		}
	}
}
