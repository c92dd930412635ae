package gateway_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func body(tb testing.TB, resp *http.Response) []byte {
	tb.Helper()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// clients are the ways in which conversations come back.
func clients() []client {
	c, m, r := chat(), messages(), responses()
	return []client{
		{name: "chat", surface: c},
		{name: "chat, whole, arguments printed anew", surface: c, whole: true, prints: true},
		{name: "chat without reasoning", surface: c, drops: true},
		{name: "messages", surface: m},
		{name: "messages, whole, own ids", surface: m, whole: true, renames: true},
		{name: "messages without thinking", surface: m, drops: true},
		{name: "responses", surface: r},
		{name: "responses, going on", surface: r, goesOn: true},
	}
}

// agent is a conversation of ten turns: a tool loop, calls side by side whose results come in another order, plain
// answers, several rounds in one turn, and a loop that goes on.
func (d *dialog) agent() {
	d.user("Look, please.\ncall look {\"place\":\"Köln\", \"days\": 2}")
	d.turn()
	d.results(false)
	d.turn()
	d.user("say I look twice.\ncall look {\"place\": \"<b>\"}\ncall find {\"word\":\"a & b\",\"most\":1}")
	d.turn()
	d.results(true)
	d.turn()
	d.user("say Plain, as  it is.")
	d.turn()
	d.user("rounds")
	d.turn()
	d.results(false, "one", "two", "then 1")
	d.turn()
	d.results(false, "then 2")
	d.turn()
	d.results(true)
	d.turn()
	d.user("say Good bye.")
	d.turn()
}

// talk is a conversation of ten turns without tools.
func (d *dialog) talk() {
	for i := range 10 {
		d.user(fmt.Sprintf("say Word %d, as  it is.", i))
		d.turn()
	}
}

// Letters of a verdict.
var letters = map[string]string{
	"none": ".", "first": "F", "side_query": "Q", "reasoning_dropped": "R", "reasoning_mutated": "M", "role_fold": "O",
	"template_reserialises": "S", "turn_unknown": "U", "history_edited": "E", "truncated": "X", "template": "T",
}

var prefixHeader = regexp.MustCompile(`^reused=(\d+); (?:broke_at=(\d+); )?cause=([a-z_]+)$`)

// verdict is what the ledger says of a step: the cause's letter, and who dropped reasoning.
func (d *dialog) verdict(st *step) (reused int, cause, letter string) {
	d.tb.Helper()
	m := prefixHeader.FindStringSubmatch(st.prefix)
	if m == nil {
		d.tb.Fatalf("%s: the header is %q", d.name(), st.prefix)
	}
	if _, err := fmt.Sscan(m[1], &reused); err != nil {
		d.tb.Fatal(err)
	}
	cause, letter = m[3], letters[m[3]]
	if cause == "reasoning_dropped" {
		switch owner := d.owner(st.id); owner {
		case "template":
		case "policy":
			letter = "P"
		case "client":
			letter = "C"
		default:
			d.tb.Errorf("%s: reasoning was dropped by %q", d.name(), owner)
		}
	}
	if letter == "" {
		d.tb.Errorf("%s: cause %s", d.name(), cause)
	}
	return reused, cause, letter
}

// owner is who dropped the reasoning of a turn, as the log has it.
func (d *dialog) owner(id string) string {
	for line := range strings.Lines(d.w.log.String()) {
		if strings.Contains(line, "prompt prefix") && strings.Contains(line, id) {
			_, rest, _ := strings.Cut(line, "prefix_owner=")
			name, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
			return name
		}
	}
	return ""
}

// check holds the dialog to what must hold of its prompts.
func (d *dialog) check(remembers bool) {
	d.tb.Helper()
	for i := 1; i < len(d.steps); i++ {
		before, st := &d.steps[i-1], &d.steps[i]
		inText, inIDs := st.follows(before)
		switch {
		case inIDs && !inText:
			d.tb.Errorf("%s: turn %d: the same tokens and another text", d.name(), i)
		case remembers && !inText && d.shows(st, i), remembers && !inIDs && inText && d.exact:
			d.tb.Errorf("%s: turn %d: all that the model wrote is there, and the prefix is not\n%s", d.name(), i, apart(before, st))
		}
		if d.client.surface.name != "chat" && !d.client.drops && strings.HasPrefix(before.spoken(), "rounds") {
			d.ordered(before, st)
		}
	}
}

// ordered wants the blocks of the turn before, as far as they are shown, in the order in which they were said.
func (d *dialog) ordered(before, st *step) {
	d.tb.Helper()
	if !d.shows(st, len(d.steps)) {
		return
	}
	at := len(before.prompt) - 64 // an opener of reasoning may stand there otherwise
	for i, b := range before.answer.Blocks {
		want := strings.TrimSpace(b.Text)
		if b.Kind == "call" {
			want = b.Name
		}
		k := strings.Index(st.prompt[min(at, len(st.prompt)):], want)
		if k < 0 {
			d.tb.Errorf("%s: block %d is not behind the one before\n%s", d.name(), i, apart(before, st))
			return
		}
		at += k + len(want)
	}
}

// spoken is the last message that the engine saw.
func (h *heard) spoken() string { return words(h.request.Conversation) }

// judged holds the ledger to what it must say of the dialog, and returns that, a letter a turn.
func (d *dialog) judged(remembers bool) (verdicts string, wrong []string) {
	d.tb.Helper()
	not := func(format string, args ...any) { wrong = append(wrong, d.name()+": "+fmt.Sprintf(format, args...)) }
	allowed := "RPC" // reasoning is left out
	if !remembers {
		allowed += "SUOT" // the template prints it otherwise
		if d.client.prints {
			allowed += "EQ"
		}
		// Several stretches of reasoning come back as one; and a template that keeps what its family drops has
		// them in the order of the rounds only as long as the family does.
		allowed += "M"
	}
	for i := range d.steps {
		st := &d.steps[i]
		reused, cause, letter := d.verdict(st)
		verdicts += letter
		if i == 0 {
			if cause != "first" {
				not("turn 0: %s", st.prefix)
			}
			continue
		}
		shared := 0
		for k := range i {
			shared = max(shared, sharedIDs(d.steps[k].all(), st.ids))
		}
		if want := min(shared, len(st.ids)-1) / 64 * 64; reused != want {
			not("turn %d: it counts on %d tokens, %d are shared", i, reused, shared)
		}
		inText, inIDs := st.follows(&d.steps[i-1])
		switch {
		case inIDs && cause != "none", inText && cause != "none" && cause != "turn_unknown":
			not("turn %d: nothing broke, but %s", i, st.prefix)
		case !inText && len(d.steps[i-1].said) == 0 && cause == "none": // it knows nothing of the answer
		case !inText && !strings.Contains(allowed, letter):
			not("turn %d: %s\n%s", i, st.prefix, apart(&d.steps[i-1], st))
		case cause == "reasoning_dropped" && d.shows(st, i):
			not("turn %d: all reasoning is in the prompt, but %s", i, st.prefix)
		}
	}
	return verdicts, wrong
}

// follows reports whether a prompt begins with the one before and its answer, in text and in tokens, as far as the
// engine told those of its answer.
func (s *step) follows(before *step) (inText, inIDs bool) {
	inText = strings.HasPrefix(s.prompt, before.prompt+string(before.out))
	if len(before.said) == 0 {
		return inText, inText
	}
	return inText, sharedIDs(before.all(), s.ids) == len(before.all())
}

// shows reports that all reasoning of the turns before is in a prompt.
func (d *dialog) shows(st *step, turns int) bool {
	for _, s := range d.steps[:turns] {
		for _, b := range s.answer.Blocks {
			if b.Kind == "reasoning" && !strings.Contains(st.prompt, strings.TrimSpace(b.Text)) {
				return false
			}
		}
	}
	return true
}

// all is a prompt with the answer to it.
func (s *step) all() []uint32 { return slices.Concat(s.ids, s.said) }

func sharedIDs(a, b []uint32) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// apart shows where a prompt leaves what it should begin with.
func apart(before, st *step) string {
	want, got := before.prompt+string(before.out), st.prompt
	n := 0
	for n < len(got) && n < len(want) && got[n] == want[n] {
		n++
	}
	from := max(0, n-60)
	return fmt.Sprintf("expected …%q\n     got …%q", want[from:min(len(want), n+160)], got[from:min(len(got), n+160)])
}

// TestConversations has clients of all kinds talk with a model of each real chat template whose formats can be
// read. With the turns remembered each prompt must begin with the tokens of the one before and of its answer,
// unless the template leaves out reasoning; without, with their text, unless the template prints it in another
// way. The ledger must say so. What it says of each turn stands in a file.
func TestConversations(t *testing.T) {
	t.Parallel()
	vocabulary(t, "qwen3") // without it there is nothing to converse in
	var tried []chatTemplate
	for _, c := range chatTemplates(t) {
		if c.name == "iklcpp__MiroThinker" { // it assigns to messages, which no template may
			continue
		}
		if c.reasoning != "" || c.tools != "" {
			tried = append(tried, c)
		}
	}
	if raceDetector { // races are between turns, not in templates
		for i := range tried[:len(tried)/12] {
			tried[i] = tried[12*i]
		}
		tried = tried[:len(tried)/12]
	}
	const groups = 6
	found := make([]findings, groups)
	t.Run("prompts", func(t *testing.T) {
		for i := range groups {
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				t.Parallel()
				var some []chatTemplate
				for k := i; k < len(tried); k += groups {
					some = append(some, tried[k])
				}
				found[i].lines = map[string]string{}
				converse(t, some, "64MiB", &found[i])
				converse(t, some, "0B", &found[i])
			})
		}
	})
	t.Run("ledger", func(t *testing.T) {
		if raceDetector {
			t.Skip("SKIPPED: the file holds all templates")
		}
		lines := map[string]string{}
		for _, f := range found {
			maps.Copy(lines, f.lines)
			for _, w := range f.wrong {
				t.Error(w)
			}
		}
		golden(t, "testdata/conversations.golden", lines)
	})
}

