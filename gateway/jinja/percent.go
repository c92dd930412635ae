package jinja

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// percent is the % operator of strings.
func (st *state) percent(v, arg Value) (Value, error) {
	f := percentFormat{st: st, b: st.builder(), arg: arg, markup: v.isMarkup()}
	if arg.k == kTuple {
		f.args = arg.items()
	} else {
		f.args, f.single = []Value{arg}, true
	}
	v = v.flat()
	if err := f.run(v); err != nil {
		return v, err
	}
	spare := f.single && (arg.k == kDict || arg.k == kList || arg.k == kRange || arg.k <= kUndef) // a mapping to Python
	if len(f.args) > 0 && !spare {
		return v, fail(TypeError, "not all arguments converted during string formatting")
	}
	out, err := st.built(&f.b)
	out.f = v.f
	return out, err
}

type percentFormat struct {
	st     *state
	b      builder
	arg    Value
	args   []Value // left
	single bool    // there is one argument, not a tuple
	markup bool    // of a string that is safe in HTML, so that arguments are escaped
}

func (f *percentFormat) run(v Value) error {
	from := 0
	for {
		i := strings.IndexByte(v.s[from:], '%')
		if i < 0 {
			f.b.part(v, from, len(v.s))
			return nil
		}
		f.b.part(v, from, from+i)
		n, err := f.field(v.s[from+i:], from+i)
		if err != nil {
			return err
		}
		if f.b.over {
			return tooMuch("string", f.st.limits.String)
		}
		from += i + n
	}
}

func (f *percentFormat) take() (Value, error) {
	if len(f.args) == 0 {
		return Value{}, fail(TypeError, "not enough arguments for format string")
	}
	v := f.args[0]
	f.args = f.args[1:]
	return v, nil
}

// field writes the conversion at the start of s and returns its length. at is where s begins, for messages.
func (f *percentFormat) field(s string, at int) (int, error) {
	sp := spec{fill: ' ', prec: -1, truncates: true}
	arg, i, err := f.key(s)
	if err != nil {
		return 0, err
	}
	n, err := f.layout(s[i:], &sp)
	if err != nil {
		return 0, err
	}
	if i += n; i >= len(s) {
		return 0, fail(ValueError, "incomplete format")
	}
	sp.verb = s[i]
	if sp.verb == '%' {
		f.b.lit("%")
		return i + 1, nil
	}
	if strings.IndexByte("diouxXeEfFgGcrsa", sp.verb) < 0 {
		r, _ := utf8.DecodeRuneInString(s[i:])
		return 0, fail(ValueError, "unsupported format character '%c' (0x%x) at index %d", r, r, at+i)
	}
	if arg == nil {
		v, err := f.take()
		if err != nil {
			return 0, err
		}
		arg = &v
	}
	v := *arg
	if f.markup && !v.numeric() && !v.isMarkup() {
		if v, err = f.st.escape(v); err != nil {
			return 0, err
		}
	}
	return i + 1, f.st.convert(&f.b, v, sp)
}

// key reads a key in parentheses at the start of a conversion: its value, nil where there is none, and the
// length read.
func (f *percentFormat) key(s string) (*Value, int, error) {
	if len(s) < 2 || s[1] != '(' {
		return nil, 1, nil
	}
	end := strings.IndexByte(s, ')')
	if end < 0 {
		return nil, 0, fail(ValueError, "incomplete format key")
	}
	if f.arg.k != kDict {
		return nil, 0, fail(TypeError, "format requires a mapping")
	}
	v, ok := f.arg.dict().get(s[2:end])
	if !ok {
		return nil, 0, fail(KeyError, "%s", quote(s[2:end]))
	}
	f.args = nil
	return &v, end + 1, nil
}

// layout reads flags, width, precision and a length modifier, which means nothing.
func (f *percentFormat) layout(s string, sp *spec) (int, error) {
	i := sp.flags(s)
	n, err := f.size(s[i:], &sp.width)
	if err != nil {
		return 0, err
	}
	if i += n; sp.width < 0 {
		sp.align, sp.width = '<', -sp.width
	}
	if i < len(s) && s[i] == '.' {
		sp.prec = 0
		if n, err = f.size(s[i+1:], &sp.prec); err != nil {
			return 0, err
		}
		i += 1 + n
	}
	for i < len(s) && strings.IndexByte("hlL", s[i]) >= 0 {
		i++
	}
	return i, nil
}

// flags reads the flags at the start of s.
func (sp *spec) flags(s string) int {
	for i := range len(s) {
		switch s[i] {
		case '-':
			sp.align = '<'
		case '0':
			if sp.align == 0 {
				sp.fill, sp.align = '0', '='
			}
		case '+':
			sp.sign = '+'
		case ' ':
			if sp.sign == 0 {
				sp.sign = ' '
			}
		case '#':
			sp.alt = true
		default:
			return i
		}
	}
	return len(s)
}

// size reads a width or precision, which may be an argument.
func (f *percentFormat) size(s string, to *int) (int, error) {
	if strings.HasPrefix(s, "*") {
		v, err := f.take()
		if err != nil {
			return 0, err
		}
		if v.k != kInt && v.k != kBool {
			return 0, fail(TypeError, "* wants int")
		}
		*to = int(min(max(v.int(), -math.MaxInt32), math.MaxInt32))
		return 1, nil
	}
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	if n == 0 {
		return 0, nil
	}
	var err error
	if *to, err = strconv.Atoi(s[:n]); err != nil || *to > math.MaxInt32 {
		return 0, fail(ValueError, "width too big")
	}
	return n, nil
}

// convert writes one argument of the % operator.
func (st *state) convert(b *builder, v Value, sp spec) error {
	switch sp.verb {
	case 's', 'r', 'a':
		return st.convertText(b, v, sp)
	case 'c':
		if v.k == kStr && utf8.RuneCountInString(v.str()) == 1 {
			return st.convertText(b, v, spec{fill: ' ', align: sp.align, width: sp.width, prec: -1, verb: 's'})
		}
		if v.k != kInt {
			return fail(TypeError, "%%c requires int or char")
		}
	case 'i', 'u':
		sp.verb = 'd'
	}
	real := strings.IndexByte("eEfFgG", sp.verb) >= 0
	switch {
	case v.k <= kUndef:
		return v.undefErr()
	case !v.numeric() && real:
		return fail(TypeError, "must be real number, not %s", v.typeName())
	case !v.numeric():
		return fail(TypeError, "%%%c format: a real number is required, not %s", sp.verb, v.typeName())
	case v.k == kFloat && !real && sp.verb != 'd':
		return fail(TypeError, "%%%c format: an integer is required, not float", sp.verb)
	case v.k == kFloat && !real:
		var err error
		if v, err = truncate(v.float()); err != nil {
			return err
		}
	}
	return st.layNumber(b, v, sp)
}

// convertText is convert for the verbs s, r and a.
func (st *state) convertText(b *builder, v Value, sp spec) error {
	if sp.fill == '0' {
		sp.fill, sp.align = ' ', 0
	}
	if sp.align == 0 {
		sp.align = '>'
	}
	var err error
	if sp.verb == 's' {
		v, err = st.toStr(v)
	} else {
		var s string
		s, err = st.reprText(v)
		v = text(s)
	}
	if err != nil {
		return err
	}
	return st.layText(b, v, sp)
}
