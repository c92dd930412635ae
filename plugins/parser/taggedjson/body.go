package taggedjson

import (
	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/abi/record"
	"github.com/weirgate/weir/plugins/internal/grammar"
	"github.com/weirgate/weir/plugins/internal/match"
)

// phase is where the reading of a call's body stands.
type phase uint8

const (
	atQuote   phase = iota // at the quote that ends the name
	atComma                // after a member
	atKey                  // before a member's name
	inKey                  // in it
	atColon                // before the colon
	inArgs                 // in the arguments, or in white space before them
	atName                 // before a name that comes last
	inName                 // in it
	inOther                // in the value of another member
	between                // after a call, in its wrapper
	inElement              // in an element of the wrapper's array that is no call
	inRuins                // behind arguments or members that are not JSON
)

// Tags implements grammar.Grammar; there are no raw values.
func (g *Grammar) Tags() *match.Set { return nil }

// Plain implements grammar.Grammar.
func (g *Grammar) Plain(st *grammar.State) grammar.Plain {
	if s := grammar.View[state](st); s.phase == inArgs && s.JSON.Started() {
		return grammar.JSON
	}
	return grammar.Never
}

// Whole implements grammar.Grammar.
func (g *Grammar) Whole(st *grammar.State) { grammar.View[state](st).phase = atComma }

// Body implements grammar.Grammar.
func (g *Grammar) Body(st *grammar.State, in *grammar.Input) grammar.Next {
	s := grammar.View[state](st)
	for {
		switch s.phase {
		case between:
			next, again := g.between(st, in)
			if !again {
				return next
			}
			continue
		case inRuins:
			return g.ruins(in)
		}
		rest := in.Rest()
		if int(s.off) >= len(rest) {
			return s.pause(in)
		}
		ok := true
		switch s.phase {
		case inArgs:
			ok = s.arguments(in, rest)
		case inKey:
			ok = g.memberName(s, in, rest)
		case inName:
			var named bool
			if named, ok = s.lateName(in, rest); named {
				return grammar.Named
			}
		case inElement:
			if !s.element(in, rest) {
				return leave(in, grammar.Broken)
			}
		case inOther:
			n, status := s.JSON.Feed(rest)
			in.Extend(record.Marker, record.Junk, 0, n)
			ok = s.ended(status)
		case atQuote:
			if n := len(g.toArgs); !s.gave && len(rest) >= n && string(rest[:n]) == g.toArgs {
				in.Marker(n)
				s.member = args
				s.value()
				continue
			}
			ok = s.syntax(in, rest[0])
		default:
			ok = s.syntax(in, rest[0])
		}
		switch {
		case ok:
		case s.named && s.gave && !in.Mute:
			s.phase = inRuins
		default:
			return s.broken(in)
		}
	}
}

// ruins keeps a call together whose bytes broke: up to the wrapper's closer or another opener they are
// arguments as far as anybody can tell, never content, and the call ends truncated there.
func (g *Grammar) ruins(in *grammar.Input) grammar.Next {
	rest := in.Rest()
	at, edge := g.edges.Find(rest, 0, false)
	if edge == match.Partial && in.Decided && !in.Final {
		at = len(rest)
	}
	in.Extend(record.Args, 0, record.ArgsJSON, at)
	switch edge {
	case edgeClose:
		in.Emit(record.CallEnd, 0, record.CallTruncated, len(g.cfg.Close))
		return grammar.Leave
	case edgeOpen:
		in.Emit(record.CallEnd, 0, record.CallTruncated, 0)
		return grammar.Leave
	}
	if !in.Final {
		return grammar.Hold
	}
	in.Extend(record.Marker, record.Junk, 0, len(rest)-at)
	in.Emit(record.CallEnd, 0, record.CallTruncated, 0)
	return grammar.Leave
}

