package turnmemory

import (
	"slices"
	"strings"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/abi/toolname"
)

// Key stands for a conversation up to and with one turn of the assistant. The zero Key stands for none.
//
// It is the same for every form in which clients bring a conversation back, on whatever surface:
//   - reasoning does not count, for many clients drop it;
//   - ids of calls do not count, for some rewrite them: position decides, and results stand in the order
//     of their calls, as they do in prompts;
//   - arguments that are JSON count by value: members in any order, of two with one name the last, numbers
//     as a double holds them, none at all as {};
//   - texts of a turn are one text, before its calls, without the white space at its two ends;
//   - messages of one role in a row are one, and so are turns of the assistant in a row;
//   - parts that the client takes away again (conv.Part.Volatile) do not count.
//
// Keys are 128 bits of hashes that are seeded anew for every Memory and never leave it: nobody can choose
// two conversations that share one. And no tenant meets the turns of another.
type Key digest

// Keys returns the key of each assistant message of a conversation, by the message's index. It is zero for
// other messages, for one that goes on with an assistant message directly before it, since no turn stands
// for it alone, and for all where nothing is remembered. The work is linear in the conversation.
func (m *Memory) Keys(req *conv.Request) []Key {
	keys, _ := m.Follow(req)
	return keys
}

// KeyOf is the key of a turn that was written after a conversation: what Keys says of it when the client
// sends it back. A call that is not complete counts as the text of its raw bytes.
//
// Where the model continues the assistant's last message, clients send that and what it wrote back as one
// message. The key is then that of both: what is remembered as Before must end with the client's part. When
// the last message is the assistant's and is not continued there is no key.
func (m *Memory) KeyOf(req *conv.Request, blocks []event.Block) Key {
	_, end := m.Follow(req)
	return end.Key(blocks)
}

// Follow is Keys, and returns what KeyOf needs of the conversation, which is then not read twice.
func (m *Memory) Follow(req *conv.Request) ([]Key, *End) {
	keys := make([]Key, len(req.Messages))
	if m == nil || m.max == 0 {
		return keys, nil
	}
	w := &walk{seeds: &m.seeds, known: m.arguments, continued: req.Prompting.Continue}
	w.past.seed(w.seeds)
	w.turn.seed(w.seeds)
	for i := range req.Messages {
		if m := &req.Messages[i]; m.Role == conv.Assistant {
			first := !w.open
			if w.assistant(m.Parts); first {
				keys[i] = Key(w.turn.sum(w.seeds, w.prefix))
			}
		} else {
			w.other(m)
		}
	}
	w.flush()
	return keys, &End{w}
}

// End is where a conversation ends. It is used by one goroutine at a time; nil is the end of one that is
// not remembered.
type End struct{ w *walk }

// Key is KeyOf.
func (e *End) Key(blocks []event.Block) Key {
	if e == nil {
		return Key{}
	}
	w := e.w
	if w.open && !w.continued {
		return Key{}
	}
	prefix, t := w.prefix, w.turn
	if w.open {
		t.space, t.joined = slices.Clone(t.space), slices.Clone(t.joined)
	} else {
		prefix = w.past.sum()
		t = turn{}
		t.seed(w.seeds)
	}
	for i := range blocks {
		switch b := &blocks[i]; {
		case b.Kind == event.TextStart:
			t.say(string(b.Text))
		case b.Kind == event.ToolStart && !b.Complete:
			t.say(string(b.Raw))
		case b.Kind == event.ToolStart:
			w.call(&t, toolname.Of(b.Call.Namespace, b.Call.Name), string(b.Call.Arguments), b.Call.Kind == event.Custom)
		}
	}
	return Key(t.sum(w.seeds, prefix))
}

// walk goes through a conversation.
type walk struct {
	seeds *seeds
	known *arguments
	// continued: the model goes on with the last message.
	continued bool
	past      digester  // all up to the turn that is open, or up to here
	role      conv.Role // who spoke last, in past
	open      bool      // the last message was the assistant's
	prefix    digest    // of past, while a turn is open
	turn      turn
	ids       []string           // of the calls of the last turn
	results   []*conv.ToolResult // that wait for those of other calls
	json      canonical
}

func (w *walk) assistant(parts []conv.Part) {
	if !w.open {
		w.flush()
		w.open, w.prefix, w.ids = true, w.past.sum(), w.ids[:0]
		w.turn.reset()
	}
	for i := range parts {
		switch p := &parts[i]; {
		case p.Volatile:
		case p.Kind == conv.Text:
			w.turn.say(p.Text)
		case p.Kind == conv.Call && p.Call != nil:
			c := p.Call
			w.call(&w.turn, toolname.Of(c.Namespace, c.Name), c.Arguments, c.Kind == conv.Custom)
			w.ids = append(w.ids, c.ID)
		case p.Kind == conv.MediaPart:
			w.turn.media(p.Media)
		}
	}
}

