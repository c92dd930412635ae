package xmlparams

import (
	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/plugins/internal/grammar"
	"github.com/weirgate/weir/plugins/internal/match"
)

// weight says what a tag inside a value is.
type weight uint8

const (
	undecided weight = iota // it depends on what follows
	data                    // a byte of the value
	ends                    // the value ended before it, or with it
)

// maxSampleName is the longest name of a function or parameter that is looked at inside a value.
const maxSampleName = 64

// after is the tag in a value that only white space followed so far, as far as it matters to samples.
type after uint8

const (
	nothing  after = iota
	opener         // of a wrapper
	function       // of a function, where a sample may begin
)

// lookahead is how far the bytes behind a tag were read, so that none is read twice.
type lookahead struct {
	on      bool
	doubled bool
	opened  bool  // the opener of a wrapper was seen
	off     uint8 // from the tag's first byte
	space   uint8
}

// weigh decides on the tag at the start of b. size is how many bytes are data, or belong to the tag that
// ended the value. line says that the tag begins a line.
func (g *Grammar) weigh(s *state, b []byte, line, final bool) (w weight, size int) {
	tag := g.tags.At(b, false)
	switch tag {
	case match.Partial:
		return undecided, 0
	case match.None:
		s.after = nothing
		return data, 1
	}
	if w, size = g.weighSample(s, b, tag, line); w != ends {
		return w, size
	}
	switch {
	case tag == tagEndParameter:
		w, size = g.follows(s, b, len(parameterClose), s.wrapped && !line, final)
	case s.wrapped && !line:
		return data, 1
	case tag == tagParameter:
		w, size = name(b, parameterOpen, plain)
		if w == ends {
			size = 0
		}
	default:
		w, size = g.follows(s, b, len(functionClose), false, final)
		if w == ends {
			size = 0
		}
	}
	if w != undecided {
		s.look = lookahead{}
	}
	return w, size
}

// weighSample is what weigh does about samples and about tags that never end a value; ends means that the
// tag is neither.
func (g *Grammar) weighSample(s *state, b []byte, tag int, line bool) (w weight, size int) {
	was := s.after
	size = len(g.tags.Text(tag))
	switch {
	case s.sample:
		s.sample = tag != tagEndFunction
		return data, size
	case tag == tagFunction:
		if !line && was != opener {
			break
		}
		w, size = name(b, functionOpen, word)
		if w == undecided {
			return w, size
		}
		s.after = nothing
		if w == ends {
			s.after = function
		}
		return data, size
	case tag == tagParameter && was == function:
		switch w, _ = name(b, parameterOpen, word); w {
		case undecided:
			return w, 0
		case ends:
			s.after, s.sample = nothing, true
			return data, size
		}
	case tag == tagEndFunction && was == function:
		s.after = nothing
		return data, size
	}
	s.after = nothing
	switch tag {
	case tagOpen:
		s.after = opener
		return data, size
	case tagClose, tagFunction:
		return data, size
	}
	return ends, 0
}

// name reads the name in a tag that opens something, of bytes that allow lets pass: ends with the size of
// the whole tag, or data.
func name(b []byte, open string, allow func(byte) bool) (weight, int) {
	for i := len(open); i < len(b); i++ {
		switch {
		case i > len(open)+maxSampleName, b[i] == '>' && i == len(open), b[i] != '>' && !allow(b[i]):
			return data, len(open)
		case b[i] == '>':
			return ends, i + 1
		}
	}
	return undecided, 0
}

// word reports a byte of a name in a sample.
func word(c byte) bool {
	return c-'0' < 10 || c|0x20-'a' < 26 || c == '_' || c == '-' || c == '.' || c == ':'
}

// follows looks behind a closing tag of this size for what makes it one. inline says that the tag stands
// in the middle of a line, and closers of the value begin lines: then its own line must end with it.
func (g *Grammar) follows(s *state, b []byte, size int, inline, final bool) (weight, int) {
	l := &s.look
	if !l.on {
		*l = lookahead{on: true, off: uint8(size)}
	}
	parameter := size == len(parameterClose)
	for {
		n := grammar.Space(b[l.off:min(len(b), int(l.off)+abi.MaxSpace+1)])
		if int(l.space)+n > abi.MaxSpace {
			return data, size
		}
		l.off += uint8(n)
		l.space += uint8(n)
		if int(l.off) == len(b) {
			break
		}
		tag := g.tags.At(b[l.off:], false)
		if tag == match.Partial {
			break
		}
		switch {
		case l.opened && tag != tagFunction:
			return data, size
		case parameter && tag == tagEndParameter && !l.doubled:
			l.doubled = true
			l.off += uint8(len(parameterClose))
			continue
		case parameter && tag == tagOpen && s.wrapped && !inline:
			l.opened = true
			l.off += uint8(len(g.cfg.Open))
			continue
		case inline && (tag != tagParameter && tag != tagEndFunction || b[size] != '\n' && b[size] != '\r'):
			return data, size
		case s.closes(b[size], tag, parameter):
			return ends, size
		}
		return data, size
	}
	if final {
		return ends, size
	}
	return undecided, 0
}

// closes reports that tag, behind a closing tag and white space that begins with next, makes that one a
// closer.
func (s *state) closes(next byte, tag int, parameter bool) bool {
	switch tag {
	case tagParameter, tagEndFunction:
		return parameter
	case tagClose:
		return !parameter || !s.wrapped || next == '\n' || next == '\r'
	case tagOpen:
		return true
	case tagFunction:
		return !parameter || s.look.opened
	}
	return false
}
