package split

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/weirgate/weir/gateway/tokenizer/internal/ucd"
)

// Limits of a pattern.
const (
	maxPattern = 8 << 10 // bytes
	maxDepth   = 32      // nested groups and classes
	maxRepeat  = 1000    // of a counted quantifier
)

// unlimited is the upper count of * and +.
const unlimited = int(^uint(0) >> 1)

// mode says how a quantifier gives back what it took.
type mode uint8

const (
	greedy mode = iota
	lazy
	possessive
)

// term is a parsed element of a sequence: exactly one of set, alts, and end is there.
type term struct {
	set      ranges // one character
	alts     [][]term
	look     bool // alts is a look-ahead
	negative bool
	end      bool // the end of the text
	min, max int
	mode     mode
}

// parser reads a pattern by recursive descent.
type parser struct {
	src     string
	pos     int
	depth   int
	fold    bool // within (?i:
	dialect Dialect
	sets    map[string]ranges // properties met so far
}

func (p *parser) fail(what string, args ...any) error {
	return fmt.Errorf("%w: %s at byte %d of %q", ErrUnsupported, fmt.Sprintf(what, args...), p.pos, p.src)
}

func (p *parser) more() bool { return p.pos < len(p.src) }

func (p *parser) peek() rune {
	r, _ := utf8.DecodeRuneInString(p.src[p.pos:])
	return r
}

func (p *parser) next() rune {
	r, n := utf8.DecodeRuneInString(p.src[p.pos:])
	p.pos += n
	return r
}

func (p *parser) eat(s string) bool {
	if strings.HasPrefix(p.src[p.pos:], s) {
		p.pos += len(s)
		return true
	}
	return false
}

// alternatives reads up to the end of the group, or of the pattern.
func (p *parser) alternatives() ([][]term, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.fail("too many groups within groups")
	}
	defer func() { p.depth-- }()
	alts := [][]term{nil}
	for p.more() && p.peek() != ')' {
		if p.eat("|") {
			alts = append(alts, nil)
			continue
		}
		t, err := p.term()
		if err != nil {
			return nil, err
		}
		last := len(alts) - 1
		alts[last] = append(alts[last], t)
	}
	if p.fold && p.dialect == Oniguruma {
		if err := p.checkFold(alts); err != nil {
			return nil, err
		}
	}
	return alts, nil
}

// checkFold refuses what one character of another length may match when case is ignored.
func (p *parser) checkFold(alts [][]term) error {
	for _, alt := range alts {
		text := make([]byte, len(alt))
		for i, t := range alt {
			if len(t.set) > 0 {
				text[i] = byte(t.set[len(t.set)-1].lo)
				for _, s := range t.set {
					if s.lo >= 'a' && s.lo <= 'z' {
						text[i] = byte(s.lo)
					}
				}
			}
		}
		for _, pair := range []string{"ss", "st", "ff", "fi", "fl"} {
			if strings.Contains(string(text), pair) {
				return p.fail("%q without regard to case", pair)
			}
		}
	}
	return nil
}

func (p *parser) term() (term, error) {
	t := term{min: 1, max: 1}
	var err error
	switch c := p.next(); c {
	case '(':
		err = p.group(&t)
	case '[':
		t.set, err = p.class()
	case '.':
		t.set = single('\n').negate()
	case '\\':
		t.set, err = p.escape()
	case '$':
		if p.dialect == Oniguruma {
			return t, p.fail("$")
		}
		t.end = true
	case '^', '*', '+', '?', '{':
		return t, p.fail("%q", c)
	default:
		t.set = single(c)
	}
	if err != nil {
		return t, err
	}
	if t.set != nil && p.fold {
		if t.set, err = p.folded(t.set); err != nil {
			return t, err
		}
	}
	return t, p.quantifier(&t)
}

// folded adds the other case to a set of ASCII characters.
func (p *parser) folded(in ranges) (ranges, error) {
	out := in
	for _, s := range in {
		if s.hi >= utf8.RuneSelf {
			return nil, p.fail("a class of non-ASCII characters without regard to case")
		}
		for r := s.lo; r <= s.hi; r++ {
			if l := r | 0x20; l >= 'a' && l <= 'z' {
				out = out.union(single(l)).union(single(l &^ 0x20))
				switch l {
				case 'k':
					out = out.union(single('\u212a'))
				case 's':
					out = out.union(single('\u017f'))
				}
			}
		}
	}
	return out, nil
}

