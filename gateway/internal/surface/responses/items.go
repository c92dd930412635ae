package responses

import (
	"strings"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/abi/toolname"
	"github.com/weirgate/weir/gateway/internal/chain"
)

// searchTool is the name by which the model knows the search for deferred tools.
const searchTool = "tool_search"

// itemKind is what an item is to a prompt.
type itemKind uint8

const (
	itemShown itemKind = iota // nothing: for display, or unknown
	itemUntyped
	itemMessage
	itemReasoning
	itemFunctionCall
	itemCustomCall
	itemSearchCall
	itemOutput // of a function or custom tool
	itemSearchOutput
	itemTools
	itemReference
	itemCompaction
	itemTrigger
)

// itemKindOf tells the kind of an item of a type.
func itemKindOf(name []byte) itemKind {
	switch string(name) {
	case "":
		return itemUntyped
	case "message":
		return itemMessage
	case "reasoning":
		return itemReasoning
	case "function_call":
		return itemFunctionCall
	case "custom_tool_call":
		return itemCustomCall
	case "tool_search_call":
		return itemSearchCall
	case "function_call_output", "custom_tool_call_output":
		return itemOutput
	case "tool_search_output":
		return itemSearchOutput
	case "additional_tools":
		return itemTools
	case "item_reference":
		return itemReference
	case "compaction", "compaction_summary":
		return itemCompaction
	case "compaction_trigger":
		return itemTrigger
	}
	return itemShown
}

// inputItem is what an item's members say, in whatever order they came.
type inputItem struct {
	id, callID      string
	role            string
	name, namespace string
	arguments       string // or a custom tool's input
	seal            string
	text, summary   string // of reasoning
	phase           conv.Phase
	parts           []conv.Part // content or output
	tools           []conv.ToolDef
}

// input reads a text, which is the same as one message of the user's, or items.
func (d *decoder) input() (err error) {
	own := d.own
	own.Input, own.Refs, own.Compact = nil, nil, false
	switch d.Type() {
	case jsonscan.String:
		var it chain.Item
		it.JSON, err = d.Whole(func() error {
			parts, err := d.content()
			it.Messages = d.messages.Keep([]conv.Message{{Role: conv.User, Parts: parts}})
			return err
		})
		it.JSON = userItem(it.JSON)
		own.Input = []chain.Item{it}
		return err
	case jsonscan.Array:
		own.Input, err = d.items(own)
		return err
	}
	return d.BadType("a string or an array of items")
}

// userItem is a message of the user's that says text, a JSON string.
func userItem(text []byte) []byte {
	const head, tail = `{"type":"message","role":"user","content":[{"type":"input_text","text":`, `}]}`
	out := append(make([]byte, 0, len(head)+len(text)+len(tail)), head...)
	return append(append(out, text...), tail...)
}

// items reads items. own is told of those that stand for more than themselves; without it there may be none.
func (d *decoder) items(own *Own) ([]chain.Item, error) {
	list := make([]chain.Item, 0, d.Messages())
	ended := "" // where a trigger stands, behind which nothing may
	err := d.Array(func(i int) error {
		if err := d.Item(); err != nil {
			return err
		}
		if ended != "" {
			return d.Bad("expected nothing behind %s, which ends the input", ended)
		}
		it, k, err := d.item()
		list = append(list, it)
		switch {
		case err != nil:
			return err
		case k != itemReference && k != itemTrigger:
			return nil
		case own == nil:
			return d.BadMember("type", "expected an item that says something itself")
		case k == itemTrigger:
			own.Compact, ended = true, d.Path("")
			return nil
		}
		own.Refs = append(own.Refs, Ref{At: i, ID: it.ID, Path: d.Path("id")})
		return nil
	})
	return list, err
}

func (d *decoder) item() (out chain.Item, k itemKind, err error) {
	var it inputItem
	out.JSON, err = d.Whole(func() error {
		name, err := d.Tagged("type", func(name, key []byte) error { return d.itemMember(&it, itemKindOf(name), key) })
		if k = itemKindOf(name); k == itemShown {
			d.Ignore("input: " + clipped(name))
		}
		return err
	})
	if err != nil {
		return out, k, err
	}
	if k == itemUntyped {
		// The type of a message may be left out, and that of a reference.
		if k = itemMessage; it.role == "" && it.parts == nil && it.id != "" {
			k = itemReference
		}
	}
	out.ID = it.id
	out.Messages, err = d.says(&it, k)
	out.Tools = it.tools
	return out, k, err
}

func (d *decoder) itemMember(it *inputItem, k itemKind, key []byte) (err error) {
	if string(key) == "id" && d.Type() == jsonscan.String {
		it.id, err = d.String()
		return err
	}
	switch k {
	case itemUntyped, itemMessage:
		return d.messageMember(it, key)
	case itemReasoning:
		return d.reasoningMember(it, key)
	case itemFunctionCall, itemCustomCall, itemSearchCall:
		return d.callMember(it, k, key)
	case itemOutput, itemSearchOutput, itemTools:
		return d.outputMember(it, k, key)
	case itemCompaction:
		if string(key) == "encrypted_content" {
			it.seal, err = d.String()
			return err
		}
	}
	return d.Skip()
}

func (d *decoder) messageMember(it *inputItem, key []byte) (err error) {
	switch string(key) {
	case "role":
		it.role, err = d.Word()
	case "content":
		it.parts, err = d.content()
	case "phase":
		var b []byte
		b, err = d.Bytes()
		switch string(b) {
		case "commentary":
			it.phase = conv.PhaseCommentary
		case "final_answer":
			it.phase = conv.PhaseFinal
		default:
			d.Ignore("phase: " + clipped(b))
		}
	default:
		return d.Skip()
	}
	return err
}