// broken ends a call at what has no place in it. One without a name or without arguments is text for the
// host, and so is its wrapper, unless that has another call.
func (s *state) broken(in *grammar.Input) grammar.Next {
	in.Emit(record.CallEnd, 0, record.CallTruncated, 0)
	if in.Mute || !s.called && (!s.named || !s.gave) {
		return grammar.Leave
	}
	return grammar.Broken
}

// element reads on in an element that is no call; false means that it is not JSON.
func (s *state) element(in *grammar.Input, rest []byte) bool {
	n, status := s.JSON.Feed(rest)
	in.Malformed(n)
	if status == jsonscan.Done {
		s.phase = between
	}
	return status != jsonscan.Bad
}

// pause is the end of the bytes inside a call.
func (s *state) pause(in *grammar.Input) grammar.Next {
	switch {
	case in.Decided && !in.Final && len(in.Rest()) > 0:
		return s.broken(in)
	case !in.Final:
		return grammar.Hold
	case s.phase == inElement:
		return grammar.Leave
	}
	in.Extend(record.Marker, record.Junk, 0, len(in.Rest()))
	in.Emit(record.CallEnd, 0, record.CallTruncated, 0)
	return grammar.Leave
}

// syntax reads one byte between members; false means that it has no place there.
func (s *state) syntax(in *grammar.Input, c byte) bool {
	if grammar.IsSpace(c) {
		in.Marker(1)
		return s.phase != atQuote
	}
	switch {
	case s.phase == atQuote && c == '"':
		s.phase = atComma
	case s.phase == atComma && c == ',':
		s.phase = atKey
	case (s.phase == atComma || s.phase == atKey) && c == '}':
		ending := record.CallComplete
		if !s.named {
			ending = record.CallTruncated
		}
		in.Emit(record.CallEnd, 0, ending, 1)
		s.closed(in)
		return true
	case s.phase == atKey && c == '"':
		s.phase = inKey
		s.JSON.Reset()
		return true
	case s.phase == atColon && c == ':':
		s.value()
	case s.phase == atName && c == '"':
		s.phase = inName
		s.JSON.Reset()
		return true
	default:
		return false
	}
	in.Marker(1)
	return true
}

// value chooses how the member's value is read.
func (s *state) value() {
	s.JSON.Reset()
	switch {
	case s.member == args && !s.gave:
		s.phase = inArgs
	case s.member == name && !s.named:
		s.phase = atName
	default:
		s.phase = inOther
	}
}

// arguments passes the arguments on.
func (s *state) arguments(in *grammar.Input, rest []byte) bool {
	if !s.JSON.Started() {
		if n := grammar.Space(rest); n > 0 {
			in.Marker(n)
			return true
		}
	}
	n, status := s.JSON.Feed(rest)
	in.Extend(record.Args, 0, record.ArgsJSON, n)
	s.gave = s.gave || n > 0
	return s.ended(status)
}

// ended goes on after a value that is whole.
func (s *state) ended(status jsonscan.Status) bool {
	if status == jsonscan.Done {
		s.phase = atComma
	}
	return status != jsonscan.Bad
}

// memberName reads a member's name. It is held until it is whole or too long to mean anything.
func (g *Grammar) memberName(s *state, in *grammar.Input, rest []byte) bool {
	n, status := s.JSON.Feed(rest[s.off:])
	s.off += uint16(n)
	switch {
	case status == jsonscan.Bad:
		in.Marker(int(s.off))
		s.off = 0
		return false
	case status == jsonscan.Done:
		s.member = other
		if s.key == 0 {
			s.member = g.classify(rest[1 : s.off-1])
		}
		s.phase, s.key = atColon, 0
	case s.key == 0 && int(s.off) <= maxMember+2:
		return true
	default:
		s.key = 1 // its start is gone
	}
	in.Marker(int(s.off))
	s.off = 0
	return true
}

