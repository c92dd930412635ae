package jinja

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// formatter is one call of str.format.
type formatter struct {
	st     *state
	b      *builder
	a      *args
	auto   int  // the next automatic field number, -1 once fields are numbered by hand
	used   bool // an automatic number was used
	markup bool
}

func strFormat(st *state, v Value, a *args) (Value, error) {
	b := st.builder()
	v = v.flat()
	f := formatter{st: st, b: &b, a: a, markup: v.isMarkup()}
	if err := f.run(v, 0); err != nil {
		return v, err
	}
	out, err := st.built(&b)
	out.f = v.f
	return out, err
}

// run writes v with its fields filled in. Fields may stand in the format of a field, not deeper.
func (f *formatter) run(v Value, depth int) error {
	if depth > 1 {
		return fail(ValueError, "Max string recursion exceeded")
	}
	for from := 0; from < len(v.s); {
		if f.b.over {
			return tooMuch("string", f.st.limits.String)
		}
		i := strings.IndexAny(v.s[from:], "{}")
		if i < 0 {
			f.b.part(v, from, len(v.s))
			return nil
		}
		f.b.part(v, from, from+i)
		from += i
		if from+1 < len(v.s) && v.s[from+1] == v.s[from] {
			f.b.part(v, from, from+1)
			from += 2
			continue
		}
		if v.s[from] == '}' {
			return fail(ValueError, "Single '}' encountered in format string")
		}
		n := fieldEnd(v.s[from+1:])
		if n < 0 {
			return fail(ValueError, "expected '}' before end of string")
		}
		if err := f.field(v.s[from+1:from+1+n], depth); err != nil {
			return err
		}
		from += n + 2
	}
	return nil
}

// fieldEnd is where the field at the start of s is closed.
func fieldEnd(s string) int {
	open := 0
	for i := range len(s) {
		switch s[i] {
		case '{':
			open++
		case '}':
			if open == 0 {
				return i
			}
			open--
		}
	}
	return -1
}

// field writes one field: name, conversion and format.
func (f *formatter) field(s string, depth int) error {
	name, conv, format := s, "", ""
	if i := strings.IndexAny(bracketless(s), ":!"); i >= 0 {
		name, s = s[:i], s[i:]
		if s[0] == '!' {
			if len(s) < 2 || len(s) > 2 && s[2] != ':' {
				return fail(ValueError, "expected ':' after conversion specifier")
			}
			conv, s = s[1:2], s[2:]
		}
		format = strings.TrimPrefix(s, ":")
	}
	v, err := f.get(name)
	if err != nil {
		return err
	}
	switch conv {
	case "":
	case "s":
		v, err = f.st.toStr(v)
	case "r", "a":
		var r string
		r, err = f.st.reprText(v)
		v = text(r)
	default:
		err = fail(ValueError, "Unknown conversion specifier '%s'", conv)
	}
	if err != nil {
		return err
	}
	if strings.Contains(format, "{") {
		in := f.st.builder()
		outer := f.b
		f.b = &in
		err := f.run(text(format), depth+1)
		f.b = outer
		if err != nil {
			return err
		}
		format = string(in.buf)
	}
	if f.markup && !v.isMarkup() {
		b := f.st.builder()
		if err := f.st.format(&b, v, format); err != nil {
			return err
		}
		if v, err = f.st.escape(b.value()); err != nil {
			return err
		}
		f.b.text(v)
		return nil
	}
	return f.st.format(f.b, v, format)
}

// bracketless is s with the inside of [] blanked, where : and ! mean nothing.
func bracketless(s string) string {
	if !strings.Contains(s, "[") {
		return s
	}
	b, in := []byte(s), false
	for i, c := range b {
		switch {
		case c == '[':
			in = true
		case c == ']':
			in = false
		case in:
			b[i] = ' '
		}
	}
	return string(b)
}

