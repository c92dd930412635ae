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

// lookahead is how far the bytes behind a tag were read, so that none is read twice.
type lookahead struct {
	on      bool
	doubled bool
	off     uint8 // from the tag's first byte
	space   uint8
}

// weigh decides on the tag at the start of b. size is how many bytes are data, or belong to the tag that
// ended the value. line says that the tag begins a line.
func (g *Grammar) weigh(s *state, b []byte, line, final bool) (w weight, size int) {
	tag := g.tags.At(b, false)
	if tag == match.Partial {
		return undecided, 0
	}
	if tag == match.None || tag == tagClose || tag == tagOpen {
		return data, 1
	}
	switch {
	case tag == tagFunction:
		w, size = g.sampleName(b, functionOpen)
		if w == ends {
			s.armed = !s.sample
			w = data
		}
	case s.sample:
		s.sample = tag != tagEndFunction
		return data, len(g.tags.Text(tag))
	case s.armed:
		s.armed, s.sample = false, tag == tagParameter
		return data, len(g.tags.Text(tag))
	case tag == tagEndParameter:
		w, size = g.follows(s, b, len(parameterClose), line, final)
	case !line:
		return data, 1
	case tag == tagParameter:
		w, size = g.sampleName(b, parameterOpen)
		if w == ends {
			size = 0
		}
	default:
		w, size = g.follows(s, b, len(functionClose), line, final)
		if w == ends {
			size = 0
		}
	}
	if w != undecided {
		s.look = lookahead{}
	}
	return w, size
}

// sampleName reads the name in a tag that opens something: ends with the size of the whole tag, or data.
func (g *Grammar) sampleName(b []byte, open string) (weight, int) {
	for i := len(open); i < len(b); i++ {
		switch {
		case i > len(open)+maxSampleName, b[i] == '>' && i == len(open), b[i] != '>' && !plain(b[i]):
			return data, len(open)
		case b[i] == '>':
			return ends, i + 1
		}
	}
	return undecided, 0
}

// follows looks behind a closing tag of this size for what makes it one.
func (g *Grammar) follows(s *state, b []byte, size int, line, final bool) (weight, int) {
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
		case parameter && (tag == tagParameter || tag == tagEndFunction):
			return ends, size
		case parameter && tag == tagClose && line && (b[size] == '\n' || b[size] == '\r'):
			return ends, size
		case parameter && tag == tagEndParameter && !l.doubled:
			l.doubled = true
			l.off += uint8(len(parameterClose))
			continue
		case !parameter && (tag == tagClose || tag == tagOpen || tag == tagFunction):
			return ends, size
		}
		return data, size
	}
	if final {
		return ends, size
	}
	return undecided, 0
}
