package ledger

import "strings"

// verdict is what the parts of two prompts say.
type verdict struct {
	cause   Cause
	i, j    int // parts that differ: of the earlier prompt and of the new one; at the end where it has none
	at      *part
	gone    bool // at is of the earlier prompt
	between bool // the template's bytes before at differ, not its own
	owner   Owner
	change  Change
	extends bool // all of the earlier prompt was found
}

// comparison is of the parts of an earlier prompt with those of a new one.
type comparison struct {
	old, now []part
	tail     string         // follows the last of old
	closed   bool           // tail is known
	text     string         // of the new prompt
	owner    Owner          // of the new prompt
	index    map[uint64]int // where in now a canonical hash stands last; made when it is needed
}

// same reports whether two parts have the same bytes in front of them and in them.
func (p *part) same(q *part) bool {
	return p.canonical == q.canonical && p.kind == q.kind && p.rendered == q.rendered &&
		(p.gap == q.gap || p.gap == 0 || q.gap == 0)
}

// judge finds the first part in which the prompts differ and says why. Parts without bytes in a prompt
// make no difference by themselves.
func (c *comparison) judge() verdict {
	i, j, pos := 0, 0, 0
	for i < len(c.old) && j < len(c.now) {
		o, n := &c.old[i], &c.now[j]
		switch {
		case o.same(n):
			if !n.empty() {
				pos = int(n.end)
			}
			i, j = i+1, j+1
		case o.empty() && (n.kind != Reasoning || n.canonical != o.canonical):
			i++
		case n.empty() && o.kind != Reasoning:
			j++
		default:
			v := c.differ(i, j)
			v.i, v.j = i, j
			return v
		}
	}
	for i < len(c.old) && c.old[i].empty() {
		i++
	}
	if i < len(c.old) { // the client went back to an earlier point
		return verdict{i: i, j: j}
	}
	v := c.after(j, pos)
	v.i, v.j = i, j
	return v
}

// after judges a new prompt that has all the parts of the earlier one, up to pos of its text, and goes on
// with its part j.
func (c *comparison) after(j, pos int) verdict {
	if !c.closed || c.text == "" || strings.HasPrefix(c.text[min(pos, len(c.text)):], c.tail) {
		return verdict{extends: true}
	}
	for ; j < len(c.now); j++ {
		n := &c.now[j]
		switch {
		case n.empty() && n.kind == Reasoning:
			return verdict{cause: ReasoningDropped, at: n, owner: c.owner}
		case n.empty():
		case n.kind != Assistant && n.kind != Reasoning && n.kind != Call:
			// Nobody answered, so the answer's header is not in the history.
			return verdict{}
		case n.flags&Forgotten != 0:
			return verdict{cause: TurnUnknown, at: n}
		default:
			return verdict{cause: TemplateChanged, at: n, between: true}
		}
	}
	return verdict{cause: TemplateChanged}
}

// differ says why old part i and new part j, the first that are not the same, are not.
func (c *comparison) differ(i, j int) verdict {
	o, n := &c.old[i], &c.now[j]
	if o.flags&Volatile != 0 {
		return verdict{}
	}
	if o.canonical == n.canonical {
		return c.rendering(i, j)
	}
	if o.kind == Preamble || n.kind == Preamble {
		return verdict{cause: HeaderChanged, at: n}
	}
	if o.kind == ToolSchema || n.kind == ToolSchema {
		if v := c.tools(o, n); v.change != Unchanged {
			return v
		}
	}
	if !c.begun(i) && (!o.kind.history() || !n.kind.history()) {
		if o.kind == System && n.kind != System {
			return verdict{cause: SystemChanged, at: o, gone: true}
		}
		return verdict{cause: SystemChanged, at: n}
	}
	if v := c.reasoning(i, j); v.cause != None {
		return v
	}
	if find(c.old[i+1:], c.now[j:]) && !find(c.now[j+1:], c.old[i:]) {
		return verdict{cause: Truncated, at: o, gone: true}
	}
	return verdict{cause: HistoryEdited, at: n}
}

// rendering judges two parts that hold the same and do not look the same.
func (c *comparison) rendering(i, j int) verdict {
	o, n := &c.old[i], &c.now[j]
	v := verdict{at: n}
	switch {
	case o.kind != n.kind:
		v.cause = RoleFold
	case o.kind == Reasoning && n.empty():
		v.cause, v.owner = ReasoningDropped, c.owner
	case o.kind == Reasoning && o.empty():
		v.cause, v.owner = ReasoningMutated, c.owner
	case o.rendered != n.rendered && n.flags&Forgotten != 0:
		v.cause = TurnUnknown
	case o.rendered != n.rendered:
		v.cause = TemplateReserialises
	case o.gap != n.gap && j > 0 && c.now[j-1].kind == Reasoning && c.now[j-1].empty():
		// What stood in front of it was not told apart from the turn's own bytes.
		v.cause, v.at, v.owner = ReasoningDropped, &c.now[j-1], c.owner
	case joined(c.old, i) != joined(c.now, j):
		v.cause = RoleFold
	default:
		v.cause, v.between = TemplateChanged, true
	}
	return v
}

