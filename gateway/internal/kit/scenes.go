package kit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/plan"
)

// scene is a conversation for a renderer. Each of its texts is like no other.
type scene struct {
	name  string
	rows  []plan.RenderRow
	tools []plan.RenderTool
	// ends are the numbers of messages up to which it may be asked of a model: not between two results of
	// one turn.
	ends []int
}

// utterances puts scenes together.
type utterances struct {
	scene
	words int
}

// word is a text that stands nowhere else.
func (u *utterances) word() string {
	u.words++
	return fmt.Sprintf("%s word %d.", u.name, u.words)
}

// say adds a message of parts.
func (u *utterances) say(role conv.Role, parts ...plan.RenderRow) {
	m := uint32(0)
	if n := len(u.rows); n > 0 {
		m = u.rows[n-1].Message + 1
	}
	for k, r := range parts {
		r.Message, r.Part, r.Role = m, uint16(k), uint8(role)
		if r.Text == "" && r.Size == 0 {
			r.Flags |= plan.RowEmpty
		}
		u.rows = append(u.rows, r)
	}
}

// end says that the conversation may be asked as it is.
func (u *utterances) end() { u.ends = append(u.ends, int(u.rows[len(u.rows)-1].Message)+1) }

func (u *utterances) text() plan.RenderRow {
	return plan.RenderRow{Kind: uint8(conv.Text), Text: u.word()}
}

func (u *utterances) thought() plan.RenderRow {
	return plan.RenderRow{Kind: uint8(conv.Reasoning), Text: u.word()}
}

func (u *utterances) call(id string) plan.RenderRow {
	arguments := fmt.Sprintf(`{"path":%q,"depth":3,"tags":["a",null]}`, u.word())
	return plan.RenderRow{Kind: uint8(conv.Call), Name: "get_stock", ID: id, Text: arguments}
}

func (u *utterances) result(id string) plan.RenderRow {
	return plan.RenderRow{Kind: uint8(conv.Result), Name: "get_stock", ID: id, Text: u.word()}
}

// turn is a request of a user, two rounds of calls and an answer.
func (u *utterances) turn() {
	n := len(u.rows)
	id := func(k int) string { return fmt.Sprintf("call_%d_%d", n, k) }
	u.say(conv.User, u.text())
	u.end()
	u.say(conv.Assistant, u.thought(), u.text(), u.call(id(1)), u.call(id(2)))
	u.end()
	u.say(conv.Tool, u.result(id(1)))
	u.say(conv.Tool, u.result(id(2)))
	u.end()
	u.say(conv.Assistant, u.thought(), u.call(id(3)))
	u.end()
	u.say(conv.Tool, u.result(id(3)))
	u.end()
	u.say(conv.Assistant, u.thought(), u.text())
	u.end()
}

// scenes are conversations as they occur, and the edges of what may occur.
func scenes() []scene {
	tools := []plan.RenderTool{
		{Name: "get_stock", Description: "price of a \"share\"", Schema: `{"type":"object","properties":{"path":{"type":"string"}}}`, Flags: plan.ToolStrict},
		{Kind: uint8(conv.Custom), Name: "run", Schema: `{"syntax":"lark"}`},
		{Name: "bare"},
	}
	var out []scene
	add := func(name string, f func(u *utterances)) {
		u := utterances{scene: scene{name: name}}
		f(&u)
		out = append(out, u.scene)
	}
	add("nothing", func(*utterances) {})
	add("greeting", func(u *utterances) {
		u.say(conv.User, u.text())
		u.end()
	})
	add("turns", func(u *utterances) {
		u.say(conv.System, u.text())
		u.turn()
		u.turn()
		u.say(conv.User, u.text())
		u.end()
	})
	add("agent", func(u *utterances) {
		u.tools = tools
		u.say(conv.System, u.text(), u.text())
		u.say(conv.Developer, u.text())
		u.turn()
		u.turn()
	})
	add("results of a user", func(u *utterances) {
		u.tools = tools
		u.say(conv.User, u.text(), u.text())
		u.end()
		u.say(conv.Assistant, u.call("a"), u.call("b"))
		u.end()
		u.say(conv.User, u.result("b"), u.result("a"), u.text())
		u.end()
	})
	add("odd calls", func(u *utterances) {
		u.tools = tools
		u.say(conv.User, u.text())
		custom := plan.RenderRow{Kind: uint8(conv.Call), Name: "run", ID: "a", Text: u.word(), Flags: plan.RowCustom}
		u.say(conv.Assistant, custom, plan.RenderRow{Kind: uint8(conv.Call), Name: "get_stock", ID: "b", Text: `{"cut": "` + u.word()}, plan.RenderRow{Kind: uint8(conv.Call), Name: "gone"})
		u.say(conv.Tool, u.result("no such call"))
	})
	add("odd messages", func(u *utterances) {
		u.say(conv.Assistant, u.thought(), u.text())
		u.say(conv.Assistant, plan.RenderRow{Kind: uint8(conv.Reasoning), Flags: plan.RowSealed}, u.text(), u.thought(), u.text())
		u.say(conv.Tool, u.result("none"))
		u.say(conv.User, plan.RenderRow{Kind: uint8(conv.MediaPart), Size: 1 << 20}, plan.RenderRow{Kind: uint8(conv.Text)})
		u.say(conv.User, u.text(), plan.RenderRow{Kind: uint8(conv.Reference), Text: "bare"})
		u.say(conv.System, u.text())
	})
	add("long", func(u *utterances) {
		u.tools = tools
		for range 300 {
			u.turn()
		}
		u.ends = nil
	})
	return out
}

// input is the beginning of a scene, so many messages of it.
func (s *scene) input(messages int, switches string, content plan.Content) *plan.RenderInput {
	n := len(s.rows)
	for n > 0 && int(s.rows[n-1].Message) >= messages {
		n--
	}
	in := &plan.RenderInput{Rows: slices.Clone(s.rows[:n]), Tools: s.tools, Switches: []byte(switches), Content: content}
	for k := n - 1; k >= 0; k-- {
		if r := &in.Rows[k]; conv.Role(r.Role) == conv.User && conv.PartKind(r.Kind) != conv.Result {
			for j := k; j >= 0 && in.Rows[j].Message == r.Message; j-- {
				in.Rows[j].Flags |= plan.RowLastUser
			}
			break
		}
	}
	return in
}

// messages is how many a scene has.
func (s *scene) messages() int {
	if len(s.rows) == 0 {
		return 0
	}
	return int(s.rows[len(s.rows)-1].Message) + 1
}

// own is what of a part's text stands in a prompt, whatever its escapes: its word.
func own(r *plan.RenderRow) string {
	if conv.PartKind(r.Kind) != conv.Call {
		return r.Text
	}
	for piece := range strings.SplitSeq(r.Text, `"`) {
		if strings.HasSuffix(piece, ".") {
			return piece
		}
	}
	return ""
}
