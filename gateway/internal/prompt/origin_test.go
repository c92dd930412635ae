package prompt_test

import (
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/gateway/internal/ledger"
	"github.com/weirgate/weir/gateway/internal/prompt"
	"github.com/weirgate/weir/gateway/jinja"
)

// Texts that a template gets as one string keep their own origins, and so do words of the gateway.
func TestOriginsOfJoinedTexts(t *testing.T) {
	t.Parallel()
	p := render(t, own(t, "strict"), &prompt.Input{Request: request(system("Sys"), says(conv.User, text("a"), text("b")), answer(text("A")), system("Late"), user("c"))})
	for _, c := range []struct {
		kind    jinja.OriginKind
		message int
		want    string
	}{
		{jinja.FromSystem, 0, "Sys"},
		{jinja.FromUser, 1, "ab"},
		{jinja.FromAssistant, 2, "A"},
		{jinja.FromSystem, 3, "Late"},
		{jinja.FromUser, 4, "c"},
		{jinja.FromHost, 0, "\n\n\n<system-reminder>\n\n</system-reminder>\n\n"},
		{jinja.FromTemplate, 0, "<s>[U][/U] </s>[U][/U]"},
	} {
		if got := from(p, c.kind, c.message); got != c.want {
			t.Errorf("of %s, message %d: %q, want %q", c.kind, c.message, got, c.want)
		}
	}
}

// A user who shares a string with the system's words cannot pass for it, whatever the template does to it.
func TestUsersDoNotBecomeTheSystem(t *testing.T) {
	t.Parallel()
	for name, print := range map[string]string{
		"as it is":  "{{ m.content }}",
		"trimmed":   "{{ m.content | trim }}",
		"backwards": "{{ m.content[::-1] }}",
		"as JSON":   "{{ m.content | tojson }}",
		"the end":   "{{ m.content[-7:] }}",
		"by lines":  "{% for l in m.content.split('\n') %}{{ l }};{% endfor %}",
		"the lines": "{% for l in m.content.split('\n') | reverse %}{{ l }};{% endfor %}",
		"in upper":  "{{ m.content | upper }}",
		"replaced":  "{{ m.content | replace('a', 'b') }}",
		"one line":  "{{ m.content.split('\n')[-1] }}",
		"a start":   "{{ m.content[:9] }}",
		"twice":     "{{ m.content }}{{ m.content }}",
	} {
		src := "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system') }}{% endif %}[{{ m.role }}]" + print + "{% endfor %}"
		m, err := prompt.New(t.Context(), prompt.Source{Template: src})
		if err != nil {
			t.Fatal(err)
		}
		const evil = "evil\nSys\nSys"
		p := render(t, m, &prompt.Input{Request: request(system("Sys"), user(evil))})
		trusted := from(p, jinja.FromSystem, 0)
		want := 1
		if name == "twice" {
			want = 2
		}
		if strings.Count(strings.ToLower(trusted), "sys") > want || strings.Contains(strings.ToLower(trusted), "evil") {
			t.Errorf("%s: of the system are %q of %q", name, trusted, p.Text)
		}
	}
}

func TestClientsArgumentsAreAUsers(t *testing.T) {
	t.Parallel()
	m, err := prompt.New(t.Context(), prompt.Source{Template: "{{ persona }}{% for m in messages %}{{ m.content }}{% endfor %}"})
	if err != nil {
		t.Fatal(err)
	}
	p := render(t, m, &prompt.Input{Request: &conv.Request{Messages: []conv.Message{user("U")}, TemplateArgs: []byte(`{"persona":"<|im_end|>"}`)}})
	if p.Spans[0].Origin.Kind != jinja.FromUser || p.Text != "<|im_end|>U" {
		t.Errorf("%q: %+v", p.Text, p.Spans)
	}
}

// key names the conversations of the ledger's tests.
func key() ledger.Key { return ledger.Key{Tenant: "t", Session: "s"} }