func (d *decoder) reasoningMember(it *inputItem, key []byte) (err error) {
	switch string(key) {
	case "content":
		it.text, err = d.paragraphs()
	case "summary":
		it.summary, err = d.paragraphs()
	case "encrypted_content":
		it.seal, err = d.String()
	default:
		return d.Skip()
	}
	return err
}

func (d *decoder) callMember(it *inputItem, k itemKind, key []byte) (err error) {
	switch string(key) {
	case "call_id":
		it.callID, err = d.String()
	case "name":
		it.name, err = d.String()
	case "namespace":
		it.namespace, err = d.String()
	case "arguments":
		switch {
		case k == itemCustomCall:
			return d.Skip()
		case k == itemSearchCall && d.Type() != jsonscan.String:
			it.arguments, err = d.ObjectText()
		default:
			it.arguments, err = d.String()
		}
	case "input":
		if k != itemCustomCall {
			return d.Skip()
		}
		it.arguments, err = d.String()
	default:
		return d.Skip()
	}
	return err
}

func (d *decoder) outputMember(it *inputItem, k itemKind, key []byte) (err error) {
	switch string(key) {
	case "call_id":
		it.callID, err = d.String()
	case "output":
		if k != itemOutput {
			return d.Skip()
		}
		it.parts, err = d.content()
	case "tools":
		if k == itemOutput {
			return d.Skip()
		}
		it.tools, err = d.tools()
	default:
		return d.Skip()
	}
	return err
}

// says makes the messages of an item that was read whole.
func (d *decoder) says(it *inputItem, k itemKind) ([]conv.Message, error) {
	switch k {
	case itemMessage:
		return d.spoken(it)
	case itemReasoning:
		if it.text == "" {
			it.text = it.summary
		}
		if it.text == "" && it.seal == "" {
			return nil, nil
		}
		return d.one(conv.Assistant, conv.Part{Kind: conv.Reasoning, Text: it.text, Seal: it.seal}), nil
	case itemFunctionCall, itemCustomCall, itemSearchCall:
		return d.called(it, k)
	case itemOutput:
		return d.answered(it), nil
	case itemSearchOutput:
		for i := range it.tools {
			t := &it.tools[i]
			t.Deferred = true
			d.open = append(d.open, conv.Part{Kind: conv.Reference, Text: toolname.Of(t.Namespace, t.Name)})
		}
		it.parts = d.parts.Keep(d.open)
		d.open = d.open[:0]
		return d.answered(it), nil
	case itemReference:
		if it.id == "" {
			return nil, d.BadMember("id", "expected the id of an item")
		}
	case itemCompaction:
		if it.seal == "" {
			return nil, d.BadMember("encrypted_content", "expected what a compaction answered")
		}
		return d.one(conv.User, conv.Part{Kind: conv.Summary, Seal: it.seal}), nil
	}
	return nil, nil
}

func (d *decoder) spoken(it *inputItem) ([]conv.Message, error) {
	m := conv.Message{Parts: it.parts}
	switch it.role {
	case "user":
		m.Role = conv.User
	case "assistant":
		m.Role = conv.Assistant
		for i := range m.Parts {
			if m.Parts[i].Kind == conv.Text {
				m.Parts[i].Phase = it.phase
			}
		}
	case "system":
		m.Role = conv.System
	case "developer":
		m.Role = conv.Developer
	default:
		return nil, d.BadMember("role", "expected user, assistant, system or developer")
	}
	return d.messages.Keep([]conv.Message{m}), nil
}

func (d *decoder) called(it *inputItem, k itemKind) ([]conv.Message, error) {
	c := conv.ToolCall{ID: it.callID, Namespace: it.namespace, Name: it.name, Arguments: it.arguments}
	switch k {
	case itemCustomCall:
		c.Kind = conv.Custom
	case itemSearchCall:
		c.Kind, c.Namespace, c.Name = conv.ToolSearch, "", searchTool
	}
	if c.Name == "" {
		return nil, d.BadMember("name", "expected the name of a tool")
	}
	if c.Arguments == "" && k != itemCustomCall {
		c.Arguments = "{}"
	}
	return d.one(conv.Assistant, conv.Part{Kind: conv.Call, Call: d.calls.One(c)}), nil
}

func (d *decoder) answered(it *inputItem) []conv.Message {
	r := d.results.One(conv.ToolResult{CallID: it.callID, Parts: it.parts})
	return d.one(conv.Tool, conv.Part{Kind: conv.Result, Result: r})
}

// one is a message of one part.
func (d *decoder) one(role conv.Role, p conv.Part) []conv.Message {
	out := d.messages.Take(1)
	parts := d.parts.Take(1)
	parts[0] = p
	out[0] = conv.Message{Role: role, Parts: parts}
	return out
}

// paragraphs reads a string, or the texts of an array of parts with an empty line between them.
func (d *decoder) paragraphs() (string, error) {
	if d.Type() == jsonscan.String {
		return d.String()
	}
	var first string
	var all []string
	err := d.Array(func(int) error {
		if err := d.Item(); err != nil {
			return err
		}
		return d.Object(func(key []byte) error {
			if string(key) != "text" {
				return d.Skip()
			}
			s, err := d.String()
			switch {
			case s == "":
			case first == "":
				first = s
			default:
				all = append(all, s)
			}
			return err
		})
	})
	if len(all) == 0 {
		return first, err
	}
	return strings.Join(append([]string{first}, all...), "\n\n"), err
}
