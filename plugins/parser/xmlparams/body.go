package xmlparams

import (
	"bytes"
	"slices"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/record"
	"github.com/weirgate/weir/plugins/internal/grammar"
	"github.com/weirgate/weir/plugins/internal/match"
)

// phase is where the reading of a region stands.
type phase uint8

const (
	atName  phase = iota // at the bracket that ends the function's tag
	atTag                // between parameters
	inKey                // in a parameter's tag
	atValue              // before a value
	inValue              // in it
	between              // after a call
)

// Middle implements grammar.Grammar.
func (g *Grammar) Middle(st *grammar.State, b []byte, out *guest.Out) bool {
	s := grammar.View[state](st)
	if s.phase != inValue || s.armed {
		return false
	}
	if slices.Contains(b, '<') {
		return false
	}
	if n := len(b) - s.newline(b); n > 0 {
		out.Emit(record.Value, 0, record.ValueSchema, n)
		s.first = false
	}
	return true
}

// Body implements grammar.Grammar.
func (g *Grammar) Body(st *grammar.State, in *grammar.Input) grammar.Next {
	s := grammar.View[state](st)
	for {
		var next grammar.Next
		var again bool
		switch s.phase {
		case between:
			next, again = g.between(st, in)
		case inValue:
			again = g.value(s, in)
		case atValue:
			again = g.lead(s, in)
		case inKey:
			next, again = g.key(s, in)
		default:
			next, again = g.tag(s, in)
		}
		switch {
		case again:
		case next == grammar.Hold && in.Final:
			return g.cut(s, in)
		case next == grammar.Hold && in.Decided && len(in.Rest()) > 0:
			if s.phase != inValue {
				return g.broken(in)
			}
			s.pass(in, len(in.Rest()))
			return grammar.Hold
		default:
			return next
		}
	}
}

// cut is the end of the stream inside a call: what is held was the beginning of a tag.
func (g *Grammar) cut(s *state, in *grammar.Input) grammar.Next {
	if s.phase == inValue || s.phase == atValue {
		in.Emit(record.Value, record.Fin, record.ValueSchema, 0)
	}
	rest := in.Rest()
	n := grammar.Space(rest)
	in.Marker(n)
	in.Extend(record.Marker, record.Junk, 0, len(rest)-n)
	in.Emit(record.CallEnd, 0, record.CallTruncated, 0)
	s.phase = between
	return grammar.Leave
}

// broken ends a call at what has no place in it.
func (g *Grammar) broken(in *grammar.Input) grammar.Next {
	in.Emit(record.CallEnd, 0, record.CallTruncated, 0)
	if in.Mute {
		return grammar.Leave
	}
	return grammar.Broken
}

// tag reads what stands between parameters.
func (g *Grammar) tag(s *state, in *grammar.Input) (next grammar.Next, again bool) {
	rest := in.Rest()
	if s.phase == atName && len(rest) > 0 {
		in.Marker(1)
		s.phase, rest = atTag, rest[1:]
	}
	n := grammar.Space(rest)
	in.Marker(n)
	rest = rest[n:]
	if len(rest) == 0 {
		return grammar.Hold, false
	}
	switch g.tags.At(rest, false) {
	case match.Partial:
		return grammar.Hold, false
	case tagParameter:
		s.phase, s.off = inKey, uint16(len(parameterOpen))
	case tagEndParameter:
		in.Extend(record.Marker, record.Junk, 0, len(parameterClose))
	case tagEndFunction:
		g.end(s, in, len(functionClose))
	case tagClose:
		g.end(s, in, 0)
	default:
		return g.broken(in), false
	}
	return 0, true
}

// end closes a call.
func (g *Grammar) end(s *state, in *grammar.Input, n int) {
	in.Emit(record.CallEnd, 0, record.CallComplete, n)
	s.phase = between
	s.forget()
	if s.called {
		in.Mute = false
	}
}

// key reads a parameter's tag. The name is what stands before white space; attributes are dropped.
func (g *Grammar) key(s *state, in *grammar.Input) (next grammar.Next, again bool) {
	rest := in.Rest()
	for ; int(s.off) < len(rest); s.off++ {
		switch c := rest[s.off]; {
		case c == '<' || c == '\n' || int(s.off) > len(parameterOpen)+abi.MaxHeader:
			return g.broken(in), false
		case c != '>':
			continue
		}
		tag := rest[len(parameterOpen):s.off]
		lead := grammar.Space(tag)
		n := 0
		for lead+n < len(tag) && !grammar.IsSpace(tag[lead+n]) {
			n++
		}
		if n == 0 {
			return g.broken(in), false
		}
		in.Marker(len(parameterOpen) + lead)
		in.Emit(record.Key, record.EscNone, 0, n)
		in.Marker(len(tag) - lead - n + 1)
		s.phase, s.off, s.first, s.crlf = atValue, 0, true, false
		s.armed, s.sample, s.look = false, false, lookahead{}
		return 0, true
	}
	return grammar.Hold, false
}