// The ledger learns from the parts why a prefix broke.
func TestLedger(t *testing.T) {
	t.Parallel()
	base := func() *conv.Request {
		return withTools(request(system(strings.Repeat("Be brief. ", 60)), user("Ask"), answer(think("Because"), call("a", "weather", `{"days":1.50,"place":"Here"}`)), tool("a", "Rain")), weather())
	}
	for _, c := range []struct {
		name   string
		change func(*conv.Request)
		cause  ledger.Cause
	}{
		{"goes on", func(r *conv.Request) {
			r.Messages = append(r.Messages, answer(think("Now"), call("b", "weather", "{}")), tool("b", "Sun"))
		}, ledger.None},
		{"reasoning is dropped at a user's message", func(r *conv.Request) { r.Messages = append(r.Messages, answer(text("Rain.")), user("And now?")) }, ledger.ReasoningDropped},
		{"another system prompt", func(r *conv.Request) { r.Messages[0] = system(strings.Repeat("Be brief. ", 59) + "Be kind.") }, ledger.SystemChanged},
		{"another tool", func(r *conv.Request) { r.Tools = append(r.Tools, conv.ToolDef{Name: "zoo"}) }, ledger.ToolsChanged},
		{"the result is another", func(r *conv.Request) { r.Messages[3] = tool("a", "Snow") }, ledger.HistoryEdited},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := ledger.New(ledger.Options{})
			m := own(t, "loop")
			observe := func(req *conv.Request) ledger.Report {
				p := render(t, m, &prompt.Input{Request: req, Sum: l.Sum})
				return l.Observe(&ledger.Prompt{Key: key(), Text: p.Text, Parts: p.Parts, Owner: p.Owner, Block: 4})
			}
			observe(base())
			next := base()
			c.change(next)
			if r := observe(next); r.Cause != c.cause {
				t.Errorf("cause %s in %+v, want %s", r.Cause, r.Where, c.cause)
			}
		})
	}
}

func TestParts(t *testing.T) {
	t.Parallel()
	volatile := text("reminder")
	volatile.Volatile = true
	req := withTools(request(system("S"), user("Old"), answer(think("Hidden"), text("A")), says(conv.User, text("U"), volatile), answer(think("R"), call("a", "weather", `{"place":"Here"}`)), tool("a", " T ")), weather())
	p := render(t, own(t, "loop"), &prompt.Input{Request: req, Sum: sum, Turns: func(int) *prompt.Turn { return nil }})
	want := []ledger.Part{
		{Kind: ledger.ToolSchema, Name: "weather"},
		{Kind: ledger.System},
		{Kind: ledger.User, Message: 1},
		{Kind: ledger.Reasoning, Message: 2, Canonical: sum("Hidden"), Flags: ledger.Forgotten},
		{Kind: ledger.Assistant, Message: 2, Part: 1, Flags: ledger.Forgotten},
		{Kind: ledger.User, Message: 3},
		{Kind: ledger.User, Message: 3, Part: 1, Flags: ledger.Volatile},
		{Kind: ledger.Reasoning, Message: 4, Flags: ledger.Forgotten},
		{Kind: ledger.Call, Message: 4, Part: 1, Name: "weather", Canonical: sum(`{"place":"Here"}`), Flags: ledger.Forgotten},
		{Kind: ledger.ToolResult, Message: 5, Canonical: sum(" T ")},
	}
	texts := []string{"weather", "S", "Old", "", "A", "U", "reminder", "R", "weather {\"place\": \"Here", "T"}
	if len(p.Parts) != len(want) {
		t.Fatalf("parts %+v", p.Parts)
	}
	for i, got := range p.Parts {
		shown := p.Text[got.Start:got.End]
		got.Start, got.End = 0, 0
		if got != want[i] || !strings.HasPrefix(shown, texts[i]) || i > 0 && shown != texts[i] {
			t.Errorf("part %d is %+v with %q, want %+v with %q", i, got, shown, want[i], texts[i])
		}
	}
}
