package ledger_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/gateway/internal/ledger"
)

var key = ledger.Key{Tenant: "t", Model: "m", Session: "s"}

// Messages of the conversations below.
var (
	ask      = says(conv.User, text("Is the north gate open? "+prose(2, 40)))
	acts     = says(conv.Assistant, think("I should look. "+prose(3, 40)), call("open", `{"gate": "north", "by": 1.50}`))
	seen     = result("open since noon " + prose(4, 60))
	answers  = says(conv.Assistant, think("It is open."), text("Yes, since noon."))
	goesOn   = says(conv.User, text("Then shut it."))
	reminded = says(conv.User, ask.Parts[0], text("<reminder>"+prose(5, 20)))
)

type expectation struct {
	cause  ledger.Cause
	kind   ledger.Kind
	change ledger.Change
	name   string
	owner  ledger.Owner
	gone   bool
}

type story struct {
	name   string
	turns  []*conv.Request
	styles []style // of the turns; the last one counts for those after it
	want   expectation
}

func frame() []story {
	two := talk(ask, acts, seen)
	again := func(name string, f func(*conv.Request), want expectation) story {
		return story{name: name, turns: []*conv.Request{two, but(two, f)}, want: want}
	}
	return []story{
		{name: "first", turns: []*conv.Request{two}, want: expectation{cause: ledger.First}},
		{name: "goes on", turns: []*conv.Request{talk(ask), two}},
		{name: "the same again", turns: []*conv.Request{two, two}},
		{name: "back to an earlier point", turns: []*conv.Request{two, talk(ask)}},
		again("header", func(r *conv.Request) { r.Messages[0].Parts[0].Text = header + "def\n" },
			expectation{cause: ledger.HeaderChanged, kind: ledger.Preamble}),
		again("header comes", func(r *conv.Request) {
			r.Messages[0].Parts = slices.Insert(r.Messages[0].Parts, 0, text(header+"new\n"))
		}, expectation{cause: ledger.HeaderChanged, kind: ledger.Preamble}),
		again("system", func(r *conv.Request) { r.Messages[0].Parts[1].Text += " Be quick." },
			expectation{cause: ledger.SystemChanged, kind: ledger.System}),
		again("system goes", func(r *conv.Request) { r.Messages[0].Parts = r.Messages[0].Parts[:1] },
			expectation{cause: ledger.SystemChanged, kind: ledger.System, gone: true}),
		again("system comes", func(r *conv.Request) { r.Messages[0].Parts = append(r.Messages[0].Parts, text("Be quick.")) },
			expectation{cause: ledger.SystemChanged, kind: ledger.System}),
		again("tool edited", func(r *conv.Request) { r.Tools[1].Schema = []byte("{}") },
			expectation{cause: ledger.ToolsChanged, kind: ledger.ToolSchema, change: ledger.Edited, name: "shut"}),
		again("tool added", func(r *conv.Request) { r.Tools = slices.Insert(r.Tools, 1, tool("lift", "{}")) },
			expectation{cause: ledger.ToolsChanged, kind: ledger.ToolSchema, change: ledger.Added, name: "lift"}),
		again("tool added at the end", func(r *conv.Request) { r.Tools = append(r.Tools, tool("lift", "{}")) },
			expectation{cause: ledger.ToolsChanged, kind: ledger.ToolSchema, change: ledger.Added, name: "lift"}),
		again("tool removed", func(r *conv.Request) { r.Tools = slices.Delete(r.Tools, 1, 2) },
			expectation{cause: ledger.ToolsChanged, kind: ledger.ToolSchema, change: ledger.Removed, name: "shut", gone: true}),
		again("last tool removed", func(r *conv.Request) { r.Tools = r.Tools[:2] },
			expectation{cause: ledger.ToolsChanged, kind: ledger.ToolSchema, change: ledger.Removed, name: "read", gone: true}),
		again("all tools removed", func(r *conv.Request) { r.Tools = nil },
			expectation{cause: ledger.ToolsChanged, kind: ledger.ToolSchema, change: ledger.Removed, name: "open", gone: true}),
		again("tools reordered", func(r *conv.Request) { r.Tools[0], r.Tools[1] = r.Tools[1], r.Tools[0] },
			expectation{cause: ledger.ToolsChanged, kind: ledger.ToolSchema, change: ledger.Reordered, name: "shut"}),
		{
			name: "template's date", turns: []*conv.Request{two, two}, styles: []style{{date: "Monday"}, {date: "Tuesday"}},
			want: expectation{cause: ledger.TemplateChanged},
		},
	}
}

