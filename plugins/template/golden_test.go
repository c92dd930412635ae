package template_test

import (
	"flag"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/plan"
	"github.com/weirgate/weir/plugins/template"
)

var update = flag.Bool("update", false, "write testdata/plans.golden anew")

// situations are conversations and switches that tell the families apart.
func situations() []situation {
	plain := rows("u", "arx", "U")
	loop := rows("u", "arxc", "t", "arx", "U", "axc", "t", "arcrc", "t")
	return []situation{
		{"silent", plain, ``},
		{"configured off", plain, `{"default":"off"}`},
		{"configured on", plain, `{"default":"on"}`},
		{"asked on", plain, `{"thinking":"on","default":"off"}`},
		{"asked off", plain, `{"thinking":"off","default":"on"}`},
		{"adaptive", plain, `{"thinking":"adaptive"}`},
		{"effort none", plain, `{"effort":"none"}`},
		{"effort low", plain, `{"effort":"low"}`},
		{"effort medium", plain, `{"effort":"medium"}`},
		{"effort high", plain, `{"effort":"high"}`},
		{"effort max", plain, `{"effort":"max"}`},
		{"tool loop", loop, `{"thinking":"on","tools":2}`},
		{"tool loop, off", loop, `{"thinking":"off","tools":2}`},
		{"text behind a call", rows("U", "arcx", "U"), `{"thinking":"on"}`},
		{"history asked for", loop, `{"thinking":"on","kwargs":{"preserve_thinking":true,"preserved_thinking":true,"clear_thinking":false,` +
			`"truncate_history_thinking":false,"drop_thinking":false,"think_render_option":"all"}}`},
		{"less history asked for", loop, `{"thinking":"on","tools":1,"kwargs":{"preserve_thinking":false,"preserved_thinking":false,"clear_thinking":true,` +
			`"truncate_history_thinking":true,"drop_thinking":true,"think_render_option":"lastthink"}}`},
		{"all arguments given", plain, `{"thinking":"off","effort":"max","kwargs":{"enable_thinking":true,"thinking":true,"thinking_mode":"enabled","reasoning":true,` +
			`"reasoning_effort":"low","thinking_effort":"low","thinking_budget":512,"reasoning_strength":"low","low_effort":false,"medium_effort":false}}`},
		{"another family's argument", plain, `{"thinking":"off","kwargs":{"thinking":true}}`},
	}
}

type situation struct {
	name     string
	rows     []plan.Row
	switches string
}

// account is all that a policy plans: its stops and tokens, and the other instructions with the situations
// in which they are given.
func account(t *testing.T, policy string) string {
	t.Helper()
	var b strings.Builder
	var plans []string
	like := map[string][]string{} // situations by plan
	for i, s := range situations() {
		ops := run(t, `{"policy":"`+policy+`"}`, &plan.Outline{Rows: s.rows, Switches: []byte(s.switches)})
		if i == 0 {
			for _, op := range ops {
				switch op.Kind {
				case plan.StopOp:
					b.WriteString("stop " + strconv.Quote(op.Value) + "\n")
				case plan.TokenOp:
					b.WriteString("token " + strconv.Quote(op.Value) + "\n")
				}
			}
		}
		p := text(ops)
		if _, ok := like[p]; !ok {
			plans = append(plans, p)
		}
		like[p] = append(like[p], s.name)
	}
	for _, p := range plans {
		b.WriteString(strings.Join(like[p], " | ") + "\n\t" + p + "\n")
	}
	return b.String()
}

// TestGolden pins what every policy plans. Names that plan alike stand together.
func TestGolden(t *testing.T) {
	const file = "testdata/plans.golden"
	var b strings.Builder
	head, body := "", ""
	flush := func() {
		if head != "" {
			b.WriteString("== " + head + "\n" + body)
		}
	}
	for _, name := range template.Names() {
		got := account(t, name)
		if got == body {
			head += " " + name
			continue
		}
		flush()
		head, body = name, got
	}
	flush()
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() == string(want) {
		return
	}
	g, w := strings.Split(b.String(), "\n"), strings.Split(string(want), "\n")
	for i := range g {
		if i >= len(w) || g[i] != w[i] {
			t.Fatalf("%s:%d: planned\n%s\nwant\n%s", file, i+1, g[i], w[min(i, len(w)-1)])
		}
	}
	t.Fatalf("%s has %d lines, planned are %d", file, len(w), len(g))
}
