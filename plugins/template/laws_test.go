package template_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/plan"
	"github.com/weirgate/weir/plugins/template"
)

// obeys checks what holds for every plan: the same outline gives the same one, it names parts that are
// there, drops nothing but reasoning, and sets no argument that the client gave.
func obeys(t *testing.T, policy string, outline []byte) {
	t.Helper()
	var p template.Policy
	if err := p.Open([]byte(`{"policy":"` + policy + `"}`)); err != nil {
		t.Fatal(err)
	}
	const before = "kept"
	b, err := p.Plan([]byte(before), outline)
	if err != nil {
		return
	}
	if !bytes.HasPrefix(b, []byte(before)) {
		t.Fatalf("%s: what stood in front of the plan is gone", policy)
	}
	b = b[len(before):]
	if again, err := p.Plan(nil, outline); err != nil || !bytes.Equal(again, b) {
		t.Fatalf("%s: the same outline gives another plan, %v", policy, err)
	}
	if len(b) > abi.MaxPlan {
		t.Fatalf("%s: a plan of %d bytes", policy, len(b))
	}
	ops, err := plan.Parse(b)
	if err != nil {
		t.Fatalf("%s: the plan does not parse: %v", policy, err)
	}
	o, err := plan.ParseOutline(outline)
	if err != nil {
		t.Fatalf("%s: planned an outline that does not parse: %v", policy, err)
	}
	type place struct {
		message uint32
		part    uint16
	}
	there := map[place][]plan.Row{}
	for _, r := range o.Rows {
		at := place{r.Message, r.Part}
		there[at] = append(there[at], r)
	}
	is := func(op plan.Op, kind conv.PartKind) bool {
		for _, r := range there[place{op.Message, op.Part}] {
			if conv.Role(r.Role) == conv.Assistant && (kind == 0 || conv.PartKind(r.Kind) == kind) {
				return true
			}
		}
		return false
	}
	said := arguments(o.Switches)
	tail, starts := 0, 0
	for _, op := range ops {
		switch op.Kind {
		case plan.PartOp:
			if op.Action == plan.Drop && !is(op, conv.Reasoning) || !is(op, 0) {
				t.Fatalf("%s: action %d on part %d.%d", policy, op.Action, op.Message, op.Part)
			}
		case plan.CallIDOp:
			if !is(op, conv.Call) {
				t.Fatalf("%s: an id for part %d.%d", policy, op.Message, op.Part)
			}
		case plan.KwargOp:
			if _, ok := said[op.Key]; ok || !json.Valid([]byte(op.Value)) {
				t.Fatalf("%s: sets %s to %s, the client said %s", policy, op.Key, op.Value, said[op.Key])
			}
		case plan.TailOp:
			tail += len(op.Value)
		case plan.StartOp:
			starts++
		case plan.StopOp, plan.TokenOp:
			if op.Value == "" {
				t.Fatalf("%s: an empty stop or token", policy)
			}
		}
	}
	if tail > abi.MaxPromptTail || starts > 1 {
		t.Fatalf("%s: %d bytes of tail, %d starts", policy, tail, starts)
	}
}

// arguments are the template arguments that the client gave.
func arguments(sw []byte) map[string]json.RawMessage {
	var members, given map[string]json.RawMessage
	if json.Unmarshal(sw, &members) == nil {
		_ = json.Unmarshal(members["kwargs"], &given)
	}
	return given
}

var (
	argNames = []string{
		"enable_thinking", "thinking", "thinking_mode", "reasoning", "reasoning_effort", "thinking_effort", "thinking_budget", "reasoning_strength", "low_effort",
		"medium_effort", "preserve_thinking", "preserved_thinking", "clear_thinking", "truncate_history_thinking", "drop_thinking", "think_render_option", "other", `enable\u005fthinking`,
	}
	argValues = []string{"true", "false", "null", "0", "-1", "512", `""`, `"none"`, `"low"`, `"max"`, `"no_think"`, `"disabled"`, `"adaptive"`, `"all"`, `"x"`, "[]", "{}"}
)

// randomOutline makes conversations of all shapes, also such as no client sends.
func randomOutline(r *rand.Rand) *plan.Outline {
	pick := func(from []string) string { return from[r.IntN(len(from))] }
	var lines []string
	for range r.IntN(12) {
		line := pick([]string{"u", "U", "t", "a", "a", "a"})
		if line == "a" {
			for range r.IntN(6) {
				line += pick([]string{"r", "s", "x", "c"})
			}
		}
		lines = append(lines, line)
	}
	var members []string
	for _, m := range []string{"thinking", "effort", "default"} {
		if r.IntN(2) == 0 {
			members = append(members, `"`+m+`":`+pick([]string{`"on"`, `"off"`, `"adaptive"`, `"none"`, `"high"`, `"ultra"`, `""`}))
		}
	}
	var given []string
	for range r.IntN(5) {
		given = append(given, `"`+pick(argNames)+`":`+pick(argValues))
	}
	members = append(members, `"kwargs":{`+strings.Join(given, ",")+`}`, `"tools":`+strconv.Itoa(r.IntN(3)))
	return &plan.Outline{Rows: rows(lines...), Switches: []byte("{" + strings.Join(members, ",") + "}")}
}

func TestLaws(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		outline := plan.AppendOutline(nil, randomOutline(r))
		for _, name := range template.Names() {
			obeys(t, name, outline)
		}
	}
}

