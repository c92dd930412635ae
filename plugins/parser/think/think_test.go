package think_test

import (
	"testing"

	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/plugins/parser/think"
)

func TestStart(t *testing.T) {
	outside := think.Config{Open: "<think>", Close: "</think>"}
	inside := outside
	inside.Inside = true
	for _, tc := range []struct {
		name     string
		cfg      think.Config
		tail     string
		thinking guest.Thinking
		in       bool
		newlines uint8
	}{
		{"family", outside, "", guest.ThinkingUnknown, false, 0},
		{"family-on", outside, "", guest.ThinkingOn, false, 0},
		{"family-inside", inside, "", guest.ThinkingUnknown, true, 1},
		{"family-inside-off", inside, "", guest.ThinkingOff, false, 0},
		{"open", outside, "<think>", guest.ThinkingUnknown, true, 1},
		{"open-newline", outside, "<think>\n", guest.ThinkingOn, true, 0},
		{"open-wins-over-off", outside, "<think>\n", guest.ThinkingOff, true, 0},
		{"closed", inside, "<think>\n\n</think>\n\n", guest.ThinkingOff, false, 0},
		{"closed-bare", inside, "</think>", guest.ThinkingOn, false, 2},
		{"closed-one-newline", inside, "<think></think>\n", guest.ThinkingUnknown, false, 1},
		{"pair-then-open", outside, "<think></think>\n<think>\n", guest.ThinkingOn, true, 0},
		{"other-text", outside, "assistant\n", guest.ThinkingOn, false, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			st := tc.cfg.Start(guest.Start{Thinking: tc.thinking, Tail: []byte(tc.tail)})
			if st.In != tc.in || st.Newlines != tc.newlines || !st.Edge {
				t.Errorf("got %+v, want in %v with %d newlines", st, tc.in, tc.newlines)
			}
		})
	}
}
