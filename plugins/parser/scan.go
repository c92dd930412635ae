package parser

import (
	"bytes"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/record"
	"github.com/weirgate/weir/plugins/internal/grammar"
	"github.com/weirgate/weir/plugins/internal/match"
	"github.com/weirgate/weir/plugins/parser/think"
)

// scan delivers content up to the next marker and takes the marker. It reports whether there is more to
// do with these bytes.
func (p *Program) scan(decided bool) bool {
	w := &p.window
	if w.think.Newlines > 0 && !p.newlines(decided) {
		return false
	}
	k := 0
	if w.tools {
		k = 1
	}
	set, b := p.byText[k], p.in.Bytes
	from := p.in.Out.Pos() + int(w.scanned)
	w.scanned = 0
	for {
		at, id := set.Find(b, from, decided)
		if id >= 0 {
			id = int(p.ids[k][id])
		}
		spanned := false
		if p.spanned {
			if s, m := p.span(from, at); m >= 0 {
				at, id, spanned = s, m, true
			}
		}
		if id == match.None {
			p.rest(decided)
			return false
		}
		if at > p.in.Out.Pos() {
			p.content(at)
		}
		if id == match.Partial {
			w.scanned = uint16(at - p.in.Out.Pos())
			return false
		}
		switch p.meet(at, id, spanned, decided) {
		case taken:
			return true
		case waiting:
			w.scanned = uint16(at - p.in.Out.Pos())
			return false
		}
		from = at + 1
	}
}

// newlines takes the newlines that belong to the marker before them. It reports whether there is more to
// read.
func (p *Program) newlines(decided bool) bool {
	w := &p.window
	b := p.in.Rest()
	i := 0
	for ; w.think.Newlines > 0 && i < len(b); w.think.Newlines-- {
		n := 1
		if b[i] == '\r' && i+1 < len(b) {
			n = 2
		} else if b[i] == '\r' && !decided {
			p.marker(i)
			return false
		}
		if b[i+n-1] != '\n' {
			w.think.Newlines = 0
			break
		}
		i += n
	}
	p.marker(i)
	return i < len(b)
}

func (p *Program) marker(n int) {
	if n > 0 {
		p.in.Out.Extend(record.Marker, 0, 0, n)
	}
}

// span is the first marker in [from, upto] that counts by its token: where it begins, and its index.
// from never goes back within a feed, so spans before it are dropped.
func (p *Program) span(from, upto int) (at, id int) {
	for len(p.spans) > 0 && int(p.spans[0].Off) < from {
		p.spans = p.spans[1:]
	}
	for _, s := range p.spans {
		at, end := int(s.Off), int(s.Off)+int(s.Len)
		if at > upto || at < from || end > len(p.in.Bytes) || s.Token == abi.RefusedToken {
			break
		}
		if id := p.token(s.Token, p.in.Bytes[at:end]); id >= 0 {
			return at, id
		}
	}
	return 0, match.None
}

// token is the marker with this token and text.
func (p *Program) token(id uint32, text []byte) int {
	for i := range p.markers {
		m := &p.markers[i]
		if m.byID && m.id == id && (p.window.tools || !m.role.ofCalls()) && string(text) == m.text {
			return i
		}
	}
	return match.None
}

// content delivers what stands before at, but for the white space at its end.
func (p *Program) content(at int) {
	b := p.in.Bytes[p.in.Out.Pos():at]
	if n := len(b) - grammar.TrailingSpace(b, abi.MaxSpace); n > 0 {
		p.write(b[:n])
	}
}

// rest delivers all that is left: no marker begins in it.
func (p *Program) rest(decided bool) {
	b := p.in.Rest()
	n := len(b)
	if !decided {
		n -= grammar.TrailingSpace(b, abi.MaxSpace)
		p.window.scanned = uint16(len(b) - n)
	}
	if n > 0 {
		p.write(b[:n])
	}
}

