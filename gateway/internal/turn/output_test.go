package turn_test

import (
	"slices"
	"testing"

	"github.com/weirgate/weir/engines"
	"github.com/weirgate/weir/gateway/internal/assemble"
	"github.com/weirgate/weir/gateway/internal/turn"
)

// TestOutput keeps what the model wrote where all of it is known, with its ids where all of them are.
func TestOutput(t *testing.T) {
	t.Parallel()
	said := func(text string, ids ...uint32) step {
		return step{delta: engines.Delta{Bytes: []byte(text), IDs: ids, Tokens: max(1, len(ids))}}
	}
	call := step{delta: engines.Delta{Fragments: []engines.Fragment{{Kind: engines.FragmentText, Text: "x"}}}}
	for name, c := range map[string]struct {
		steps []step
		stop  []string
		max   int
		want  turn.Output
	}{
		"text":             {steps: []step{said("Hel"), said("lo"), done(engines.ReasonStop)}, want: turn.Output{Text: []byte("Hello"), Whole: true}},
		"ids":              {steps: []step{said("Hel", 1, 2), said("lo", 3), done(engines.ReasonStop)}, want: turn.Output{Text: []byte("Hello"), IDs: []uint32{1, 2, 3}, Whole: true}},
		"an id is missing": {steps: []step{said("Hel", 1), said("lo"), done(engines.ReasonStop)}, want: turn.Output{Text: []byte("Hello"), Whole: true}},
		"a late first id":  {steps: []step{said("Hel"), said("lo", 3), done(engines.ReasonStop)}, want: turn.Output{Text: []byte("Hello"), Whole: true}},
		"cut":              {steps: []step{said("Hel", 1), done(engines.ReasonLength)}, want: turn.Output{Text: []byte("Hel"), IDs: []uint32{1}, Whole: true}},
		"aborted":          {steps: []step{said("Hel"), done(engines.ReasonAbort)}, want: turn.Output{Text: []byte("Hel")}},
		"a client's stop":  {steps: []step{said("Hel"), said("lo"), done(engines.ReasonStop)}, stop: []string{"el"}, want: turn.Output{Text: []byte("Hel")}},
		"too long":         {steps: []step{said("Hel"), said("lo"), done(engines.ReasonStop)}, max: 4, want: turn.Output{}},
		"parsed already":   {steps: []step{call, done(engines.ReasonStop)}, want: turn.Output{}},
		"nothing":          {steps: []step{done(engines.ReasonStop)}, want: turn.Output{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, func(t *testing.T) {
				tn, s, _ := newTurn(replica(&engine{steps: c.steps}))
				tn.Assemble = assemble.Options{Stop: c.stop}
				tn.Output = &turn.Output{Max: max(c.max, 1)}
				if c.max == 0 {
					tn.Output.Max = 1 << 20
				}
				must(t, tn, s)
				if got := tn.Output; string(got.Text) != string(c.want.Text) || !slices.Equal(got.IDs, c.want.IDs) || got.Whole != c.want.Whole {
					t.Errorf("got %q %v whole %v, want %q %v %v", got.Text, got.IDs, got.Whole, c.want.Text, c.want.IDs, c.want.Whole)
				}
			})
		})
	}
}
