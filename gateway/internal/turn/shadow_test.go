package turn_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/guesttest"
	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/abi/record"
	"github.com/weirgate/weir/engines"
	"github.com/weirgate/weir/gateway/internal/assemble"
	"github.com/weirgate/weir/gateway/internal/turn"
)

// noting is a shadow that notes its calls between the sink's.
type noting struct {
	sink *sink
	host.Sink
}

func (n *noting) Begin(start []byte, s host.Sink) host.Sink {
	n.sink.note(fmt.Sprintf("begin %d", len(start)))
	n.Sink = s
	return n
}

func (n *noting) Record(r record.Record, b []byte) error {
	n.sink.note(fmt.Sprintf("record %v", r.Kind))
	return n.Sink.Record(r, b)
}

func (n *noting) Event(e *event.Event) { n.sink.note("sees " + e.Kind.String()) }

func (n *noting) Feed(p []byte, _ []record.Span) { n.sink.note(fmt.Sprintf("feed %q", p)) }

func (n *noting) Finish(why abi.Why, r event.Reason, s string) {
	n.sink.note(fmt.Sprintf("finish %d %s%s", why, r, s))
}

// TestShadow has a shadow beside a turn: it is fed after what came of the same bytes was sent, and it is left
// out once there is nothing to compare.
func TestShadow(t *testing.T) {
	t.Parallel()
	text := []string{"0s begin 16", "0s record text", "0s sees text_start", "0s text_start", "0s sees text_delta", `0s text_delta "a"`, "0s flush"}
	for _, c := range []struct {
		name    string
		steps   []step
		options assemble.Options
		want    []string
	}{
		{"end", []step{say(0, "a"), done(engines.ReasonLength)}, assemble.Options{}, slices.Concat(text, []string{
			`0s feed "a"`, "0s flush", "0s sees text_end", "0s text_end", "0s sees usage", "0s usage 20/5/7", "0s sees finish", "0s finish length", "0s flush", "0s finish 2 length",
		})},
		{"stop string", []step{say(0, "ab"), say(0, "c")}, assemble.Options{Stop: []string{"b"}}, slices.Concat(text[:len(text)-1], []string{
			`0s feed "ab"`, "0s sees text_end", "0s text_end", "0s sees usage", "0s usage 11/0/1", "0s sees finish", "0s finish stop_sequenceb", "0s flush", "0s finish 3 stop_sequenceb",
		})},
		{"engine fails", []step{say(0, "a"), failing(0, engines.ClassInternal)}, assemble.Options{}, slices.Concat(text, []string{
			`0s feed "a"`, "0s text_end", "0s fault engine: the engine failed", "0s flush",
		})},
		{"engine parses", []step{{delta: engines.Delta{Fragments: []engines.Fragment{{Kind: engines.FragmentText, Text: "a"}}}}, done(engines.ReasonStop)}, assemble.Options{}, []string{
			"0s begin 16", "0s text_start", `0s text_delta "a"`, "0s flush", "0s flush", "0s text_end", "0s usage 20/5/7", "0s finish stop", "0s flush",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			run(t, func(t *testing.T) {
				tn, s, _ := newTurn(replica(&engine{steps: c.steps}))
				g, err := guesttest.Native(&plugin{}, nil)
				if err != nil {
					t.Fatal(err)
				}
				s.slow = func(int) time.Duration {
					s.note("flush")
					return 0
				}
				tn.Parser, tn.Assemble, tn.Prompt.Start = g, c.options, guest.Start{}.Append(nil)
				tn.Shadow = &noting{sink: s}
				must(t, tn, s)
				compare(t, s.String(), append([]string{"0s sees turn_start", "0s turn_start"}, c.want...)...)
			})
		})
	}
}

var _ turn.Shadow = (*noting)(nil)