func history() []story {
	two := talk(ask, acts, seen)
	three := talk(ask, acts, seen, answers, goesOn)
	keeps, drops := style{owner: ledger.OwnerPolicy}, style{owner: ledger.OwnerTemplate, dropped: true}
	return []story{
		{
			name: "template drops reasoning once the user speaks", turns: []*conv.Request{two, three}, styles: []style{drops},
			want: expectation{cause: ledger.ReasoningDropped, kind: ledger.Reasoning, owner: ledger.OwnerTemplate},
		},
		{
			name: "policy drops reasoning", turns: []*conv.Request{two, three}, styles: []style{keeps, {owner: ledger.OwnerPolicy, dropped: true}},
			want: expectation{cause: ledger.ReasoningDropped, kind: ledger.Reasoning, owner: ledger.OwnerPolicy},
		},
		{name: "reasoning kept", turns: []*conv.Request{two, three}, styles: []style{keeps}},
		{
			name: "client drops reasoning", turns: []*conv.Request{two, but(three, func(r *conv.Request) { r.Messages[2].Parts = r.Messages[2].Parts[1:] })},
			want: expectation{cause: ledger.ReasoningDropped, kind: ledger.Reasoning, owner: ledger.OwnerClient, gone: true},
		},
		{
			name: "reasoning opened by the prompt is dropped", turns: []*conv.Request{talk(ask), talk(ask, answers, goesOn)},
			styles: []style{{thinkTail: true, dropped: true, owner: ledger.OwnerTemplate}},
			want:   expectation{cause: ledger.ReasoningDropped, kind: ledger.Reasoning, owner: ledger.OwnerTemplate},
		},
		{name: "reasoning opened by the prompt is kept", turns: []*conv.Request{talk(ask), talk(ask, answers, goesOn)}, styles: []style{{thinkTail: true}}},
		{
			name: "prompt opened reasoning, and there was none", turns: []*conv.Request{talk(ask), talk(ask, says(conv.Assistant, text("Yes.")), goesOn)},
			styles: []style{{thinkTail: true}}, want: expectation{cause: ledger.TemplateChanged},
		},
		{
			name: "prompt opened reasoning of a turn that is forgotten", turns: []*conv.Request{talk(ask), talk(ask, says(conv.Assistant, text("Yes.")), goesOn)},
			styles: []style{{thinkTail: true}, {forgotten: true}}, want: expectation{cause: ledger.TurnUnknown, kind: ledger.Assistant},
		},
		{name: "thinking switched off", turns: []*conv.Request{two, two}, styles: []style{{thinkTail: true}, {}}, want: expectation{cause: ledger.TemplateChanged}},
		{name: "nobody answered", turns: []*conv.Request{talk(ask), talk(ask, goesOn)}},
		{
			name: "reasoning put in by the client", turns: []*conv.Request{but(two, func(r *conv.Request) { r.Messages[2].Parts = r.Messages[2].Parts[1:] }), three},
			want: expectation{cause: ledger.ReasoningMutated, kind: ledger.Reasoning, owner: ledger.OwnerClient},
		},
		{
			name: "nothing but reasoning, and the client drops it", turns: []*conv.Request{talk(ask, acts, seen, says(conv.Assistant, think("Hm."))), talk(ask, acts, seen, goesOn)},
			want: expectation{cause: ledger.ReasoningDropped, kind: ledger.Reasoning, owner: ledger.OwnerClient, gone: true},
		},
		{
			name: "another answer", turns: []*conv.Request{talk(ask, acts, seen, answers), talk(ask, acts, seen, says(conv.Assistant, text("No.")), goesOn)},
			want: expectation{cause: ledger.ReasoningDropped, kind: ledger.Reasoning, owner: ledger.OwnerClient, gone: true},
		},
		{
			name: "reasoning never replayed", turns: []*conv.Request{three, talk(ask, acts, seen, answers, goesOn, answers, goesOn)}, styles: []style{drops},
		},
		{
			name: "reasoning trimmed", turns: []*conv.Request{two, but(three, func(r *conv.Request) { r.Messages[2].Parts[0].Text = "I should look." })},
			want: expectation{cause: ledger.ReasoningMutated, kind: ledger.Reasoning, owner: ledger.OwnerClient},
		},
		{
			name: "reasoning comes back", turns: []*conv.Request{three, three}, styles: []style{drops, keeps},
			want: expectation{cause: ledger.ReasoningMutated, kind: ledger.Reasoning, owner: ledger.OwnerPolicy},
		},
		{
			name: "users folded", turns: []*conv.Request{talk(ask, goesOn, answers), talk(ask, goesOn, answers)}, styles: []style{{}, {merged: true}},
			want: expectation{cause: ledger.RoleFold, kind: ledger.User},
		},
		{
			name:  "users joined by the client",
			turns: []*conv.Request{talk(ask, goesOn, answers), talk(says(conv.User, ask.Parts[0], goesOn.Parts[0]), answers)},
			want:  expectation{cause: ledger.RoleFold, kind: ledger.User},
		},
		{
			name:  "system text said by the user",
			turns: []*conv.Request{talk(ask, says(conv.System, text("Be quick.")), answers), talk(ask, says(conv.User, text("Be quick.")), answers)},
			want:  expectation{cause: ledger.RoleFold, kind: ledger.User},
		},
		{
			name: "arguments printed again", turns: []*conv.Request{two, three}, styles: []style{{}, {respaced: true}},
			want: expectation{cause: ledger.TemplateReserialises, kind: ledger.Call, name: "open"},
		},
		{
			name: "turn forgotten", turns: []*conv.Request{two, three}, styles: []style{{}, {respaced: true, forgotten: true}},
			want: expectation{cause: ledger.TurnUnknown, kind: ledger.Call, name: "open"},
		},
		{
			name: "result edited", turns: []*conv.Request{two, but(three, func(r *conv.Request) { r.Messages[3] = result("cleared") })},
			want: expectation{cause: ledger.HistoryEdited, kind: ledger.ToolResult},
		},
		{
			name: "first message edited", turns: []*conv.Request{two, but(three, func(r *conv.Request) { r.Messages[1].Parts[0].Text = "Is it?" })},
			want: expectation{cause: ledger.HistoryEdited, kind: ledger.User},
		},
		{
			name: "text put in", turns: []*conv.Request{two, but(three, func(r *conv.Request) {
				r.Messages[1].Parts = slices.Insert(r.Messages[1].Parts, 0, text("It is noon."))
			})},
			want: expectation{cause: ledger.HistoryEdited, kind: ledger.User},
		},
		{
			name: "late system message edited",
			turns: []*conv.Request{
				talk(ask, says(conv.System, text("It is noon.")), answers), talk(ask, says(conv.System, text("It is one.")), answers, goesOn),
			},
			want: expectation{cause: ledger.HistoryEdited, kind: ledger.System},
		},
		{
			name: "front cut off", turns: []*conv.Request{three, talk(answers, goesOn, says(conv.Assistant, text("Done.")))},
			want: expectation{cause: ledger.Truncated, kind: ledger.User, gone: true},
		},
		{name: "reminder taken away", turns: []*conv.Request{talk(reminded), talk(ask, answers, reminded)}},
		{name: "reminder stays", turns: []*conv.Request{talk(reminded), talk(reminded, answers, goesOn)}},
		{
			name: "no parts", turns: []*conv.Request{two, but(three, func(r *conv.Request) { r.Messages[1].Parts[0].Text = "Is it?" })}, styles: []style{{unexplored: true}},
			want: expectation{cause: ledger.TemplateChanged},
		},
		{
			name: "no parts, another prompt", turns: []*conv.Request{{Messages: []conv.Message{says(conv.User, text("Hm."))}}, two}, styles: []style{{unexplored: true}},
			want: expectation{cause: ledger.SideQuery},
		},
		{name: "no parts, goes on", turns: []*conv.Request{two, three}, styles: []style{{unexplored: true}}},
	}
}