// lead takes the newline before a value.
func (g *Grammar) lead(s *state, in *grammar.Input) bool {
	rest := in.Rest()
	switch {
	case g.cfg.Exact:
	case len(rest) == 0, len(rest) == 1 && rest[0] == '\r' && (in.Final || !in.Decided):
		return false
	case rest[0] == '\n':
		in.Marker(1)
	case rest[0] == '\r' && len(rest) > 1 && rest[1] == '\n':
		in.Marker(2)
		s.crlf = true
	}
	s.phase = inValue
	return true
}

// newline is the size of the newline that ends b and may belong to the tag behind it.
func (s *state) newline(b []byte) int {
	n := len(b)
	switch {
	case n == 0:
		return 0
	case s.crlf && b[n-1] == '\r':
		return 1
	case b[n-1] != '\n':
		return 0
	case s.crlf && n > 1 && b[n-2] == '\r':
		return 2
	}
	return 1
}

// value passes on what is known to belong to a value, and reports whether the value ended.
func (g *Grammar) value(s *state, in *grammar.Input) bool {
	from := 0
	for {
		rest := in.Rest()
		at, found := len(rest), false
		if n := bytes.IndexByte(rest[from:], '<'); n >= 0 {
			at, found = from+n, true
		}
		s.armed = s.armed && grammar.Space(rest[from:at]) == at-from
		nl := s.newline(rest[:at])
		if !found {
			s.pass(in, at-nl)
			return false
		}
		if nl == 1 && rest[at-1] == '\r' {
			nl = 0
		}
		line := s.first
		if at > 0 {
			line = rest[at-1] == '\n'
		}
		w, size := g.weigh(s, rest[at:], line, in.Final)
		switch w {
		case undecided:
			s.pass(in, at-nl)
			return false
		case data:
			from = at + size
			continue
		}
		if g.cfg.Exact {
			nl = 0
		}
		in.Emit(record.Value, record.Fin, record.ValueSchema, at-nl)
		in.Marker(nl + size)
		s.phase = atTag
		return true
	}
}

// pass emits n bytes of the value.
func (s *state) pass(in *grammar.Input, n int) {
	if n > 0 {
		in.Extend(record.Value, 0, record.ValueSchema, n)
		s.first = false
	}
}

// between reads what stands after a call.
func (g *Grammar) between(st *grammar.State, in *grammar.Input) (next grammar.Next, again bool) {
	s := grammar.View[state](st)
	rest := in.Rest()
	n := grammar.Space(rest)
	if n > abi.MaxSpace {
		in.Text(n - abi.MaxSpace)
		rest, n = rest[n-abi.MaxSpace:], abi.MaxSpace
	}
	if n == len(rest) {
		if in.Decided {
			in.Text(n)
			return grammar.Leave, false
		}
		return grammar.Hold, false
	}
	switch g.tags.At(rest[n:], in.Decided) {
	case match.Partial:
		return grammar.Hold, false
	case tagClose:
		in.Marker(n + len(g.cfg.Close))
		return grammar.Leave, false
	case tagEndFunction:
		in.Marker(n)
		in.Extend(record.Marker, record.Junk, 0, len(functionClose))
		return 0, true
	case tagFunction:
		return g.another(st, in, n)
	}
	return g.leave(s, in), false
}

// leave gives up on the region. One without an accepted call is text, and so is its closer.
func (g *Grammar) leave(s *state, in *grammar.Input) grammar.Next {
	if in.Mute || !s.wrapper {
		return grammar.Leave
	}
	return grammar.Owed
}

// another reads the header of the next function of the region, after space bytes of white space.
func (g *Grammar) another(st *grammar.State, in *grammar.Input, space int) (grammar.Next, bool) {
	s := grammar.View[state](st)
	at := in.Out.Pos() + space
	h := grammar.Header{Opener: openFunction, Size: len(functionOpen), Weak: !s.wrapper}
	v := g.Header(st, h, in.Bytes[at:])
	if v == grammar.More && !in.Decided {
		return grammar.Hold, false
	}
	if v != grammar.Yes {
		s.forget()
		return g.leave(s, in), false
	}
	in.Mute = at <= in.Refused
	in.Marker(space)
	g.Begin(st, h, in)
	if in.Mute {
		return 0, true
	}
	return grammar.Named, false
}