// findings are what the ledger said: its verdicts by model, and where they are not right.
type findings struct {
	lines map[string]string
	wrong []string
}

// golden compares lines by name with those of a file.
func golden(t *testing.T, path string, lines map[string]string) {
	t.Helper()
	var out bytes.Buffer
	names := make([]string, 0, len(lines))
	for name := range lines {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&out, "%s%s\n", name, lines[name])
	}
	if *update {
		if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	wanted := map[string]bool{}
	for line := range strings.Lines(string(want)) {
		wanted[line] = true
	}
	for line := range strings.Lines(out.String()) {
		if !wanted[line] {
			t.Errorf("%s has not the line\n%s", path, line)
		}
		delete(wanted, line)
	}
	for line := range wanted {
		t.Errorf("%s has the line\n%s", path, line)
	}
}

// converse has all conversations with the models of some templates, in one gateway.
func converse(t *testing.T, some []chatTemplate, memory string, found *findings) {
	t.Helper()
	remembers := memory != "0B"
	more := fmt.Sprintf("[memory]\nturns = %q\n", memory)
	for i := range some {
		more += fmt.Sprintf("[[models]]\nid = %q\nengines = [\"sim\"]\ndir = %q\n", some[i].name, folder(t, &some[i]))
	}
	w := start(t, options{more: more})
	tp := w.tapped(act)
	for i := range some {
		c := &some[i]
		line := fmt.Sprintf(" %s/%s/%s", dash(c.family), dash(c.reasoning), dash(c.tools))
		for _, cl := range clients() {
			d := &dialog{tb: t, w: w, tap: tp, client: cl, model: c.name, session: c.name + cl.name + memory, exact: vocabulary(t, c.vocabulary).Concatenates(), system: "Be of help. " + cl.name}
			if c.tools != "" {
				d.tools = lookAndFind(cl.surface)
				d.agent()
			} else {
				d.talk()
			}
			d.check(remembers)
			verdicts, wrong := d.judged(remembers)
			line += " " + verdicts
			found.wrong = append(found.wrong, wrong...)
		}
		name := c.name
		if !remembers {
			name += " (nothing remembered)"
		}
		found.lines[name] = line
	}
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