func side() []story {
	two := talk(ask, acts, seen)
	title := &conv.Request{Messages: []conv.Message{says(conv.System, text("Name the conversation.")), ask}}
	compact := talk(ask, acts, seen, says(conv.User, text("Summarise all of it.")))
	return []story{
		{name: "a title", turns: []*conv.Request{two, title}, want: expectation{cause: ledger.SideQuery}},
		{name: "after a title", turns: []*conv.Request{talk(ask), title, two}},
		{name: "a compaction", turns: []*conv.Request{two, compact}},
		{
			name:  "after a compaction",
			turns: []*conv.Request{two, compact, talk(says(conv.User, text("So far: the gate is open.")))},
			want:  expectation{cause: ledger.SideQuery},
		},
		{
			name: "a break after a title", turns: []*conv.Request{two, title, but(two, func(r *conv.Request) { r.Messages[0].Parts[0].Text = header + "def\n" })},
			want: expectation{cause: ledger.HeaderChanged, kind: ledger.Preamble},
		},
		{name: "a search with another tool", turns: []*conv.Request{two, but(title, func(r *conv.Request) {
			r.Tools = []conv.ToolDef{tool("search", "{}")}
			r.Messages[1] = says(conv.User, text("search for gates"))
		})}, want: expectation{cause: ledger.SideQuery}},
	}
}

