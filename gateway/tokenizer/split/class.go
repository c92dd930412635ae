package split

import (
	"strconv"
	"strings"
)

// class reads a bracketed class behind its [.
func (p *parser) class() (ranges, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.fail("too many classes within classes")
	}
	defer func() { p.depth-- }()
	negate := p.eat("^")
	var in, left ranges
	cut := false // left is what stands before &&
	for first := true; ; first = false {
		if !p.more() {
			return nil, p.fail("no end of a class")
		}
		if p.eat("&&") {
			if cut {
				in = left.intersect(in)
			}
			left, in, cut = in, nil, true
			continue
		}
		if p.peek() == ']' {
			if first {
				return nil, p.fail("an empty class")
			}
			p.pos++
			break
		}
		item, err := p.classItem()
		if err != nil {
			return nil, err
		}
		in = in.union(item)
	}
	if cut {
		in = left.intersect(in)
	}
	if negate {
		in = in.negate()
	}
	if len(in) == 0 {
		return nil, p.fail("a class of no character")
	}
	return in, nil
}

// classItem reads one character, range, escape or class within a class.
func (p *parser) classItem() (ranges, error) {
	var in ranges
	var err error
	switch c := p.next(); c {
	case '[':
		if p.more() && p.peek() == ':' {
			return nil, p.fail("a POSIX class")
		}
		return p.class()
	case '\\':
		in, err = p.escape()
	default:
		in = single(c)
	}
	if err != nil || !p.isRange() {
		return in, err
	}
	if len(in) != 1 || in[0].lo != in[0].hi {
		return nil, p.fail("a range from a class")
	}
	p.pos++ // the dash
	to := single(p.next())
	if to[0].lo == '\\' {
		if to, err = p.escape(); err != nil {
			return nil, err
		}
	}
	if len(to) != 1 || to[0].lo != to[0].hi || to[0].lo < in[0].lo {
		return nil, p.fail("a range that does not ascend")
	}
	return ranges{{in[0].lo, to[0].lo}}, nil
}

// isRange reports whether a dash that joins two characters follows.
func (p *parser) isRange() bool {
	rest := p.src[p.pos:]
	return len(rest) > 1 && rest[0] == '-' && rest[1] != ']' && rest[1] != '['
}

// escape reads what follows a backslash.
func (p *parser) escape() (ranges, error) {
	if !p.more() {
		return nil, p.fail("a backslash at the end")
	}
	switch c := p.next(); c {
	case 'n':
		return single('\n'), nil
	case 'r':
		return single('\r'), nil
	case 't':
		return single('\t'), nil
	case 'f':
		return single('\f'), nil
	case 'v':
		return single('\v'), nil
	case 's', 'S', 'd', 'D', 'w', 'W':
		in, _ := p.property(map[rune]string{'s': "space", 'd': "Nd", 'w': "word"}[c|0x20])
		if c < 'a' {
			in = in.negate()
		}
		return in, nil
	case 'p', 'P':
		return p.propertyEscape(c == 'P')
	case 'x', 'u':
		return p.hex(c)
	default:
		if c < '0' || c >= 0x7f || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' {
			if c > ' ' && c < '0' {
				return single(c), nil
			}
			return nil, p.fail("\\%c", c)
		}
		return single(c), nil
	}
}

func (p *parser) propertyEscape(negate bool) (ranges, error) {
	var name string
	if p.eat("{") {
		end := strings.IndexByte(p.src[p.pos:], '}')
		if end < 0 {
			return nil, p.fail("\\p without its end")
		}
		name = p.src[p.pos : p.pos+end]
		p.pos += end + 1
	} else if p.dialect == Oniguruma || !p.more() {
		return nil, p.fail("\\p without {")
	} else {
		name = string(p.next())
	}
	if strings.HasPrefix(name, "^") {
		name, negate = name[1:], !negate
	}
	in, ok := p.property(name)
	if !ok || name == "space" || name == "word" {
		return nil, p.fail("the property %q", name)
	}
	if negate {
		in = in.negate()
	}
	return in, nil
}

// hex reads \xHH, \x{H...} or \uHHHH.
func (p *parser) hex(kind rune) (ranges, error) {
	n := 2
	if kind == 'u' {
		n = 4
	}
	rest := p.src[p.pos:]
	var digits string
	if end := strings.IndexByte(rest, '}'); strings.HasPrefix(rest, "{") && end > 0 {
		digits = rest[1:end]
		p.pos += end + 1
	} else if len(rest) >= n {
		digits = rest[:n]
		p.pos += n
	}
	v, err := strconv.ParseUint(digits, 16, 32)
	if err != nil || v > 0x10ffff || v >= 0xd800 && v < 0xe000 || kind == 'x' && len(digits) == 2 && v >= 0x80 {
		return nil, p.fail("the code point %q", digits)
	}
	return single(rune(v)), nil
}
