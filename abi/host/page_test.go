package host_test

import (
	"testing"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/abi/record"
)

// TestWorkedExample plays the example at the end of ABI.md, with the name accepted and refused.
func TestWorkedExample(t *testing.T) {
	first := step{in: "<think>hm</think>ok<call>", recs: []rec{
		{kind: record.Marker, n: 7}, {kind: record.Reasoning, n: 2}, {kind: record.Marker, n: 8}, {kind: record.Text, n: 2},
	}}
	header := step{in: `<call>f{"a":1}.`, spans: []record.Span{}, recs: []rec{{kind: record.CallBegin, n: 6}, {kind: record.Name, n: 1}}}
	const begin = `marker "<think>", reasoning "hm", marker "</think>", text "ok", `
	for _, tt := range []struct {
		name   string
		accept []string
		third  step
		want   string
	}{
		{
			"accepted",
			[]string{"f"},
			step{in: `{"a":1}.`, recs: []rec{{kind: record.Args, n: 7}, {kind: record.CallEnd}, {kind: record.Text, n: 1}}},
			begin + `call_begin "<call>", name "f", args "{\"a\":1}", call_end "", text "."`,
		},
		{
			"refused",
			nil,
			step{in: `<call>f{"a":1}.`, spans: []record.Span{refusedAt(0)}, recs: []rec{{kind: record.Text, n: 15}}},
			begin + `text "<call>f{\"a\":1}."`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := &script{t: t, steps: []step{first, header, tt.third, empty}}
			sink := &recorder{accept: tt.accept}
			s, err := host.Open(g, sink, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range []string{"<think>hm</think>ok<call>", `f{"a":1}.`} {
				if err := s.Feed([]byte(p), nil, false); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Finish(abi.WhyStop); err != nil {
				t.Fatal(err)
			}
			g.done()
			if sink.String() != tt.want || s.Fault() != nil {
				t.Errorf("got  %s\nwant %s\nfault %v", sink, tt.want, s.Fault())
			}
		})
	}
}
