package turnmemory_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/gateway/internal/canon"
	"github.com/weirgate/weir/gateway/internal/surface"
	"github.com/weirgate/weir/gateway/internal/surface/chat"
	"github.com/weirgate/weir/gateway/internal/surface/messages"
	"github.com/weirgate/weir/gateway/internal/turnmemory"
)

// habits are what a client does to a turn before it sends it back.
type habits struct {
	name    string
	keep    bool                // reasoning
	trim    bool                // a turn's text, at its ends
	args    func(string) string // nil: as received
	id      func(string) string // nil: as received
	shuffle bool                // results
	merge   bool                // a string where one text stands
	tail    string              // ends every request and is not kept
}

func clients() []habits {
	return []habits{
		{name: "as it came", keep: true},
		{name: "drops reasoning", merge: true},
		{name: "reads arguments", keep: true, args: rewrite, shuffle: true},
		{name: "writes arguments on many lines", args: spaced, merge: true},
		{name: "rewrites ids", id: func(s string) string { return strings.ReplaceAll(s, "_", "") }, trim: true},
		{name: "trims and shuffles", trim: true, shuffle: true, args: rewrite, merge: true},
		{name: "takes a block away", keep: true, tail: "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\nIt is late."},
	}
}

// client holds a conversation on one surface.
type client struct {
	surface surface.Surface
	habits
	rng     *rand.Rand
	history []any
}

// body is the next request. System text stands where the surface has it.
func (c *client) body(t *testing.T) []byte {
	t.Helper()
	all := slices.Clone(c.history)
	if c.tail != "" {
		all = append(all, map[string]any{"role": "user", "content": c.tail})
	}
	m := map[string]any{"model": "m", "max_tokens": 9}
	if c.surface.Name() == "messages" {
		m["system"] = "be kind"
	} else {
		all = slices.Insert(all, 0, any(map[string]any{"role": "system", "content": "be kind"}))
	}
	m["messages"] = all
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (c *client) say(role string, blocks []any) {
	m := map[string]any{"role": role, "content": blocks}
	if one, ok := blocks[0].(map[string]any); ok && c.merge && len(blocks) == 1 && one["type"] == "text" {
		m["content"] = one["text"]
	}
	c.history = append(c.history, m)
}

// decode is what the gateway makes of the next request.
func (c *client) decode(t *testing.T) *surface.Request {
	t.Helper()
	req, err := c.surface.Decode(c.body(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Request = canon.MarkVolatile(req.Request, canon.VolatileBlocks())
	return req
}

func (c *client) arguments(s string) string {
	if c.args == nil {
		return s
	}
	if again := c.args(s); again != "" {
		return again
	}
	return s
}

func (c *client) ident(s string) string {
	if c.id == nil {
		return s
	}
	return c.id(s)
}

// hear puts an answer into the history, as a whole body gives it, and returns the ids of its calls.
func (c *client) hear(t *testing.T, body []byte) (calls []string) {
	t.Helper()
	if c.surface.Name() == "chat" {
		return c.hearChat(t, body)
	}
	return c.hearMessages(t, body)
}

func (c *client) hearMessages(t *testing.T, body []byte) (calls []string) {
	t.Helper()
	var msg struct {
		Content []map[string]json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(body, &msg); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	var blocks []any
	var texts []map[string]any
	for _, b := range msg.Content {
		str := func(k string) (s string) { _ = json.Unmarshal(b[k], &s); return s }
		switch str("type") {
		case "thinking":
			if c.keep {
				blocks = append(blocks, b)
			}
		case "text":
			if s := str("text"); strings.TrimSpace(s) != "" || !c.trim {
				m := map[string]any{"type": "text", "text": s, "citations": nil}
				texts, blocks = append(texts, m), append(blocks, m)
			}
		case "tool_use":
			id := c.ident(str("id"))
			calls = append(calls, id)
			blocks = append(blocks, map[string]any{"type": "tool_use", "id": id, "name": str("name"), "input": json.RawMessage(c.arguments(string(b["input"])))})
		}
	}
	if c.trim && len(texts) > 0 {
		first, last := texts[0], texts[len(texts)-1]
		first["text"] = strings.TrimLeft(fmt.Sprint(first["text"]), " \n")
		last["text"] = strings.TrimRight(fmt.Sprint(last["text"]), " \n")
	}
	if len(blocks) == 0 {
		c.history = append(c.history, map[string]any{"role": "assistant", "content": ""})
		return calls
	}
	c.say("assistant", blocks)
	return calls
}

func (c *client) hearChat(t *testing.T, body []byte) (calls []string) {
	t.Helper()
	var msg struct {
		Choices []struct {
			Message struct {
				Content   *string `json:"content"`
				Reasoning string  `json:"reasoning_content"`
				Calls     []struct {
					ID       string
					Function struct{ Name, Arguments string }
				} `json:"tool_calls"`
			}
		}
	}
	if err := json.Unmarshal(body, &msg); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	m := msg.Choices[0].Message
	out := map[string]any{"role": "assistant", "content": m.Content}
	if m.Content != nil && c.trim {
		out["content"] = strings.TrimSpace(*m.Content)
	}
	if c.keep && m.Reasoning != "" {
		out["reasoning_content"] = m.Reasoning
	}
	var list []any
	for _, call := range m.Calls {
		id := c.ident(call.ID)
		calls = append(calls, id)
		list = append(list, map[string]any{"id": id, "type": "function", "function": map[string]any{"name": call.Function.Name, "arguments": c.arguments(call.Function.Arguments)}})
	}
	if list != nil {
		out["tool_calls"] = list
	}
	c.history = append(c.history, out)
	return calls
}

// answer puts the results of calls into the history, and what the user says after them.
func (c *client) answer(calls, texts []string, said string) {
	type pair struct{ id, text string }
	var pairs []pair
	for i, id := range calls {
		pairs = append(pairs, pair{id, texts[i]})
	}
	if c.shuffle {
		c.rng.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
	}
	if c.surface.Name() == "chat" {
		for _, p := range pairs {
			c.history = append(c.history, map[string]any{"role": "tool", "tool_call_id": p.id, "content": p.text})
		}
		if said != "" {
			c.say("user", []any{map[string]any{"type": "text", "text": said}})
		}
		return
	}
	var blocks []any
	for _, p := range pairs {
		blocks = append(blocks, map[string]any{"type": "tool_result", "tool_use_id": p.id, "content": []any{map[string]any{"type": "text", "text": p.text}}, "is_error": false})
	}
	if said != "" {
		blocks = append(blocks, map[string]any{"type": "text", "text": said, "cache_control": map[string]any{"type": "ephemeral"}})
	}
	c.say("user", blocks)
}

// turnOf tells a turn at random: reasoning, texts and calls in any order.
func turnOf(r *rand.Rand, n int) []event.Event {
	out := []event.Event{{Kind: event.TurnStart}}
	for i, calls := 0, 0; i < 1+r.IntN(5); i++ {
		switch r.IntN(3) {
		case 0:
			out = append(out, event.Event{Kind: event.ReasoningStart}, event.Event{Kind: event.ReasoningDelta, Text: []byte("hm\n")}, event.Event{Kind: event.ReasoningEnd})
		case 1:
			s := [...]string{"Look.", "\n\n", "é <x> ", "It is so:\n  indented", " "}[r.IntN(5)]
			if last := len(out) - 1; out[last].Kind == event.TextEnd {
				continue // two in a row are one in every format
			}
			out = append(out, event.Event{Kind: event.TextStart}, event.Event{Kind: event.TextDelta, Text: []byte(s)}, event.Event{Kind: event.TextEnd})
		case 2:
			c := event.Call{Index: calls, ID: fmt.Sprintf("call_%d_%d", n, calls), Name: [...]string{"read", "mcp__x__y"}[r.IntN(2)]}
			args := []byte(arguments(r))
			out = append(out, event.Event{Kind: event.ToolStart, Call: c}, event.Event{Kind: event.ToolArgs, Text: args}, event.Event{Kind: event.ToolEnd, Call: c, Complete: true})
			calls++
		}
	}
	return append(out, event.Event{Kind: event.UsageKind}, event.Event{Kind: event.Finish, Reason: event.ReasonStop})
}

// TestRoundTrips holds the same conversations through the decoders and encoders of both surfaces: every turn
// is found in every later request, whatever the client does to it, under one key on both.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	for _, h := range clients() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(60) {
				converse(t, h, seed)
			}
		})
	}
}