// joined reports whether part i is of the same message as the part before it.
func joined(parts []part, i int) bool {
	return i > 0 && parts[i-1].message == parts[i].message && parts[i-1].kind.history() == parts[i].kind.history()
}

// begun reports whether anything was said before old part i: a system text after that is history.
func (c *comparison) begun(i int) bool {
	for k := range c.old[:i] {
		if c.old[k].kind.history() {
			return true
		}
	}
	return false
}

// tools judges two parts of which one is a tool.
func (c *comparison) tools(o, n *part) verdict {
	v := verdict{cause: ToolsChanged, at: n}
	switch {
	case o.kind == n.kind && o.name == n.name:
		v.change = Edited
	case n.kind == ToolSchema && tool(c.old, n.name) == nil:
		v.change = Added
	case o.kind == ToolSchema && tool(c.now, o.name) == nil:
		v.change, v.at, v.gone = Removed, o, true
	case o.kind == n.kind:
		v.change = Reordered
	}
	return v
}

func tool(parts []part, name string) *part {
	for i := range parts {
		if p := &parts[i]; p.kind == ToolSchema && p.name == name {
			return p
		}
	}
	return nil
}

// reasoning judges two parts of which one may be reasoning.
func (c *comparison) reasoning(i, j int) verdict {
	o, n := &c.old[i], &c.now[j]
	switch {
	case o.kind == Reasoning && n.kind == Reasoning && n.empty():
		return verdict{cause: ReasoningDropped, at: n, owner: c.owner}
	case o.kind == Reasoning && n.kind == Reasoning:
		return verdict{cause: ReasoningMutated, at: n, owner: OwnerClient}
	case o.kind == Reasoning && goesOn(c.old[i+1:], n):
		return verdict{cause: ReasoningDropped, at: o, gone: true, owner: OwnerClient}
	case n.kind == Reasoning && goesOn(c.now[j+1:], o):
		return verdict{cause: ReasoningMutated, at: n, owner: OwnerClient}
	}
	return verdict{}
}

// goesOn reports whether the conversation goes on with next after the reasoning that stands before parts.
func goesOn(parts []part, next *part) bool {
	if next.kind == Assistant || next.kind == Call {
		return true
	}
	for i := range parts {
		if p := &parts[i]; p.kind != Reasoning && !p.empty() {
			return p.canonical == next.canonical
		}
	}
	return true
}

// find reports whether the first of sought, with the next if there is one, stands in parts.
func find(parts, sought []part) bool {
	for i := range parts {
		if parts[i].canonical != sought[0].canonical || parts[i].kind != sought[0].kind {
			continue
		}
		if len(sought) < 2 || i+1 == len(parts) || parts[i+1].canonical == sought[1].canonical {
			return true
		}
	}
	return false
}

// related reports whether a break is one within a conversation, and not between two that share a key. A
// break in what was said is, when turns of the model stand before it, or what comes after it is still
// there in part. A break before that is, when what was said is still there in part, and the system prompt
// or the tools are.
func (c *comparison) related(v *verdict) bool {
	if len(c.old) == 0 || len(c.now) == 0 {
		return true
	}
	for k := range c.old[:v.i] {
		if c.old[k].kind > User {
			return true
		}
	}
	framed := v.i < len(c.old) && v.j < len(c.now) && (!c.old[v.i].kind.history() || !c.now[v.j].kind.history())
	old, now := c.old, c.now
	if !framed {
		if v.i == len(old) {
			return c.begun(v.i)
		}
		old, now = old[v.i:], now[v.j:]
	}
	return c.overlap(old, now, Kind.history) &&
		(!framed || c.overlap(old, now, Kind.system) || c.overlap(old, now, Kind.tool))
}

// overlap reports whether a part of a kind stands in both, or such parts in neither. now is the end of
// c.now.
func (c *comparison) overlap(old, now []part, of func(Kind) bool) bool {
	none := true
	for i := range old {
		if !of(old[i].kind) {
			continue
		}
		none = false
		if at, ok := c.last(old[i].canonical); ok && at >= len(c.now)-len(now) && of(c.now[at].kind) {
			return true
		}
	}
	for i := 0; none && i < len(now); i++ {
		none = !of(now[i].kind)
	}
	return none
}

// last is where in now a canonical hash stands last.
func (c *comparison) last(canonical uint64) (at int, ok bool) {
	if c.index == nil {
		c.index = make(map[uint64]int, len(c.now))
		for i := range c.now {
			c.index[c.now[i].canonical] = i
		}
	}
	at, ok = c.index[canonical]
	return at, ok
}

// repeats reports whether the first thing said in old stands in now too: a cheap test, which conversations
// with other beginnings fail.
func (c *comparison) repeats(old []part) bool {
	for i := range old {
		if old[i].kind.history() {
			_, ok := c.last(old[i].canonical)
			return ok
		}
	}
	return false
}
