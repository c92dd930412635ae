package canon_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/gateway/internal/canon"
)

func TestMarkVolatile(t *testing.T) {
	t.Parallel()
	const now = "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\nIt is late."
	user, answer := message(conv.User, "hi"), message(conv.Assistant, "ok")
	result := conv.Message{Role: conv.Tool, Parts: []conv.Part{{Kind: conv.Result, Result: &conv.ToolResult{}}}}
	for _, c := range []struct {
		name string
		in   []conv.Message
		want string // of each message, its parts: v volatile
	}{
		{"a message", []conv.Message{user, message(conv.User, now)}, "[. v]"},
		{"after results", []conv.Message{user, answer, result, message(conv.User, now)}, "[. . . v]"},
		{"the last part", []conv.Message{message(conv.User, "hi", now)}, "[.v]"},
		{"several", []conv.Message{message(conv.User, now, "hi", now), message(conv.User, now, now)}, "[..v vv]"},
		{"over an empty message", []conv.Message{message(conv.User, "hi", now), message(conv.User)}, "[.v ]"},
		{"all of it", []conv.Message{message(conv.User, now)}, "[v]"},
		{"not at the end", []conv.Message{message(conv.User, now), answer}, "[. .]"},
		{"not the last part", []conv.Message{message(conv.User, now, "hi")}, "[..]"},
		{"another role", []conv.Message{user, message(conv.System, now)}, "[. .]"},
		{"not at the beginning", []conv.Message{message(conv.User, "see "+now)}, "[.]"},
		{"summary of Claude Code", []conv.Message{user, result, message(conv.User, "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.\n\n- Do")}, "[. . v]"},
		{"summary of Codex", []conv.Message{user, message(conv.User, "You are performing a CONTEXT CHECKPOINT COMPACTION. Create")}, "[. v]"},
		{"a reminder that stays", []conv.Message{user, message(conv.User, "<system-reminder>\nNow.")}, "[. .]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := &conv.Request{Model: "m", Messages: c.in}
			before := fmt.Sprintf("%+v", in)
			out := canon.MarkVolatile(in, canon.VolatileBlocks())
			got := []string{}
			for i, m := range out.Messages {
				marks := ""
				for j, p := range m.Parts {
					mark := "."
					if p.Volatile {
						mark = "v"
					}
					marks += mark
					p.Volatile = false
					if !reflect.DeepEqual(p, in.Messages[i].Parts[j]) {
						t.Errorf("part %d of message %d is changed", j, i)
					}
				}
				got = append(got, marks)
			}
			if fmt.Sprint(got) != c.want {
				t.Errorf("got %v, want %s", got, c.want)
			}
			if fmt.Sprintf("%+v", in) != before {
				t.Error("the request given was changed")
			}
			if same := out == in; same != reflect.DeepEqual(out, in) {
				t.Errorf("the same request: %v", same)
			}
		})
	}
	if in := (&conv.Request{}); canon.MarkVolatile(in, canon.VolatileBlocks()) != in {
		t.Error("an empty request is copied")
	}
}
