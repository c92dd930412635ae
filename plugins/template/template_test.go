package template_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/abi/plan"
	"github.com/weirgate/weir/plugins/template"
)

// rows builds an outline from a line for each message: u user, U the last user message, t tool result,
// a followed by the parts of an assistant's message: r reasoning, s sealed reasoning without text,
// x text, c call.
func rows(lines ...string) []plan.Row {
	var out []plan.Row
	for i, line := range lines {
		add := func(part int, role conv.Role, kind conv.PartKind, length int, flags uint16) {
			out = append(out, plan.Row{Message: uint32(i), Part: uint16(part), Role: uint8(role), Kind: uint8(kind), Length: uint32(length), Flags: flags})
		}
		switch line[0] {
		case 'u':
			add(0, conv.User, conv.Text, 2, 0)
		case 'U':
			add(0, conv.User, conv.Text, 2, plan.RowLastUser)
		case 't':
			add(0, conv.Tool, conv.Result, 2, 0)
		}
		if line[0] != 'a' {
			continue
		}
		for j, c := range line[1:] {
			switch c {
			case 'r':
				add(j, conv.Assistant, conv.Reasoning, 2, 0)
			case 's':
				add(j, conv.Assistant, conv.Reasoning, 0, plan.RowSealed|plan.RowEmpty)
			case 'x':
				add(j, conv.Assistant, conv.Text, 2, 0)
			case 'c':
				add(j, conv.Assistant, conv.Call, 2, 0)
				out[len(out)-1].Name = "look"
			}
		}
	}
	return out
}

func run(t *testing.T, config string, o *plan.Outline) []plan.Op {
	t.Helper()
	var p template.Policy
	if err := p.Open([]byte(config)); err != nil {
		t.Fatalf("opening %s: %v", config, err)
	}
	b, err := p.Plan(nil, plan.AppendOutline(nil, o))
	if err != nil {
		t.Fatal(err)
	}
	ops, err := plan.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	return ops
}

// text writes a plan as one line, stops and tokens aside.
func text(ops []plan.Op) string {
	var out []string
	for _, op := range ops {
		at := strconv.Itoa(int(op.Message)) + "." + strconv.Itoa(int(op.Part))
		switch op.Kind {
		case plan.PartOp:
			out = append(out, [...]string{"keep", "drop", "splice"}[op.Action]+" "+at)
		case plan.TailOp:
			out = append(out, "tail "+strconv.Quote(op.Value))
		case plan.StartOp:
			out = append(out, [...]string{"auto", "content", "reasoning"}[op.State])
		case plan.KwargOp:
			out = append(out, op.Key+"="+op.Value)
		case plan.CallIDOp:
			out = append(out, "id "+at+" "+op.Value)
		}
	}
	return strings.Join(out, "; ")
}

