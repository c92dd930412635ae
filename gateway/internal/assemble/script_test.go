package assemble_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/abi/record"
	"github.com/weirgate/weir/gateway/internal/assemble"
)

// rec is one record with its bytes.
type rec struct {
	kind  record.Kind
	flags record.Flags
	aux   uint32
	text  string
}

// Short forms for scripts.
func txt(s string) rec              { return rec{kind: record.Text, text: s} }
func think(s string) rec            { return rec{kind: record.Reasoning, text: s} }
func mark(s string) rec             { return rec{kind: record.Marker, text: s} }
func begin(s string) rec            { return rec{kind: record.CallBegin, text: s} }
func name(s string) rec             { return rec{kind: record.Name, text: s} }
func id(s string) rec               { return rec{kind: record.ID, text: s} }
func args(aux uint32, s string) rec { return rec{kind: record.Args, aux: aux, text: s} }
func key(s string) rec              { return rec{kind: record.Key, text: s} }
func val(aux uint32, s string) rec {
	return rec{kind: record.Value, aux: aux, flags: record.Fin, text: s}
}

// part is a value without its end.
func part(s string) rec { return rec{kind: record.Value, aux: record.ValueSchema, text: s} }

func open(aux uint32) rec { return rec{kind: record.Open, aux: aux, text: "<o>"} }
func shut(aux uint32) rec { return rec{kind: record.Close, aux: aux, text: "</o>"} }
func end() rec            { return rec{kind: record.CallEnd, text: "</c>"} }
func cut() rec            { return rec{kind: record.CallEnd, aux: record.CallTruncated} }

// call is a whole JSON call.
func jsonCall(tool, arguments string) []rec {
	return []rec{begin("<c>"), name(tool), args(record.ArgsJSON, arguments), end()}
}

// kv is a whole call with one schema-typed parameter.
func kv(tool, k, v string) []rec {
	return []rec{begin("<c>"), name(tool), key(k), val(record.ValueSchema, v), end()}
}

func cat(parts ...any) (out []rec) {
	for _, p := range parts {
		switch p := p.(type) {
		case rec:
			out = append(out, p)
		case []rec:
			out = append(out, p...)
		}
	}
	return out
}

// pieces cuts records that may be cut, with sizes from next.
func pieces(recs []rec, next func() int) (out []rec) {
	for _, r := range recs {
		switch r.kind {
		case record.Text, record.Reasoning, record.Args, record.Value:
			for n := next(); len(r.text) > n; n = next() {
				p := r
				p.text, p.flags = r.text[:n], r.flags&^record.Fin
				out = append(out, p)
				r.text = r.text[n:]
			}
		}
		out = append(out, r)
	}
	return out
}

// merged is the log of a turn with adjacent deltas put together.
type merged struct {
	lines []string
	last  event.Kind
}

func (m *merged) Event(e *event.Event) error {
	switch e.Kind {
	case event.ReasoningDelta, event.TextDelta, event.ToolArgs:
		if m.last == e.Kind {
			m.lines[len(m.lines)-1] += string(e.Text)
		} else {
			m.lines = append(m.lines, e.Kind.String()+" "+string(e.Text))
		}
	default:
		m.lines = append(m.lines, string(event.AppendJSON(nil, e)))
	}
	m.last = e.Kind
	return nil
}

// both is a sink that logs and folds.
type both struct {
	log  merged
	fold event.Folder
}

func (b *both) Event(e *event.Event) error {
	_ = b.log.Event(e)
	return b.fold.Event(e)
}

// turn is what a run gave.
type turn struct {
	log   string
	res   event.Result
	stats assemble.Stats
	a     *assemble.Assembler
}

// run plays records into an assembler under a checker.
func run(tb testing.TB, o assemble.Options, recs []rec, reason event.Reason) turn {
	tb.Helper()
	var out both
	check := &event.Checker{Next: &out}
	a := assemble.New(o, check)
	a.Ending() // so that a call that ends truncated was cut
	must := func(err error) {
		tb.Helper()
		if err != nil {
			tb.Fatalf("%v\nrecords: %+v\nevents:\n%s", err, recs, strings.Join(out.log.lines, "\n"))
		}
	}
	must(a.Start(event.Usage{}))
	for _, r := range recs {
		must(a.Record(record.Record{Kind: r.kind, Flags: r.flags, Aux: r.aux, Len: uint32(len(r.text))}, []byte(r.text)))
	}
	must(a.Finish(reason, "", event.Usage{}))
	must(check.Close())
	return turn{log: strings.Join(out.log.lines, "\n"), res: out.fold.Result, stats: a.Stats(), a: a}
}

// invariant runs the script whole, and in pieces, and wants one log.
func invariant(t *testing.T, o assemble.Options, recs []rec, reason event.Reason) turn {
	t.Helper()
	whole := run(t, o, recs, reason)
	cuts := map[string]func() int{}
	for _, n := range []int{1, 2, 3, 5, 7} {
		cuts[fmt.Sprintf("pieces of %d", n)] = func() int { return n }
	}
	for seed := range uint64(3) {
		rng := rand.New(rand.NewPCG(seed, 1))
		cuts[fmt.Sprintf("random pieces %d", seed)] = func() int { return rng.IntN(9) }
	}
	for label, next := range cuts {
		got := run(t, o, pieces(recs, func() int { return max(next(), 1) }), reason)
		if got.log != whole.log {
			t.Errorf("%s:\n%s\nwhole:\n%s", label, got.log, whole.log)
		}
		if got.stats != whole.stats {
			t.Errorf("%s: stats %+v, whole %+v", label, got.stats, whole.stats)
		}
	}
	return whole
}

// brief tells a result in one line a block.
func brief(r *event.Result) string {
	var out []string
	for _, b := range r.Blocks {
		switch b.Kind {
		case event.ReasoningStart:
			out = append(out, fmt.Sprintf("reasoning %q", b.Text))
		case event.TextStart:
			out = append(out, fmt.Sprintf("text %q", b.Text))
		default:
			s := fmt.Sprintf("%s %s(%s)", b.Call.ID, b.Call.Name, b.Call.Arguments)
			if b.Call.Namespace != "" {
				s = fmt.Sprintf("%s %s/%s(%s)", b.Call.ID, b.Call.Namespace, b.Call.Name, b.Call.Arguments)
			}
			if b.Call.Kind == event.Custom {
				s = "custom " + s
			}
			if !b.Complete {
				s += " " + string(b.Cause)
			}
			out = append(out, s)
		}
	}
	out = append(out, string(r.Reason))
	return strings.Join(out, "\n")
}

func parallel() conv.ToolChoice { return conv.ToolChoice{Parallel: true} }

// free accepts every name.
func free() assemble.Options { return assemble.Options{AnyName: true, Choice: parallel()} }

// with declares one function tool f with a schema.
func with(schema string) assemble.Options {
	return assemble.Options{Tools: []conv.ToolDef{{Name: "f", Schema: []byte(schema)}}, Choice: parallel()}
}

// prop is with for a schema whose one property is p.
func prop(schema string) assemble.Options {
	return with(`{"type": "object", "properties": {"p": ` + schema + `}}`)
}
