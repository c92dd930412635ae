package prompt_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/gateway/internal/prompt"
)

// raw is what a model might have written: no template makes it from a message.
const raw = "\n wrote  THIS\u00a0{\"b\":1.50, \"a\" :2}\n\n"

// When a turn is remembered, the prompt and what the model wrote begin the next prompt, byte for byte. Where
// they do not, the template drops reasoning that the turn had, has no token of those that end turns behind
// it, or writes something else in front of the turn when it is history.
func TestRememberedTurnsAreReplayed(t *testing.T) {
	t.Parallel()
	head := []conv.Message{system("Sys."), user("Ask")}
	args := `{"place":"Here","days":1.50}`
	cases := []struct {
		name   string
		before []conv.Message
		turn   conv.Message
		then   conv.Message
		tools  bool
		most   int // so many templates of 195 replay it at least
	}{
		{name: "answer", before: head, turn: answer(text("Said.")), then: user("More"), most: 175},
		{name: "call", before: head, turn: answer(call("callid001", "weather", args)), then: tool("callid001", "Rain"), tools: true, most: 170},
		{name: "text and call", before: head, turn: answer(text("Look."), call("callid001", "weather", args)), then: tool("callid001", "Rain"), tools: true, most: 170},
		{name: "two calls", before: head, turn: answer(call("callid001", "weather", args), call("callid002", "weather", args)), then: says(conv.Tool, result("callid002", text("Sun")), result("callid001", text("Rain"))), tools: true, most: 170},
		{name: "thought and call", before: head, turn: answer(think("Hm."), call("callid001", "weather", args)), then: tool("callid001", "Rain"), tools: true, most: 165},
		{name: "thought and answer", before: head, turn: answer(think("Hm."), text("Said.")), then: user("More"), most: 130},
		{
			name: "after a result", before: append(slices.Clone(head), answer(call("callid001", "weather", args)), tool("callid001", "Rain")),
			turn: answer(call("callid002", "weather", args)), then: tool("callid002", "Sun"), tools: true, most: 170,
		},
	}
	all := corpusModels(t)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			good, why := 0, map[string][]string{}
			for _, name := range slices.Sorted(maps.Keys(all)) {
				reason := replays(t, all[name], c.before, c.turn, c.then, c.tools)
				if reason == "" {
					good++
					continue
				}
				why[reason] = append(why[reason], name)
			}
			if t.Logf("%d of %d templates replay the turn", good, len(all)); good < c.most {
				t.Errorf("%d templates replay the turn, there were %d", good, c.most)
			}
			for _, r := range slices.Sorted(maps.Keys(why)) {
				t.Logf("%d: %s: %s", len(why[r]), r, strings.Join(why[r], " "))
			}
		})
	}
}

// replays gives the reason why a turn is not replayed, if it is not.
func replays(t *testing.T, m *prompt.Model, before []conv.Message, turn, then conv.Message, tools bool) string {
	t.Helper()
	req := request(before...)
	if tools {
		req.Tools = []conv.ToolDef{weather()}
	}
	p1, err := m.Render(t.Context(), &prompt.Input{Request: req, Origins: true})
	if err != nil {
		return "refused: " + err.Error()
	}
	next := *req
	next.Messages = append(slices.Clone(before), turn, then)
	memory := func(i int) *prompt.Turn {
		if i == len(before) {
			return &prompt.Turn{Before: p1.Before, Text: raw, IDs: []uint32{1, 2, 3}}
		}
		return nil
	}
	p2, err := m.Render(t.Context(), &prompt.Input{Request: &next, Turns: memory, Origins: true})
	if err != nil {
		return "refused then: " + err.Error()
	}
	covers(t, p2)
	if strings.HasPrefix(p2.Text, p1.Text+raw) {
		if len(p2.Splices) != 1 || p2.Text[p2.Splices[0].From:p2.Splices[0].To] != raw {
			t.Errorf("replayed, but the ids are at %v", p2.Splices)
		}
		return ""
	}
	if len(p2.Splices) == 0 {
		return "no splice"
	}
	n := 0
	for n < len(p1.Text) && n < len(p2.Text) && p1.Text[n] == p2.Text[n] {
		n++
	}
	return fmt.Sprintf("differs: %.40q", p1.Text[n:])
}