func TestReplay(t *testing.T) {
	t.Parallel()
	const qwen3 = "auto; enable_thinking=true"
	for _, c := range []struct {
		name, config string
		rows         []plan.Row
		want         string
	}{
		{"older reasoning goes", `{"policy":"qwen3"}`, rows("u", "arx", "U"), "drop 1.0; " + qwen3},
		{"a tool loop keeps its own", `{"policy":"qwen3"}`, rows("u", "arx", "U", "arxc", "t", "arc", "t"), "drop 1.0; " + qwen3},
		{"rounds in one turn are spliced", `{"policy":"qwen3"}`, rows("U", "arcrc", "t", "t"), "splice 1.0; " + qwen3},
		{"text after a call keeps its place", `{"policy":"qwen3"}`, rows("u", "arxcx", "U"), "drop 1.0; splice 1.1; " + qwen3},
		{"older rounds lose reasoning, the rest is in order", `{"policy":"qwen3"}`, rows("u", "arcrc", "t", "t", "ax", "U"), "drop 1.0; drop 1.2; " + qwen3},
		{"sealed reasoning without text has nothing to show", `{"policy":"qwen3"}`, rows("U", "asrc", "t"), "drop 1.0; " + qwen3},
		{"no user message is one loop", `{"policy":"qwen3"}`, rows("arc", "t"), qwen3},
		{"no rows", `{"policy":"qwen3"}`, nil, qwen3},
		{"keep all", `{"policy":"keep_all"}`, rows("u", "arx", "U", "axr"), "splice 3.0; " + qwen3},
		{"drop all", `{"policy":"drop_all"}`, rows("u", "arx", "U", "arcrc"), "drop 1.0; drop 3.0; drop 3.2"},
		{"drop all with a start", `{"policy":"drop_all","start":"prompt"}`, rows("U"), `tail "<think>\n"; reasoning; enable_thinking=true`},
		{"qwen3.5", `{"policy":"qwen3.5"}`, rows("u", "arx", "U", "arc", "t"), `drop 1.0; tail "<think>\n"; reasoning; enable_thinking=true`},
		{"keep all without a start", `{"policy":"keep_all","start":"none"}`, rows("u", "arx", "U"), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := text(run(t, c.config, &plan.Outline{Rows: c.rows})); got != c.want {
				t.Errorf("plan %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestThinking(t *testing.T) {
	t.Parallel()
	const closed = `tail "<think>\n\n</think>\n\n"; content`
	for _, c := range []struct {
		name, policy, switches, want string
	}{
		{"silence", "qwen3", ``, "auto; enable_thinking=true"},
		{"default off", "qwen3", `{"default":"off","tools":0}`, closed + "; enable_thinking=false"},
		{"effort over default", "qwen3", `{"effort":"high","default":"off"}`, "auto; enable_thinking=true"},
		{"effort none", "qwen3", `{"effort":"none","default":"on"}`, closed + "; enable_thinking=false"},
		{"mode over effort", "qwen3", `{"thinking":"off","effort":"high","default":"on"}`, closed + "; enable_thinking=false"},
		{"adaptive", "qwen3", `{"thinking":"adaptive","effort":"none","default":"off"}`, "auto; enable_thinking=true"},
		{"kwargs over mode", "qwen3", `{"thinking":"off","kwargs":{"enable_thinking":true},"default":"off"}`, "auto"},
		{"kwargs off", "qwen3", `{"thinking":"on","kwargs":{"enable_thinking":false}}`, closed},
		{"the other name", "qwen3", `{"kwargs":{"thinking":false}}`, closed + "; enable_thinking=false"},
		{"kwargs of another type", "qwen3", `{"kwargs":{"enable_thinking":"maybe"},"default":"off"}`, closed},
		{"unknown members", "qwen3", `{"new":[1,{"a":2}],"default":"off"}`, closed + "; enable_thinking=false"},
		{"prompt opens", "qwen3.5", `{"default":"on"}`, `tail "<think>\n"; reasoning; enable_thinking=true`},
		{"prompt opens, off", "qwen3.5", `{"default":"off"}`, closed + "; enable_thinking=false"},
		{"no thinking", "drop_all", `{"default":"off"}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			ops := run(t, `{"policy":"`+c.policy+`"}`, &plan.Outline{Switches: []byte(c.switches)})
			if got := text(ops); got != c.want {
				t.Errorf("plan %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestStopsAndTokens(t *testing.T) {
	t.Parallel()
	for policy, want := range map[string]string{
		"qwen3":    "stop <|im_end|> token <tool_call> token </tool_call> token <think> token </think>",
		"drop_all": "stop <|im_end|> token <tool_call> token </tool_call>",
	} {
		var got []string
		for _, op := range run(t, `{"policy":"`+policy+`"}`, &plan.Outline{}) {
			switch op.Kind {
			case plan.StopOp:
				got = append(got, "stop "+op.Value)
			case plan.TokenOp:
				got = append(got, "token "+op.Value)
			}
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: %s, want %s", policy, s, want)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for _, config := range []string{
		``, `null`, `{}`, `[]`, `{"policy":"other"}`, `{"policy":3}`, `{"policy":"qwen3","start":"x"}`, `{"policy":"qwen3"} x`,
	} {
		var p template.Policy
		if err := p.Open([]byte(config)); err == nil {
			t.Errorf("config %q is accepted", config)
		}
	}
	for _, name := range template.Names() {
		var p template.Policy
		if err := p.Open([]byte(`{"of":["a later host"],"policy":"` + name + `"}`)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if m := new(template.Policy).Manifest(); !jsonscan.Valid([]byte(m)) {
		t.Errorf("the manifest is not JSON: %s", m)
	}
}

func TestPlanRefuses(t *testing.T) {
	t.Parallel()
	var p template.Policy
	if err := p.Open([]byte(`{"policy":"qwen3"}`)); err != nil {
		t.Fatal(err)
	}
	for _, sw := range []string{`[]`, `{"thinking":true}`, `{"kwargs":[]}`, `{"default":"on"`, `{} {}`} {
		if _, err := p.Plan(nil, plan.AppendOutline(nil, &plan.Outline{Switches: []byte(sw)})); err == nil {
			t.Errorf("switches %s are accepted", sw)
		}
	}
	if _, err := new(template.Policy).Plan(nil, plan.AppendOutline(nil, &plan.Outline{})); err == nil {
		t.Error("a policy that was not opened plans")
	}
	if _, err := p.Plan(nil, []byte("x")); err == nil {
		t.Error("an outline of one byte is accepted")
	}
}

func BenchmarkPlan(b *testing.B) {
	lines := []string{"U"}
	for range 200 {
		lines = append(lines, "arxc", "t")
	}
	outline := plan.AppendOutline(nil, &plan.Outline{Rows: rows(lines...), Switches: []byte(`{"thinking":"on","default":"on","tools":12}`)})
	for _, policy := range []string{"qwen3", "kimi_k2", "mistral"} {
		b.Run(policy, func(b *testing.B) {
			var p template.Policy
			if err := p.Open([]byte(`{"policy":"` + policy + `"}`)); err != nil {
				b.Fatal(err)
			}
			var dst []byte
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if dst, err = p.Plan(dst[:0], outline); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
