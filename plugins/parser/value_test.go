package parser_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/abi/record"
	"github.com/weirgate/weir/plugins/parser/parsertest"
)

// turn collects what a stream gave.
type turn struct {
	text  strings.Builder
	calls []call
}

type call struct {
	name     string
	keys     []string
	values   []string
	args     string
	complete bool
}

func (t *turn) Accept([]record.Record, []byte) bool { return true }

func (t *turn) Record(r record.Record, b []byte) error {
	last := len(t.calls) - 1
	switch r.Kind {
	case record.Text, record.Reasoning:
		t.text.Write(b)
	case record.CallBegin:
		t.calls = append(t.calls, call{})
	case record.Name:
		t.calls[last].name = string(b)
	case record.Args:
		t.calls[last].args += string(b)
	case record.Key:
		t.calls[last].keys = append(t.calls[last].keys, string(b))
		t.calls[last].values = append(t.calls[last].values, "")
	case record.Value:
		v := t.calls[last].values
		v[len(v)-1] += string(b)
	case record.CallEnd:
		t.calls[last].complete = r.Aux == record.CallComplete
	}
	return nil
}

func parse(tb testing.TB, g host.Guest, start guest.Start, input string, size int) *turn {
	tb.Helper()
	out := &turn{}
	s, err := host.Open(g, out, start.Append(nil))
	if err != nil {
		tb.Fatal(err)
	}
	for ; input != ""; input = input[min(size, len(input)):] {
		if err := s.Feed([]byte(input[:min(size, len(input))]), nil, false); err != nil {
			tb.Fatal(err)
		}
	}
	if err := s.Finish(1); err != nil || s.Fault() != nil {
		tb.Fatal(err, s.Fault())
	}
	return out
}

// valueParts are what values are made of; no line of the format stands among them outside of a sample.
var valueParts = []string{
	"a", "x y", "\n", "\n\n", " ", "\t", "\r\n", "<", ">", "</", "é🙂", "{\"a\": [1]}", "</tool_call>", "<tool_call>", "x</parameter> ", "x</function>y",
	"`<parameter=k>`", "<function=f>", "</parameter", "<parameter name=\"x\">1</parameter>;", "<think>", "</think>", "\"", "func f() {\n\treturn a < b\n}\n",
	"<tool_call>\n<function=f>\n<parameter=k>\nv\n</parameter>\n</function>\n</tool_call>\n", strings.Repeat("long line ", 30),
}

// TestValuesSurvive writes random values in the format and reads them back.
func TestValuesSurvive(t *testing.T) {
	g := open(t, `{"reasoning":"qwen3","tools":"qwen3_coder"}`)
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 3000 {
		var want call
		wire := "<tool_call>\n<function=write>\n"
		for k := range r.IntN(4) {
			v := ""
			for range r.IntN(6) {
				v += valueParts[r.IntN(len(valueParts))]
			}
			v += "." // the parts must not meet the closer
			want.keys, want.values = append(want.keys, fmt.Sprint("k", k)), append(want.values, v)
			wire += fmt.Sprintf("<parameter=k%d>\n%s\n</parameter>\n", k, v)
		}
		wire += "</function>\n</tool_call>"
		want.name, want.complete = "write", true
		for _, size := range []int{1 << 20, 1, 1 + r.IntN(9)} {
			got := parse(t, g, guest.Start{Tools: true}, "Text "+wire+" after", size)
			if len(got.calls) != 1 || fmt.Sprint(got.calls[0]) != fmt.Sprint(want) || got.text.String() != "Text after" {
				t.Fatalf("%d: %q in pieces of %d gives\n%+v and text %q, want\n%+v", i, wire, size, got.calls, got.text.String(), want)
			}
		}
	}
}

// TestEveryCut ends each input of the corpus at each byte: no call appears that the whole does not have,
// none is complete that is not whole, and arguments are a prefix of the whole ones.
func TestEveryCut(t *testing.T) {
	for _, f := range parsertest.Families() {
		g := open(t, f.Config)
		for _, c := range f.Cases {
			if c.Want == "" || len(c.Input) > 700 || len(c.Spans) > 0 || c.Start.Choice == guest.ChoiceNone {
				continue
			}
			// "or the end" closes a value: what looks like a closer before the end is one only there.
			if strings.HasPrefix(c.Name, "value-") || strings.HasPrefix(c.Name, "quoted") {
				continue
			}
			whole := parse(t, g, c.Start, c.Input, 1<<20)
			for n := range len(c.Input) {
				cut := parse(t, g, c.Start, c.Input[:n], 1<<20)
				if len(cut.calls) > len(whole.calls) {
					t.Fatalf("%s/%s: %q gives %d calls, the whole %d", f.Name, c.Name, c.Input[:n], len(cut.calls), len(whole.calls))
				}
				for i, got := range cut.calls {
					want := whole.calls[i]
					same := fmt.Sprint(got) == fmt.Sprint(want)
					if got.complete && !same || !strings.HasPrefix(want.args, got.args) || !prefixes(got.values, want.values) {
						t.Fatalf("%s/%s: %q gives %+v, the whole %+v", f.Name, c.Name, c.Input[:n], got, want)
					}
				}
			}
		}
	}
}

func prefixes(a, b []string) bool {
	if len(a) > len(b) {
		return false
	}
	for i := range a {
		if !strings.HasPrefix(b[i], a[i]) {
			return false
		}
	}
	return true
}
