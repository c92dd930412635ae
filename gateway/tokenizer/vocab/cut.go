package vocab

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weirgate/weir/gateway/tokenizer/split"
)

// cutter is a compiled step that cuts text into pieces, or changes them on the way.
type cutter struct {
	kind     Kind
	match    matcher
	pattern  *split.Pattern // match, if it is one: the calls are direct then
	behavior Behavior
	invert   bool
	mark     string // of Metaspace
	scheme   Scheme
	cut      bool
}

// cutters compiles the steps that cut. Patterns in a row that have one scanner together become one.
func cutters(steps []Step) ([]cutter, error) {
	var out []cutter
	for i, s := range steps {
		c := cutter{kind: s.Kind, behavior: s.Behavior, invert: s.Invert, mark: s.Text, scheme: s.Scheme, cut: s.Flag}
		switch s.Kind {
		case Split:
			m, err := newMatcher(s)
			if err != nil {
				return nil, fmt.Errorf("pre-tokenizer %d: %w", i, err)
			}
			c.match = m
			c.pattern, _ = m.(*split.Pattern)
		case Metaspace:
			if s.Text == "" {
				return nil, fmt.Errorf("pre-tokenizer %d: %w: no mark for blanks", i, ErrVocabulary)
			}
		case PrefixSpace:
		default:
			return nil, fmt.Errorf("pre-tokenizer %d: %w: step %d does not cut", i, ErrVocabulary, s.Kind)
		}
		out = append(out, c)
	}
	return fuse(out), nil
}

func fuse(in []cutter) []cutter {
	for i := range in {
		var row []*split.Pattern
		for _, c := range in[i:] {
			if c.pattern == nil || c.behavior != Isolated || c.invert {
				break
			}
			row = append(row, c.pattern)
		}
		if p := split.Fuse(row); p != nil {
			in[i].pattern, in[i].match = p, p
			return append(in[:i+1], in[i+len(row):]...)
		}
	}
	return in
}

// pieces cuts s with the cutters from k on and gives the pieces to the model. first: s is the start of
// the whole text.
func (e *encoder) pieces(s string, k int, first bool) {
	if s == "" {
		return
	}
	if k == len(e.t.cut) {
		e.model(s)
		return
	}
	c := &e.t.cut[k]
	switch {
	case c.kind == Metaspace:
		e.metaspace(c, s, k, first)
	case c.kind == PrefixSpace:
		if s[0] == ' ' {
			e.pieces(s, k+1, first)
			return
		}
		buf := e.buffer()
		buf = append(append(buf, ' '), s...)
		e.pieces(view(buf), k+1, first)
		e.release(buf)
	case c.behavior != Isolated || c.invert:
		e.cutWith(c, s, k, first)
	case c.pattern == nil:
		for from := 0; from < len(s); {
			start, end := c.match.Next(s, from)
			e.pieces(s[from:start], k+1, first && from == 0)
			e.pieces(s[start:end], k+1, first && start == 0)
			from = end
		}
	default:
		e.cutIsolated(c, s, k, first)
	}
}

// cutIsolated cuts where each match of a pattern is a piece of its own.
func (e *encoder) cutIsolated(c *cutter, s string, k int, first bool) {
	words := e.t.words
	if e.not != nil || k+1 < len(e.t.cut) {
		words = nil
	}
	for from := 0; from < len(s); {
		start, end := c.pattern.Next(s, from)
		if start > from {
			e.pieces(s[from:start], k+1, first && from == 0)
		}
		switch {
		case start == end:
		case words != nil:
			words.encodeWord(e, s[start:end])
		default:
			e.pieces(s[start:end], k+1, first && start == 0)
		}
		from = end
	}
}

// metaspace puts marks for blanks, one before the text as the scheme says, and cuts before each.
func (e *encoder) metaspace(c *cutter, s string, k int, first bool) {
	buf := e.buffer()
	if !strings.HasPrefix(s, c.mark) && s[0] != ' ' && (c.scheme == Always || c.scheme == First && first) {
		buf = append(buf, c.mark...)
	}
	buf, changed := replaceByte(buf, s, ' ', c.mark)
	if !changed {
		buf = append(buf, s...)
	}
	text := view(buf)
	if !c.cut {
		e.pieces(text, k+1, first)
	}
	for from := 0; c.cut && from < len(text); {
		end := len(text)
		if n := strings.Index(text[from+1:], c.mark); n >= 0 {
			end = from + 1 + n
		}
		e.pieces(text[from:end], k+1, first && from == 0)
		from = end
	}
	e.release(buf)
}

// part is a match, or what is between matches.
type part struct {
	from, to int
	match    bool
}

// cutWith cuts where matches are not simply pieces of their own.
func (e *encoder) cutWith(c *cutter, s string, k int, first bool) {
	base := len(e.parts)
	add := func(from, to int, match bool) {
		if from < to {
			e.parts = append(e.parts, part{from, to, match != c.invert})
		}
	}
	for from := 0; from < len(s); {
		start, end := c.match.Next(s, from)
		add(from, start, false)
		add(start, end, true)
		from = end
	}
	e.parts = e.parts[:base+join(e.parts[base:], c.behavior)]
	for i := base; i < len(e.parts); i++ {
		p := e.parts[i]
		e.pieces(s[p.from:p.to], k+1, first && p.from == 0)
	}
	e.parts = e.parts[:base]
}

// join applies a behavior in place and returns how many parts are left.
func join(parts []part, b Behavior) int {
	n := 0
	last := false // the part before was a match
	switch b {
	case Next:
		// From the end: a match joins the part behind it, which is none itself.
		out := len(parts)
		for _, p := range slices.Backward(parts) {
			if p.match && !last && out < len(parts) {
				parts[out].from = p.from
			} else {
				out--
				parts[out] = p
			}
			last = p.match
		}
		return copy(parts, parts[out:])
	case Removed:
		for _, p := range parts {
			if !p.match {
				parts[n] = p
				n++
			}
		}
	case Previous, Contiguous:
		for _, p := range parts {
			joins := p.match && !last
			if b == Contiguous {
				joins = p.match == last
			}
			if joins && n > 0 {
				parts[n-1].to = p.to
			} else {
				parts[n] = p
				n++
			}
			last = p.match
		}
	default:
		return len(parts)
	}
	return n
}
