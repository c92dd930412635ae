package prompt_test

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/gateway/internal/prompt"
)

// Arguments that were decoded before are what they were, in every template and at every place.
func TestArgumentsComeBack(t *testing.T) {
	t.Parallel()
	m := own(t, "loop")
	turn := func(args string) *conv.Request {
		return withTools(request(user("U"), answer(call("a", "weather", args)), tool("a", "T"), answer(think("R"), call("b", "weather", args)), tool("b", "T")), weather())
	}
	for _, args := range []string{
		`{}`, `{"a": "b"}`, ` {"a": {"b": [1, 1.50, null, "é\n"], "a": "\ud83d\ude00"}, "a2": ""} `, `{"a": 1, "a": 2}`, `{"a": "` + strings.Repeat("x", 100_000) + `"}`,
		`{"a": "` + strings.Repeat("x", 1<<20) + `"}`, // too large to be kept
	} {
		want := render(t, own(t, "loop"), &prompt.Input{Request: turn(args), Sum: sum})
		for i := range 4 {
			if got := render(t, m, &prompt.Input{Request: turn(args), Sum: sum}); !reflect.DeepEqual(got, want) {
				t.Errorf("time %d, %.80s: another prompt: %.200q %+v, want %.200q %+v", i, args, got.Text, got.Spans, want.Text, want.Spans)
			}
		}
	}
	for _, args := range []string{"", "null", "[1]", `"text"`, "{", `{"a"}`} {
		first := render(t, m, &prompt.Input{Request: turn(args), Sum: sum})
		if again := render(t, m, &prompt.Input{Request: turn(args), Sum: sum}); !reflect.DeepEqual(again, first) {
			t.Errorf("%s: %q the second time, %q the first", args, again.Text, first.Text)
		}
	}
}

// What is kept of arguments is bounded, and what is used stays.
func TestArgumentsAreBounded(t *testing.T) {
	t.Parallel()
	m := own(t, "loop")
	often := `{"often": "` + strings.Repeat("o", 1000) + `"}`
	for i := range 3000 {
		p := []conv.Part{call("a", "weather", often)}
		for k := range 8 {
			p = append(p, call(strconv.Itoa(k), "weather", fmt.Sprintf(`{"n": %d, "text": "%s"}`, i/2*8+k, strings.Repeat("x", 2000))))
		}
		render(t, m, &prompt.Input{Request: withTools(request(user("U"), answer(p...)), weather())})
	}
	entries, bytes := prompt.CachedArgs(m)
	if entries < 100 || bytes > 2*prompt.MaxArgs {
		t.Errorf("%d entries of %d bytes are kept, at most %d", entries, bytes, 2*prompt.MaxArgs)
	}
	if !prompt.KeepsArgs(m, often) {
		t.Error("arguments that come each time are not kept")
	}
}

// Texts that a template gets as one are told apart by where their bytes came from, whatever it does to them.
func TestJoinedTextsKeepTheirOrigins(t *testing.T) {
	t.Parallel()
	m, err := prompt.New(t.Context(), prompt.Source{Template: "{% for m in messages %}[{{ m.content | upper | replace('B', 'bb') }}]{% for c in m.content %}{{ c }}{% endfor %}{% endfor %}"})
	if err != nil {
		t.Fatal(err)
	}
	p := render(t, m, &prompt.Input{Request: request(says(conv.User, text("a\xff"), text("b"), text("a"))), Sum: sum})
	got := ""
	for _, s := range p.Spans {
		got += fmt.Sprintf("%s%d%q ", s.Origin.Kind, s.Origin.Part, p.Text[s.Start:s.End])
	}
	const want = `template0"[" user0"A` + "\ufffd" + `" host0"\n" template0"bb" host0"\n" user2"A" template0"]" user0"a` + "\ufffd" + `" host0"\n" user1"b" host0"\n" user2"a" `
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