func TestCauses(t *testing.T) {
	t.Parallel()
	for _, c := range slices.Concat(frame(), history(), side()) {
		for _, bytes := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/bytes=%v", c.name, bytes), func(t *testing.T) {
				t.Parallel()
				l := ledger.New(ledger.Options{})
				var r ledger.Report
				var p *ledger.Prompt
				for i, req := range c.turns {
					var st style
					if n := len(c.styles); n > 0 {
						st = c.styles[min(i, n-1)]
					}
					st.bytes = bytes
					p = render(t, l, key, req, st)
					r = l.Observe(p)
				}
				got := expectation{r.Cause, r.Where.Kind, r.Change, r.Where.Name, r.Owner, r.Where.Gone}
				if got != c.want {
					t.Errorf("got %+v, want %+v", got, c.want)
				}
				if r.Cause.Break() && (r.BrokeAt > r.Tokens || r.Lost <= 0) {
					t.Errorf("broke at %d of %d, lost %d", r.BrokeAt, r.Tokens, r.Lost)
				}
				if w := r.Where; r.Cause.Break() && !w.Gone && w.End > len(p.Text) {
					t.Errorf("%+v is not in the prompt", w)
				}
			})
		}
	}
}

// TestTenTurns goes through a conversation with calls, titles between the turns, and a reminder in the
// last message of each.
func TestTenTurns(t *testing.T) {
	t.Parallel()
	l := ledger.New(ledger.Options{})
	title := &conv.Request{Messages: []conv.Message{says(conv.System, text("Name the conversation.")), ask}}
	var past []conv.Message
	var before *ledger.Prompt
	for turn := range 10 {
		user := says(conv.User, text(prose(turn+20, 30)), text("<reminder>"+prose(turn, 10)))
		p := render(t, l, key, talk(append(slices.Clone(past), user)...), style{})
		r := l.Observe(p)
		want := ledger.None
		if turn == 0 {
			want = ledger.First
		} else if n := naive(before, p); r.Shared != n || !r.Exact || r.Expected != n/16*16 {
			t.Errorf("turn %d: shared %d, expected %d, want %d", turn, r.Shared, r.Expected, n)
		}
		if r.Cause != want || r.Lost != 0 {
			t.Errorf("turn %d: %v, lost %d, want %v", turn, r.Cause, r.Lost, want)
		}
		before = p
		if r := l.Observe(render(t, l, key, title, style{})); turn > 0 && r.Cause != ledger.None || turn == 0 && r.Cause != ledger.SideQuery {
			t.Errorf("title %d: %v", turn, r.Cause)
		}
		user.Parts = user.Parts[:1]
		past = append(past, user, says(conv.Assistant, think(prose(turn+40, 20)), call("open", `{"n": 1}`)), result(prose(turn+60, 50)),
			says(conv.Assistant, text(prose(turn+80, 20))))
	}
	s := l.Stats()
	if s.Prompts[ledger.None] != 18 || s.Prompts[ledger.First] != 1 || s.Prompts[ledger.SideQuery] != 1 || s.Keys != 1 {
		t.Errorf("stats %+v", s)
	}
}