// call adds a call to a turn.
func (w *walk) call(t *turn, name, arguments string, custom bool) {
	t.summed = false
	t.calls.item(tagCall, name)
	if custom {
		t.calls.item(tagInput, arguments)
		return
	}
	if value, ok := w.known.of(w.seeds, &w.json, arguments); ok {
		t.calls.digest(tagArguments, value)
		return
	}
	t.calls.item(tagMalformed, arguments)
}

// close ends the turn that is open, and makes it a part of what is past.
func (w *walk) close() {
	if !w.open {
		return
	}
	all := w.turn.sum(w.seeds, w.prefix)
	w.past.reset()
	w.past.digest(tagTurn, all)
	w.open, w.role = false, 0
}

func (w *walk) other(m *conv.Message) {
	w.close()
	for i := range m.Parts {
		p := &m.Parts[i]
		switch {
		case p.Volatile || p.Kind == conv.Reasoning:
			continue
		case p.Kind == conv.Result && p.Result != nil:
			w.results = append(w.results, p.Result)
			continue
		}
		w.flush()
		w.speaks(m)
		w.past.part(p)
	}
}

// speaks notes a change of who speaks. A developer and the system are one.
func (w *walk) speaks(m *conv.Message) {
	role := m.Role
	if role == conv.Developer {
		role = conv.System
	}
	if role != w.role {
		w.role = role
		w.past.tag(tagRole, int(role))
	}
	if m.Name != "" {
		w.past.item(tagName, m.Name)
	}
}

// flush adds the waiting results in the order of their calls: clients send them as they come. Those of one
// id stay in their order, and those of unknown calls come last.
func (w *walk) flush() {
	if len(w.results) == 0 {
		return
	}
	w.order()
	for _, r := range w.results {
		failed := 0
		if r.IsError {
			failed = 1
		}
		w.past.tag(tagResult, failed)
		for i := range r.Parts {
			if p := &r.Parts[i]; !p.Volatile {
				w.past.part(p)
			}
		}
		w.past.tag(tagEnd, 0)
	}
	w.results, w.role = w.results[:0], conv.Tool
}

// few is how many results and calls are put in order without a map.
const few = 16

// order puts the results that wait in the order of their calls.
func (w *walk) order() {
	if len(w.results) < 2 {
		return
	}
	rank := func(r *conv.ToolResult) int {
		for i, id := range slices.Backward(w.ids) {
			if id == r.CallID {
				return i
			}
		}
		return len(w.ids)
	}
	if len(w.results) > few || len(w.ids) > few {
		order := make(map[string]int, len(w.ids))
		for i, id := range w.ids {
			order[id] = i
		}
		rank = func(r *conv.ToolResult) int {
			if at, ok := order[r.CallID]; ok {
				return at
			}
			return len(w.ids)
		}
	}
	slices.SortStableFunc(w.results, func(a, b *conv.ToolResult) int { return rank(a) - rank(b) })
}

// turn is what the assistant says in a row: its text and its calls, each in their order.
type turn struct {
	text   string // as long as it came in one piece
	joined []byte // or else
	space  []byte // behind the text so far: it counts when more text comes
	begun  bool   // there was more than white space
	calls  digester

	digest digest // what sum said
	summed bool   // and nothing was added since
}

func (t *turn) seed(s *seeds) { t.calls.seed(s) }

func (t *turn) reset() {
	t.calls.reset()
	t.text, t.joined, t.space = "", t.joined[:0], t.space[:0]
	t.begun, t.summed = false, false
}

func (t *turn) say(text string) {
	if !t.begun {
		text = strings.TrimLeftFunc(text, isSpace)
	}
	body := strings.TrimRightFunc(text, isSpace)
	switch {
	case body == "":
	case !t.begun:
		t.text, t.begun = body, true
	default:
		if len(t.joined) == 0 {
			t.joined = append(t.joined, t.text...)
		}
		t.joined = append(append(t.joined, t.space...), body...)
	}
	if body != "" {
		t.space, t.summed = t.space[:0], false
	}
	if t.begun {
		t.space = append(t.space, text[len(body):]...)
	}
}

func (t *turn) media(m *conv.Media) {
	if m != nil {
		t.calls.media(m)
		t.summed = false
	}
}

// sum is the digest of a conversation that goes on with the turn. prefix is the same as long as the turn is not reset.
func (t *turn) sum(s *seeds, prefix digest) digest {
	if !t.summed {
		text := t.text
		if len(t.joined) > 0 {
			text = string(t.joined)
		}
		t.digest, t.summed = s.chain(prefix, s.textOf(text), t.calls.sum()), true
	}
	return t.digest
}