// TestNames wants each name once.
func TestNames(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, n := range template.Names() {
		if n == "" || seen[n] || strings.ToLower(n) != n {
			t.Errorf("name %q", n)
		}
		seen[n] = true
	}
}

// TestIDs wants ids that depend on a call's place alone, so that they stay while the history grows.
func TestIDs(t *testing.T) {
	t.Parallel()
	long := rows("U", "arc", "t", "acc", "t", "t", "ax", "U", "arc", "t", "u")
	for _, c := range []struct {
		policy string
		valid  func(id string, n int) bool
	}{
		{"kimi_k2", func(id string, n int) bool { return id == "functions.look:"+strconv.Itoa(n) }},
		{"kimi_k2.5", func(id string, n int) bool { return id == "functions.look:"+strconv.Itoa(n) }},
		{"mistral", func(id string, _ int) bool {
			return len(id) == 9 && strings.Trim(id, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") == ""
		}},
	} {
		t.Run(c.policy, func(t *testing.T) {
			t.Parallel()
			var first []string
			for n := range len(long) + 1 {
				var ids []string
				for _, op := range run(t, `{"policy":"`+c.policy+`"}`, &plan.Outline{Rows: long[:n]}) {
					if op.Kind == plan.CallIDOp {
						if !c.valid(op.Value, len(ids)) {
							t.Errorf("call %d has the id %q", len(ids), op.Value)
						}
						ids = append(ids, op.Value)
					}
				}
				for i := range first {
					if ids[i] != first[i] {
						t.Errorf("call %d was %q and is %q", i, first[i], ids[i])
					}
				}
				first = ids
			}
			if len(first) != 4 {
				t.Errorf("%d ids for 4 calls", len(first))
			}
		})
	}
}

// TestNineAreDistinct wants no two calls of a long conversation to have one id.
func TestNineAreDistinct(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, op := range run(t, `{"policy":"mistral"}`, &plan.Outline{Rows: rows("U", "a"+strings.Repeat("c", 9000))}) {
		if op.Kind != plan.CallIDOp {
			continue
		}
		if seen[op.Value] {
			t.Fatalf("two calls are %q", op.Value)
		}
		seen[op.Value] = true
	}
	if len(seen) != 9000 {
		t.Errorf("%d ids", len(seen))
	}
}

// TestTooLarge has outlines whose plan would not fit: an error, and no more memory than a plan has.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, policy string
		rows         []plan.Row
	}{
		{"parts to drop", "drop_all", rows("a" + strings.Repeat("r", 20000))},
		{"ids", "kimi_k2", rows("a" + strings.Repeat("c", 20000))},
		{"a long name", "kimi_k2", []plan.Row{
			{Kind: uint8(conv.Call), Role: uint8(conv.Assistant), Name: strings.Repeat("n", 60000)},
			{Part: 1, Kind: uint8(conv.Call), Role: uint8(conv.Assistant), Name: strings.Repeat("n", 60000)},
			{Part: 2, Kind: uint8(conv.Call), Role: uint8(conv.Assistant), Name: strings.Repeat("n", 60000)},
			{Part: 3, Kind: uint8(conv.Call), Role: uint8(conv.Assistant), Name: strings.Repeat("n", 60000)},
			{Part: 4, Kind: uint8(conv.Call), Role: uint8(conv.Assistant), Name: strings.Repeat("n", 60000)},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var p template.Policy
			if err := p.Open([]byte(`{"policy":"` + c.policy + `"}`)); err != nil {
				t.Fatal(err)
			}
			if b, err := p.Plan(nil, plan.AppendOutline(nil, &plan.Outline{Rows: c.rows})); err == nil {
				t.Errorf("a plan of %d bytes", len(b))
			}
		})
	}
}

// TestAllocations wants as many for a long history as for a short one.
func TestAllocations(t *testing.T) {
	for _, policy := range []string{"qwen3", "kimi_k2", "mistral", "deepseek_v4", "gpt_oss"} {
		var p template.Policy
		if err := p.Open([]byte(`{"policy":"` + policy + `"}`)); err != nil {
			t.Fatal(err)
		}
		var counts [2]float64
		for i, n := range []int{1, 500} {
			lines := []string{"u"}
			for range n {
				lines = append(lines, "arxcrc", "t", "ax", "u")
			}
			outline := plan.AppendOutline(nil, &plan.Outline{Rows: rows(lines...), Switches: []byte(`{"thinking":"on","effort":"high","kwargs":{"a":"b"},"tools":3}`)})
			dst := make([]byte, 0, abi.MaxPlan)
			counts[i] = testing.AllocsPerRun(5, func() {
				if _, err := p.Plan(dst, outline); err != nil {
					t.Fatal(err)
				}
			})
		}
		if counts[0] != counts[1] || counts[1] > 4 {
			t.Errorf("%s: %v allocations for a short history, %v for a long one", policy, counts[0], counts[1])
		}
	}
}

func FuzzPlan(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 4))
	names := template.Names()
	for i := range 20 {
		f.Add(uint8(i*7), plan.AppendOutline(nil, randomOutline(r)))
	}
	f.Fuzz(func(t *testing.T, which uint8, outline []byte) { obeys(t, names[int(which)%len(names)], outline) })
}