func (p *parser) group(t *term) error {
	fold := p.fold
	defer func() { p.fold = fold }()
	switch {
	case p.eat("?:"):
	case p.eat("?i:"):
		p.fold = true
	case p.eat("?="):
		t.look = true
	case p.eat("?!"):
		t.look, t.negative = true, true
	case p.eat("?"):
		return p.fail("this kind of group")
	}
	var err error
	if t.alts, err = p.alternatives(); err != nil {
		return err
	}
	if !p.eat(")") {
		return p.fail("no end of a group")
	}
	return nil
}

func (p *parser) quantifier(t *term) error {
	if !p.more() {
		return nil
	}
	counted := false
	switch p.peek() {
	case '?':
		t.min = 0
	case '*':
		t.min, t.max = 0, unlimited
	case '+':
		t.max = unlimited
	case '{':
		counted = true
		return p.finishQuantifier(t, counted, p.counts(t))
	default:
		return nil
	}
	p.pos++
	return p.finishQuantifier(t, counted, nil)
}

func (p *parser) finishQuantifier(t *term, counted bool, err error) error {
	switch {
	case err != nil:
		return err
	case t.look || t.end:
		return p.fail("a quantifier of a condition")
	case t.alts != nil && (t.min != 0 || t.max != 1):
		return p.fail("a repeated group")
	case p.eat("?"):
		t.mode = lazy
	case p.more() && p.peek() == '+':
		// In Ruby's syntax, which is Oniguruma's here, {1,3}+ repeats {1,3}.
		if counted && p.dialect == Oniguruma {
			return p.fail("a repeated count")
		}
		p.pos++
		t.mode = possessive
	}
	if p.more() && strings.ContainsRune("?*+{", p.peek()) {
		return p.fail("a quantifier of a quantifier")
	}
	if t.alts != nil && t.mode == possessive {
		return p.fail("a possessive group")
	}
	return nil
}

// counts reads {n}, {n,}, {,m} or {n,m}.
func (p *parser) counts(t *term) error {
	end := strings.IndexByte(p.src[p.pos:], '}')
	if end < 0 {
		return p.fail("{ without }")
	}
	from, to, two := strings.Cut(p.src[p.pos+1:p.pos+end], ",")
	var err1, err2 error
	t.min, t.max = 0, unlimited
	if from != "" || !two {
		t.min, err1 = strconv.Atoi(from)
	}
	if to != "" {
		t.max, err2 = strconv.Atoi(to)
	} else if !two {
		t.max = t.min
	}
	if err1 != nil || err2 != nil || t.min < 0 || t.max < t.min || t.min > maxRepeat || t.max > maxRepeat && t.max != unlimited || t.max == 0 {
		return p.fail("the counts %s", p.src[p.pos:p.pos+end+1])
	}
	p.pos += end + 1
	return nil
}

// property returns the code points of a property by the name in \p{name}.
func (p *parser) property(name string) (ranges, bool) {
	if r, ok := p.sets[name]; ok {
		return r, true
	}
	in := categorySet(name)
	var r ranges
	switch {
	case in != 0:
		r = where(func(c ucd.Class) bool { return c.Is(in) })
	case name == "Han" || name == "script=Han" || name == "Script=Han":
		r = where(ucd.Class.Han)
	case name == "space":
		r = where(ucd.Class.Space)
	case name == "word":
		// Oniguruma counts the superscripts and fractions of Latin-1 as word characters too, the other
		// dialect the two joiners without width.
		if r = where(ucd.Class.Word); p.dialect == Oniguruma {
			r = r.union(ranges{{0xb2, 0xb3}, {0xb9, 0xb9}, {0xbc, 0xbe}})
		} else {
			r = r.union(ranges{{0x200c, 0x200d}})
		}
	default:
		return nil, false
	}
	p.sets[name] = r
	return r, true
}

// categorySet returns the categories that a property name stands for, 0 if it is none.
func categorySet(name string) uint32 {
	switch name {
	case "L", "Letter":
		return ucd.Letter
	case "M", "Mark":
		return ucd.Mark
	case "N", "Number":
		return ucd.Number
	case "P", "Punctuation":
		return ucd.Punctuation
	case "S", "Symbol":
		return ucd.Symbol
	case "Z", "Separator":
		return ucd.Separator
	case "C", "Other":
		return ucd.Other
	}
	const names = "Cn Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cs Co"
	if i := strings.Index(names, name); len(name) == 2 && i >= 0 && i%3 == 0 {
		return 1 << (i / 3)
	}
	return 0
}