func converse(t *testing.T, h habits, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // because a test repeats itself
	both := []*client{
		{surface: chat.Surface{}, habits: h, rng: rand.New(rand.NewPCG(seed, 2))},     //nolint:gosec // as above
		{surface: messages.Surface{}, habits: h, rng: rand.New(rand.NewPCG(seed, 3))}, //nolint:gosec // as above
	}
	for _, c := range both {
		c.say("user", []any{map[string]any{"type": "text", "text": "Go on. "}})
	}
	var told []turnmemory.Key
	for n := range 4 {
		var fold event.Folder
		events := turnOf(r, n)
		for i := range events {
			if err := fold.Event(&events[i]); err != nil {
				t.Fatal(err)
			}
		}
		texts := make([]string, len(events))
		for i := range texts {
			texts[i] = fmt.Sprint("result ", r.IntN(3))
		}
		said := [...]string{"", "And now?"}[r.IntN(2)]
		var keys []turnmemory.Key
		for _, c := range both {
			req := c.decode(t)
			check(t, seed, c, req.Request, told)
			keys = append(keys, memory.KeyOf(req.Request, fold.Result.Blocks))
			calls := c.hear(t, c.surface.Body(req, surface.Info{ID: "x", Created: time.Unix(0, 0)}, &fold.Result))
			if len(calls) == 0 {
				said = "And now?"
			}
			c.answer(calls, texts, said)
		}
		if keys[0] != keys[1] {
			t.Fatalf("seed %d, turn %d: chat %x, messages %x", seed, n, keys[0], keys[1])
		}
		told = append(told, keys[0])
	}
	for _, c := range both {
		check(t, seed, c, c.decode(t).Request, told)
	}
}

// check wants the turns that were told among the keys of a request, in order.
func check(t *testing.T, seed uint64, c *client, req *conv.Request, told []turnmemory.Key) {
	t.Helper()
	var found []turnmemory.Key
	for _, k := range memory.Keys(req) {
		if k != (turnmemory.Key{}) {
			found = append(found, k)
		}
	}
	if fmt.Sprint(found) != fmt.Sprint(told) {
		t.Fatalf("seed %d, %s: the request has\n%x\ntold were\n%x\n%+v", seed, c.surface.Name(), found, told, c.history)
	}
}