// write emits b, which comes next, as content of the open block.
func (p *Program) write(b []byte) {
	w := &p.window
	switch {
	case w.think.In:
		p.in.Out.Extend(record.Reasoning, 0, 0, len(b))
	case w.broken:
		p.in.Out.Extend(record.Text, record.Malformed, record.PhaseNone, len(b))
	default:
		p.in.Out.Extend(record.Text, 0, record.PhaseNone, len(b))
	}
	w.think.Wrote(!w.think.Edge || grammar.Space(b) < len(b))
	w.fresh = false
	if w.tools && (w.code || bytes.IndexByte(b, '`') >= 0) {
		w.code = spans(b, w.code)
	}
}

// spans reports that b ends in a code span; before says that it begins in one.
func spans(b []byte, before bool) bool {
	if i := bytes.LastIndexByte(b, '\n'); i >= 0 {
		b, before = b[i+1:], false
	}
	return before != (bytes.Count(b, []byte{'`'})%2 == 1)
}

// mentioned reports that the opener of a call at at is data for what stands before it on its line: it is in
// a code span, or has no wrapper and does not begin the line. What is not emitted before it is white space.
func (p *Program) mentioned(at int, bare bool) bool {
	w := &p.window
	front := p.in.Out.Pos()
	if bytes.IndexByte(p.in.Bytes[front:at], '\n') >= 0 {
		return false
	}
	if w.code {
		return true
	}
	before := w.last
	if front > 0 {
		before = p.in.Bytes[front-1]
	}
	return bare && !w.fresh && before != '\n'
}

// outcome is what became of a marker.
type outcome uint8

const (
	refused outcome = iota // it is data
	waiting                // the next byte decides
	taken
)

// meet takes the marker at at, if it is one where it stands. What is not emitted before it is white space.
func (p *Program) meet(at, id int, spanned, decided bool) outcome {
	w := &p.window
	m := &p.markers[id]
	v := think.Data
	switch m.role {
	case roleOpen, roleClose:
		if v = w.think.Meet(m.role == roleOpen); v == think.Data {
			return refused
		}
	case roleCall:
		if !spanned && p.mentioned(at, m.weak) {
			return refused
		}
		w.mode, w.marker, w.call = heading, uint8(id), grammar.State{}
		w.weak = m.weak || w.think.In && !spanned
		w.scanned = uint16(at - p.in.Out.Pos())
		return taken
	case roleCallClose:
		if !w.owed {
			return refused
		}
	}
	if !spanned {
		if o := p.quoted(at, at+len(m.text), decided); o != taken {
			return o
		}
	}
	if v == think.Drop && m.role == roleClose && !w.think.Edge && w.think.Last == think.Content && at > p.in.Out.Pos() {
		p.write(p.in.Bytes[p.in.Out.Pos():at])
	}
	w.fresh, w.code = true, false
	space := at - p.in.Out.Pos()
	if m.role == roleEnd {
		p.marker(space)
		p.in.Out.Emit(record.Marker, record.EndTurn, 0, len(m.text))
		return taken
	}
	if v == think.Again {
		p.marker(space)
		p.in.Out.Emit(record.BlockEnd, 0, 0, len(m.text))
	} else {
		p.marker(space + len(m.text))
	}
	if m.role != roleCallClose {
		w.think.Take(v, m.role == roleOpen)
	}
	w.owed, w.broken = false, false
	return taken
}

// quoted decides on a marker that may stand between two quote characters: refused if it does.
func (p *Program) quoted(at, end int, decided bool) outcome {
	before := p.window.last
	if at > 0 {
		before = p.in.Bytes[at-1]
	}
	if before != '`' && before != '"' && before != '\'' {
		return taken
	}
	switch {
	case end < len(p.in.Bytes) && p.in.Bytes[end] == before:
		return refused
	case end == len(p.in.Bytes) && !decided:
		return waiting
	}
	return taken
}
