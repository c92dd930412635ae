package xmlparams

import (
	"bytes"

	"github.com/weirgate/weir/abi"
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

// Tags implements grammar.Grammar.
func (g *Grammar) Tags() *match.Set { return g.tags }

// Plain implements grammar.Grammar.
func (g *Grammar) Plain(st *grammar.State) grammar.Plain {
	if s := grammar.View[state](st); s.phase == inValue && s.after == nothing && !s.crlf {
		return grammar.Raw
	}
	return grammar.Never
}

// Whole implements grammar.Grammar; there is no JSON.
func (g *Grammar) Whole(*grammar.State) {}

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
			return s.cut(in)
		case next == grammar.Hold && in.Decided && len(in.Rest()) > 0:
			if s.phase != inValue {
				return s.broken(in)
			}
			s.pass(in, len(in.Rest()))
			return grammar.Hold
		default:
			return next
		}
	}
}

// cut is the end of the stream inside a call: what is held was the beginning of a tag.
func (s *state) cut(in *grammar.Input) grammar.Next {
	rest := in.Rest()
	n := grammar.Space(rest)
	in.Marker(n)
	in.Extend(record.Marker, record.Junk, 0, len(rest)-n)
	in.Emit(record.CallEnd, 0, record.CallTruncated, 0)
	s.phase = between
	return grammar.Leave
}

// broken ends a call at what has no place in it. One without a parameter is text for the host, and so is
// its wrapper, unless that has another call.
func (s *state) broken(in *grammar.Input) grammar.Next {
	in.Emit(record.CallEnd, 0, record.CallTruncated, 0)
	if in.Mute || !s.gave && !s.called {
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
	switch tag := g.tags.At(rest, false); {
	case tag == match.Partial:
		return grammar.Hold, false
	case tag == tagParameter:
		s.phase, s.off = inKey, uint16(len(parameterOpen))
	case tag == tagEndParameter:
		in.Extend(record.Marker, record.Junk, 0, len(parameterClose))
	case tag == tagEndFunction:
		s.end(in, len(functionClose))
	case tag == tagClose, tag == tagOpen && s.gave:
		s.end(in, 0)
	default:
		return s.broken(in), false
	}
	return 0, true
}

// end closes a call.
func (s *state) end(in *grammar.Input, n int) {
	in.Emit(record.CallEnd, 0, record.CallComplete, n)
	s.phase = between
	s.forget()
	s.called = s.called || !in.Mute
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
			return s.broken(in), false
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
			return s.broken(in), false
		}
		in.Marker(len(parameterOpen) + lead)
		in.Emit(record.Key, record.EscNone, 0, n)
		in.Marker(len(tag) - lead - n + 1)
		s.phase, s.off, s.gave = atValue, 0, true
		s.wrapped, s.Line, s.crlf = false, false, false
		s.after, s.sample, s.look = nothing, false, lookahead{}
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
		s.wrapped, s.Line = true, true
	case rest[0] == '\r' && len(rest) > 1 && rest[1] == '\n':
		in.Marker(2)
		s.wrapped, s.Line, s.crlf = true, true, true
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
		if s.after != nothing && grammar.Space(rest[from:at]) < at-from {
			s.after = nothing
		}
		nl := s.newline(rest[:at])
		if !found {
			s.pass(in, at-nl)
			return false
		}
		if nl == 1 && rest[at-1] == '\r' {
			nl = 0
		}
		line := s.Line
		if at > 0 {
			line = grammar.Line(rest[:at], line)
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
		s.Line = grammar.Line(in.Rest()[:n], s.Line)
		in.Extend(record.Value, 0, record.ValueSchema, n)
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
	tag := g.tags.At(rest[n:], in.Decided)
	switch {
	case tag == match.Partial && (!s.shut || grammar.Begins(g.cfg.Close, rest[n:])):
		return grammar.Hold, false
	case tag == tagClose && s.shut:
		in.Marker(n)
		in.Extend(record.Marker, record.Junk, 0, len(g.cfg.Close))
		return 0, true
	case tag == tagClose:
		in.Marker(n + len(g.cfg.Close))
		s.shut = true
		return 0, true
	case s.shut:
		return grammar.Leave, false
	case tag == tagEndFunction:
		in.Marker(n)
		in.Extend(record.Marker, record.Junk, 0, len(functionClose))
		return 0, true
	case tag == tagFunction:
		return g.another(st, in, n)
	case in.Final && s.wrapper && !in.Mute && grammar.Begins(g.cfg.Close, rest[n:]):
		in.Extend(record.Marker, record.Junk, 0, len(rest))
		return grammar.Leave, false
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
