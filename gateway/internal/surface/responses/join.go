package responses

import (
	"fmt"
	"slices"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/toolname"
	"github.com/weirgate/weir/gateway/internal/chain"
	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/surface"
)

// compactWords asks the model for a compaction.
const compactWords = `The conversation above becomes too long and is about to be replaced by a summary, which you write now.
It is for another model that goes on with the task and sees nothing else of what was said and done. Write down:
- the goal, in the user's own words where they matter, and every wish and limit that still holds;
- what was decided and why, and what was tried and did not work;
- the state of things: files made or changed and what is in them now, commands that ran and what came out;
- what is left to do, in order, and what was being done last.
Give names, paths, identifiers, numbers and error messages exactly as they are.
Leave out what no longer matters, greetings and praise. Write plain text and nothing else, and call no tool.`

// Join makes of a request that Decode read the whole conversation: instructions, then history, which is the items of
// the answers that it goes on from, then its input. The caller has put the items that are referred to in their places.
// Where one of those answers is a compaction, it stands for all history before it. Neither items nor what they hold are
// changed; a request can be joined again. Errors are *fault.Error.
func Join(req *surface.Request, history []chain.Item) error {
	own := OwnOf(req)
	items := make([]chain.Item, 0, 1+len(own.preface)+len(history)+len(own.Input))
	if own.Instructions != "" {
		items = append(items, chain.Item{Messages: []conv.Message{
			{Role: conv.System, Parts: []conv.Part{{Kind: conv.Text, Text: own.Instructions}}},
		}})
	}
	items = append(items, own.preface...)
	lead := len(items)
	items = append(append(items, history...), own.Input...)
	if !own.NoGenerate && !slices.ContainsFunc(items[lead:], func(it chain.Item) bool { return len(it.Messages) > 0 }) {
		return fault.At(fault.Invalid, "input", "expected something to answer")
	}
	calls := callIDs(items)
	if own.Previous != "" || len(history) > 0 {
		if err := answersCalls(own.Input, calls); err != nil {
			return err
		}
	}
	said := items
	if n := summedUp(history); n > 0 {
		said = slices.Delete(slices.Clone(items), lead, lead+n)
		calls = callIDs(said)
	}
	req.Messages = chain.Merge(said)
	told(req.Messages, calls)
	if own.Compact {
		// Tools stay, so that the prompt begins as the one before did.
		req.Choice = conv.ToolChoice{Mode: conv.ChoiceNone, Parallel: req.Choice.Parallel}
		req.Format = conv.Format{}
		req.Messages = append(req.Messages, conv.Message{Role: conv.User, Parts: []conv.Part{{Kind: conv.Text, Text: compactWords}}})
	}
	return joinTools(req, items)
}

// summedUp is how many items of history an answer among them sums up. The summary of such a one is known; those in items
// that a client sent are sealed, and stand behind what it wants said beside them.
func summedUp(history []chain.Item) int {
	for i := range slices.Backward(history) {
		for _, m := range history[i].Messages {
			if slices.ContainsFunc(m.Parts, func(p conv.Part) bool { return p.Kind == conv.Summary && p.Text != "" }) {
				return i
			}
		}
	}
	return 0
}

// callIDs are the ids of all calls.
func callIDs(items []chain.Item) map[string]bool {
	ids := map[string]bool{}
	for i := range items {
		for _, m := range items[i].Messages {
			for j := range m.Parts {
				if c := m.Parts[j].Call; c != nil {
					ids[c.ID] = true
				}
			}
		}
	}
	return ids
}

// answersCalls checks that every result of the input has a call.
func answersCalls(input []chain.Item, calls map[string]bool) error {
	for i := range input {
		for _, m := range input[i].Messages {
			for j := range m.Parts {
				if r := m.Parts[j].Result; r != nil && !calls[r.CallID] {
					return fault.At(fault.Invalid, fmt.Sprintf("input[%d].call_id", i), "no tool call found for call_id %.64s", r.CallID)
				}
			}
		}
	}
	return nil
}

// told makes words of the user's of results whose calls are not there: the client has cut them away.
func told(messages []conv.Message, calls map[string]bool) {
	for i := range messages {
		m := &messages[i]
		if m.Role != conv.Tool || len(m.Parts) != 1 || m.Parts[0].Result == nil || calls[m.Parts[0].Result.CallID] {
			continue
		}
		*m = conv.Message{Role: conv.User, Parts: m.Parts[0].Result.Parts}
	}
}