// get finds the value of a field by its name.
func (f *formatter) get(name string) (Value, error) {
	end := strings.IndexAny(name, ".[")
	if end < 0 {
		end = len(name)
	}
	first, rest := name[:end], name[end:]
	if first == "" {
		if f.auto < 0 {
			return Value{}, fail(ValueError, "cannot switch from manual field specification to automatic field numbering")
		}
		first = strconv.Itoa(f.auto)
		f.auto++
		f.used = true
	} else if isDigits(first) {
		if f.used {
			return Value{}, fail(ValueError, "cannot switch from automatic field numbering to manual field specification")
		}
		f.auto = -1
	}
	v, err := f.arg(first)
	for err == nil && rest != "" {
		if rest[0] == '.' {
			if end = strings.IndexAny(rest[1:], ".["); end < 0 {
				end = len(rest) - 1
			}
			v, err = f.st.attr(v, rest[1:1+end], nil)
			rest = rest[1+end:]
			continue
		}
		if end = strings.IndexByte(rest, ']'); end < 0 {
			return v, fail(ValueError, "Missing ']' in format string")
		}
		key := text(rest[1:end])
		if isDigits(key.s) {
			if key, err = parseInt(key.s, 10); err != nil {
				return v, err
			}
		}
		v, err = f.st.item(v, key)
		rest = rest[end+1:]
		if rest != "" && rest[0] != '.' && rest[0] != '[' {
			return v, fail(ValueError, "Only '.' or '[' may follow ']' in format field specifier")
		}
	}
	return v, err
}

func (f *formatter) arg(name string) (Value, error) {
	if isDigits(name) {
		i, err := strconv.Atoi(name)
		if err != nil || i >= len(f.a.pos) {
			return Value{}, fail(IndexError, "Replacement index %s out of range for positional args tuple", name)
		}
		return f.a.pos[i], nil
	}
	for _, k := range f.a.kw {
		if k.name == name {
			return k.v, nil
		}
	}
	return Value{}, fail(KeyError, "%s", quote(name))
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// format is format(v, spec).
func (st *state) format(b *builder, v Value, format string) error {
	if format == "" {
		return st.write(b, v)
	}
	sp, err := parseSpec(format)
	if err != nil {
		return err
	}
	switch {
	case v.k == kStr:
		if sp.verb != 0 && sp.verb != 's' {
			return fail(ValueError, "Unknown format code '%c' for object of type 'str'", sp.verb)
		}
		if sp.align == '=' || sp.sign != 0 {
			return fail(ValueError, "'=' alignment not allowed in string format specifier")
		}
		if sp.align == 0 {
			sp.align = '<'
		}
		return st.layText(b, v, sp)
	case v.k == kBool && sp.verb == 0:
		s := "False"
		if v.truth() {
			s = "True"
		}
		if sp.align == 0 {
			sp.align = '<'
		}
		return st.layText(b, text(s), sp)
	case v.numeric():
		verbs := "bcdoxXneEfFgG%"
		if v.k == kFloat {
			verbs = "eEfFgGn%"
		}
		if sp.verb != 0 && strings.IndexByte(verbs, sp.verb) < 0 {
			return fail(ValueError, "Unknown format code '%c' for object of type '%s'", sp.verb, v.typeName())
		}
		if v.k != kFloat && sp.prec >= 0 && strings.IndexByte("eEfFgG%", sp.verb) < 0 {
			return fail(ValueError, "Precision not allowed in integer format specifier")
		}
		return st.layNumber(b, v, sp)
	}
	return fail(TypeError, "unsupported format string passed to %s.__format__", v.typeName())
}

// parseSpec reads [[fill]align][sign][#][0][width][group][.prec][verb].
func parseSpec(s string) (spec, error) {
	sp := spec{fill: ' ', prec: -1}
	bad := fail(ValueError, "Invalid format specifier")
	r, n := utf8.DecodeRuneInString(s)
	if len(s) > n && strings.IndexByte("<>=^", s[n]) >= 0 {
		sp.fill, sp.align = r, s[n]
		s = s[n+1:]
	} else if s != "" && strings.IndexByte("<>=^", s[0]) >= 0 {
		sp.align = s[0]
		s = s[1:]
	}
	take := func(set string) byte {
		if s != "" && strings.IndexByte(set, s[0]) >= 0 {
			c := s[0]
			s = s[1:]
			return c
		}
		return 0
	}
	number := func() int {
		n := 0
		for n < len(s) && s[n] >= '0' && s[n] <= '9' {
			n++
		}
		i, err := strconv.Atoi(s[:n])
		if n == 0 {
			return -1
		}
		s = s[n:]
		if err != nil {
			return math.MaxInt32
		}
		return min(i, math.MaxInt32)
	}
	sp.sign = take("+- ")
	sp.alt = take("#") != 0
	if take("0") != 0 && sp.align == 0 {
		sp.fill, sp.align = '0', '='
	}
	sp.width = max(0, number())
	sp.group = take(",_")
	if take(".") != 0 {
		if sp.prec = number(); sp.prec < 0 {
			return sp, fail(ValueError, "Format specifier missing precision")
		}
	}
	if s != "" {
		sp.verb = s[0]
		s = s[1:]
	}
	if s != "" {
		return sp, bad
	}
	return sp, nil
}