func TestKeysAreApart(t *testing.T) {
	t.Parallel()
	l := ledger.New(ledger.Options{})
	for _, k := range []ledger.Key{
		key,
		{Tenant: "u", Model: "m", Session: "s"},
		{Tenant: "t", Model: "n", Session: "s"},
		{Tenant: "t", Model: "m", Session: "s2"},
		{Tenant: "t", Model: "m", Session: "s", Agent: "a"},
		{Tenant: "t", Model: "m"},
	} {
		if r := l.Observe(render(t, l, k, talk(ask), style{})); r.Cause != ledger.First || r.Shared != 0 {
			t.Errorf("%+v: %v, shared %d", k, r.Cause, r.Shared)
		}
	}
}

// TestRunsOfParts gives the parts as a renderer that knows the origin of each byte does.
func TestRunsOfParts(t *testing.T) {
	t.Parallel()
	l := ledger.New(ledger.Options{})
	whole := render(t, l, key, talk(ask, acts, seen), style{})
	runs := *whole
	runs.Parts = nil
	at := 0
	for _, p := range whole.Parts {
		mid := (p.Start + p.End) / 2
		head, hole, rest := p, ledger.Part{Start: mid, End: mid + 1}, p
		head.End, rest.Start = mid, mid+1
		runs.Parts = append(runs.Parts, ledger.Part{Start: at, End: p.Start}, head, hole, rest)
		at = p.End
	}
	l.Observe(whole)
	edited := render(t, l, key, but(talk(ask, acts, seen), func(r *conv.Request) { r.Tools[1].Schema = []byte("{}") }), style{})
	if r := l.Observe(&runs); r.Cause != ledger.None {
		t.Errorf("%v at %+v", r.Cause, r.Where)
	}
	if r := l.Observe(edited); r.Cause != ledger.ToolsChanged || r.Where.Name != "shut" {
		t.Errorf("%v at %+v", r.Cause, r.Where)
	}
}

// TestWithoutSession mixes conversations under one key.
func TestWithoutSession(t *testing.T) {
	t.Parallel()
	l := ledger.New(ledger.Options{Prompts: 2})
	key := ledger.Key{Tenant: "t", Model: "m"}
	const many = 20
	opening := func(i int) conv.Message { return says(conv.User, text(prose(i+500, 30))) }
	for i := range many {
		r := l.Observe(render(t, l, key, talk(opening(i)), style{}))
		if r.Cause != ledger.First || (i > 0) != (r.Shared > 0) {
			t.Errorf("conversation %d: %v, shared %d", i, r.Cause, r.Shared)
		}
	}
	for i := range many {
		if r := l.Observe(render(t, l, key, talk(opening(i), answers, goesOn), style{})); r.Cause != ledger.None {
			t.Errorf("conversation %d goes on: %v", i, r.Cause)
		}
	}
}

func TestHeader(t *testing.T) {
	t.Parallel()
	l := ledger.New(ledger.Options{})
	two := talk(ask, acts, seen)
	first := l.Observe(render(t, l, key, two, style{}))
	if got := first.Header(); got != "reused=0; cause=first" {
		t.Errorf("header %q", got)
	}
	p := render(t, l, key, but(two, func(r *conv.Request) { r.Tools[1].Schema = []byte("{}") }), style{})
	r := l.Observe(p)
	n := naive(render(t, l, key, two, style{}), p)
	if got, want := r.Header(), fmt.Sprintf("reused=%d; broke_at=%d; cause=tools_changed", n/16*16, n); got != want {
		t.Errorf("header %q, want %q", got, want)
	}
	line := slog.GroupValue(r.LogAttrs(nil)...).String()
	for _, want := range []string{"prefix_cause=tools_changed", "prefix_change=edited", "prefix_tool=shut", "prefix_part=tool_schema", "prefix_message=1"} {
		if !strings.Contains(line, want) {
			t.Errorf("%q is not in %s", want, line)
		}
	}
	if got := len(first.LogAttrs(nil)); got != 3 {
		t.Errorf("%d attributes of a prompt that broke nothing", got)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for c := range ledger.Causes() {
		if s := c.String(); s == "" || s == "unknown" || seen[s] {
			t.Errorf("cause %d is called %q", c, s)
		}
		seen[c.String()] = true
	}
	if len(seen) != 14 {
		t.Errorf("%d causes", len(seen))
	}
	for _, s := range []fmt.Stringer{ledger.Cause(200), ledger.Kind(200), ledger.Owner(200), ledger.Change(200)} {
		if s.String() != "unknown" {
			t.Errorf("%T(200) is called %q", s, s)
		}
	}
}