// lateName reads a name that comes after the arguments.
func (s *state) lateName(in *grammar.Input, rest []byte) (named, ok bool) {
	n, status := s.JSON.Feed(rest[s.off:])
	s.off += uint16(n)
	if size := int(s.off) - 2; status == jsonscan.Done && size > 0 && size <= abi.MaxHeader {
		in.Marker(1)
		if !in.Mute && in.Out.Pos() <= in.Refused {
			in.Emit(record.CallEnd, 0, record.CallTruncated, 0)
			in.Mute = true
		}
		in.Emit(record.Name, escapes(rest[1:1+size]), 0, size)
		s.off, s.phase, s.named = 0, atQuote, true
		return !in.Mute, true
	}
	if status == jsonscan.More && int(s.off) <= abi.MaxHeader+1 {
		return false, true
	}
	s.off = 0
	return false, false
}

// closed is the end of a call's object.
func (s *state) closed(in *grammar.Input) {
	s.called = s.called || s.named && !in.Mute
	in.Mute = !s.called
	s.phase, s.named, s.gave = between, false, false
	s.forget()
}

// between reads what stands in a wrapper after a call; again says that there is more to read.
func (g *Grammar) between(st *grammar.State, in *grammar.Input) (next grammar.Next, again bool) {
	s := grammar.View[state](st)
	rest := in.Rest()
	n := grammar.Space(rest)
	switch {
	case s.array:
		in.Marker(n)
		rest, n = rest[n:], 0
	case n > abi.MaxSpace:
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
	switch c := rest[n]; {
	case s.shut:
	case c == '{':
		return g.another(st, in, n)
	case c == ',' && s.array:
		in.Marker(1)
		return 0, true
	case c == ']' && s.array:
		in.Marker(1)
		s.array = false
		return 0, true
	case s.array:
		s.phase = inElement
		s.JSON.Reset()
		return 0, true
	}
	switch at := g.closer(rest[n:], in.Decided); {
	case at == match.Partial:
		return grammar.Hold, false
	case at == match.None && s.shut:
		return grammar.Leave, false
	case at == match.None && in.Final && !in.Mute && grammar.Begins(g.cfg.Close, rest[n:]):
		in.Extend(record.Marker, record.Junk, 0, len(rest))
		return grammar.Leave, false
	case at == match.None:
		return leave(in, grammar.Owed), false
	case s.shut:
		in.Marker(n)
		in.Extend(record.Marker, record.Junk, 0, len(g.cfg.Close))
	default:
		in.Marker(n + len(g.cfg.Close))
		s.shut = true
	}
	return 0, true
}

// leave gives up on the wrapper. A wrapper without an accepted call is text, and so is its closer.
func leave(in *grammar.Input, next grammar.Next) grammar.Next {
	if in.Mute {
		return grammar.Leave
	}
	return next
}

func (g *Grammar) closer(b []byte, final bool) int {
	c := g.cfg.Close
	switch {
	case len(b) >= len(c) && string(b[:len(c)]) == c:
		return 0
	case len(b) < len(c) && !final && c[:len(b)] == string(b):
		return match.Partial
	}
	return match.None
}

// another reads the header of the next call in the wrapper, after space bytes of white space.
func (g *Grammar) another(st *grammar.State, in *grammar.Input, space int) (grammar.Next, bool) {
	s := grammar.View[state](st)
	at := in.Out.Pos() + space
	v := g.Header(st, grammar.Header{}, in.Bytes[at:])
	if v == grammar.More && !in.Decided {
		return grammar.Hold, false
	}
	if v == grammar.More || v == grammar.No {
		s.forget()
		if s.array {
			in.Marker(space)
			s.phase = inElement
			s.JSON.Reset()
			return 0, true
		}
		return leave(in, grammar.Owed), false
	}
	in.Mute = at <= in.Refused
	in.Marker(space)
	g.Begin(st, grammar.Header{}, in)
	if !in.Mute {
		return grammar.Named, false
	}
	return 0, true
}