// joinTools adds the tools of items to the request's own, and checks the choice among them.
func joinTools(req *surface.Request, items []chain.Item) error {
	have := map[toolRef]bool{}
	for i := range req.Tools {
		have[refOf(&req.Tools[i])] = true
	}
	for i := range items {
		for j := range items[i].Tools {
			t := &items[i].Tools[j]
			if r := refOf(t); !have[r] {
				have[r] = true
				req.Tools = append(req.Tools, *t)
			}
		}
	}
	if err := distinct(req.Tools); err != nil {
		return err
	}
	wish := &OwnOf(req).choice
	if wish.only {
		allowed := make(map[toolRef]bool, len(wish.tools))
		for _, r := range wish.tools {
			allowed[r] = true
		}
		req.Tools = slices.DeleteFunc(req.Tools, func(t conv.ToolDef) bool {
			return !allowed[refOf(&t)] && !allowed[toolRef{namespace: t.Namespace}] && !allowed[knownAs(&t)]
		})
	}
	return choose(req, wish)
}

// distinct checks that no two tools have one name for the model.
func distinct(tools []conv.ToolDef) error {
	names := make(map[string]*conv.ToolDef, len(tools))
	for i := range tools {
		t := &tools[i]
		name := toolname.Of(t.Namespace, t.Name)
		if other := names[name]; other != nil {
			return fault.At(fault.Invalid, "tools", "the model would know both %s and %s as %q", described(other), described(t), name[:min(len(name), 64)])
		}
		names[name] = t
	}
	return nil
}

func described(t *conv.ToolDef) string {
	if t.Namespace == "" {
		return fmt.Sprintf("the tool %.64q", t.Name)
	}
	return fmt.Sprintf("the tool %.64q of namespace %.64q", t.Name, t.Namespace)
}

// choose checks the choice against the tools, and names a chosen one as the model knows it.
func choose(req *surface.Request, wish *toolWish) error {
	c := &req.Choice
	switch {
	case c.Mode == conv.ChoiceRequired && len(req.Tools) == 0:
		return fault.At(fault.Invalid, "tool_choice", "a call is required, but the request has no tools")
	case c.Mode == conv.ChoiceNamed:
		r := wish.tools[0]
		for i := range req.Tools {
			if t := &req.Tools[i]; r == refOf(t) || r == knownAs(t) {
				c.Name = knownAs(t).name
				return nil
			}
		}
		return fault.At(fault.Invalid, "tool_choice", "the request has no tool %q", toolname.Of(r.namespace, r.name[:min(len(r.name), 64)]))
	}
	return nil
}

// worthCutting is the least bytes of a result that are cut: more than the note that is put in their place.
const worthCutting = 64

// Shorten makes a compaction fit that is about over bytes too long: the oldest results of tools give way to a note,
// until that much is gone. It changes the request and none of the messages that it had. It is false when there is
// nothing left that could be cut.
func Shorten(req *surface.Request, over int) bool {
	cut := false
	for i := 0; i < len(req.Messages) && over > 0; i++ {
		m := req.Messages[i]
		changed := false
		for j := 0; j < len(m.Parts) && over > 0; j++ {
			r, gone := shortened(m.Parts[j].Result)
			if gone == 0 {
				continue
			}
			if !changed {
				m.Parts, changed = slices.Clone(m.Parts), true
			}
			m.Parts[j].Result = r
			over -= gone
		}
		if !changed {
			continue
		}
		if !cut {
			canonical := *req.Request
			canonical.Messages = slices.Clone(canonical.Messages)
			req.Request, cut = &canonical, true
		}
		req.Messages[i] = m
	}
	return cut
}

// shortened is a result with a note in place of its texts, and by how many bytes it is shorter; 0 where it is not.
func shortened(r *conv.ToolResult) (*conv.ToolResult, int) {
	if r == nil {
		return nil, 0
	}
	size := 0
	for i := range r.Parts {
		if p := &r.Parts[i]; p.Kind == conv.Text {
			size += len(p.Text)
		}
	}
	if size < worthCutting {
		return nil, 0
	}
	note := fmt.Sprintf("[output of %d bytes left out]", size)
	short := *r
	short.Parts = []conv.Part{{Kind: conv.Text, Text: note}}
	for _, p := range r.Parts {
		if p.Kind != conv.Text {
			short.Parts = append(short.Parts, p)
		}
	}
	return &short, size - len(note)
}
