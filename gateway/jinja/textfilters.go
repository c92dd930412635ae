package jinja

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// escape makes a string safe in HTML, unless it is.
func (st *state) escape(v Value) (Value, error) {
	if v.isMarkup() {
		return v, nil
	}
	v, err := st.plainStr(v)
	if err != nil {
		return v, err
	}
	if strings.ContainsAny(v.s, `&<>'"`) {
		b := st.builder()
		v.origins(func(s string, org uint64) {
			from := 0
			for i := range len(s) {
				if esc := htmlEscape(s[i]); esc != "" {
					b.add(s[from:i], org)
					b.add(esc, org)
					from = i + 1
				}
			}
			b.add(s[from:], org)
		})
		if v, err = st.built(&b); err != nil {
			return v, err
		}
	}
	v.f |= markup
	return v, nil
}

func htmlEscape(c byte) string {
	switch c {
	case '&':
		return "&amp;"
	case '<':
		return "&lt;"
	case '>':
		return "&gt;"
	case '\'':
		return "&#39;"
	case '"':
		return "&#34;"
	}
	return ""
}

func filterTitle(st *state, v Value, _ *args) (Value, error) {
	v, err := st.plainStr(v)
	if err != nil {
		return v, err
	}
	b := st.builder()
	start, at := true, 0
	v.origins(func(s string, org uint64) {
		for _, r := range s {
			switch {
			case isWordBreak(r):
				b.rune(r, org)
				start = true
			case start:
				b.special(r, upperSpecial, upperOf(r), org)
				start = false
			default:
				b.lower(r, v.s, at, org)
			}
			at += utf8.RuneLen(r)
		}
	})
	if err := st.tick(len(v.s) / 16); err != nil {
		return v, err
	}
	return st.built(&b)
}

func filterTrim(st *state, v Value, a *args) (Value, error) {
	if _, err := a.bind("trim", "chars"); err != nil {
		return v, err
	}
	v, err := st.softStr(v)
	if err != nil {
		return v, err
	}
	return st.strip("strip", v, a, true, true)
}

func filterReplace(st *state, v Value, a *args) (Value, error) {
	p, err := a.bind("replace", "old", "new", "count")
	if err != nil {
		return v, err
	}
	if p[1].k == kMissing {
		return v, fail(TypeError, "do_replace() missing 1 required positional argument: 'new'")
	}
	n := int64(-1)
	if p[2].k != kNone {
		if n, err = intArg(p[2], "replace", -1); err != nil {
			return v, err
		}
	}
	v, err = st.plainStr(v)
	if err != nil {
		return v, err
	}
	old, err := st.plainStr(p[0])
	if err != nil {
		return v, err
	}
	with, err := st.plainStr(p[1])
	if err != nil {
		return v, err
	}
	return st.replace(v, old.s, with, n)
}

func filterIndent(st *state, v Value, a *args) (Value, error) {
	p, err := a.bind("indent", "width", "first", "blank")
	if err != nil {
		return v, err
	}
	by := text("    ")
	switch w := p[0]; w.k {
	case kMissing:
	case kStr:
		by = w.flat()
	case kInt, kBool:
		if w.int() > int64(st.limits.String) {
			return v, tooMuch("string", st.limits.String)
		}
		by = text(strings.Repeat(" ", int(max(0, w.int()))))
	default:
		return v, fail(TypeError, "can't multiply sequence by non-int of type '%s'", w.typeName())
	}
	if v.k <= kUndef {
		return v, v.undefErr()
	}
	if v.k != kStr {
		return v, fail(TypeError, "unsupported operand type(s) for +=: '%s' and 'str'", v.typeName())
	}
	v = v.flat()
	lines, err := st.lines(v, false)
	if err != nil {
		return v, err
	}
	if r, _ := utf8.DecodeLastRuneInString(v.s); v.s == "" || isLineEnd(r) {
		lines = append(lines, text("")) // the filter adds a newline before it splits
	}
	b := st.builder()
	for i, l := range lines {
		if i > 0 {
			b.lit("\n")
		}
		if i == 0 && p[1].truth() || i > 0 && (l.s != "" || p[2].truth()) {
			b.text(by)
		}
		b.text(l)
		if b.over {
			break
		}
	}
	out, err := st.built(&b)
	out.f = v.f
	return out, err
}

func filterCenter(st *state, v Value, a *args) (Value, error) {
	p, err := a.bind("center", "width")
	if err != nil {
		return v, err
	}
	if p[0].k == kMissing {
		p[0] = Int(80)
	}
	if v, err = st.softStr(v); err != nil {
		return v, err
	}
	return st.justify("center", v, &args{pos: p[:1]})
}

func filterTruncate(st *state, v Value, a *args) (Value, error) {
	p, err := a.bind("truncate", "length", "killwords", "end", "leeway")
	if err != nil {
		return v, err
	}
	length, err := intArg(p[0], "truncate", 255)
	if err != nil {
		return v, err
	}
	end := text("...")
	if p[2].k != kMissing {
		if end, err = stringArg(p[2], "truncate"); err != nil {
			return v, err
		}
	}
	leeway := int64(5)
	if p[3].k != kNone {
		if leeway, err = intArg(p[3], "truncate", 5); err != nil {
			return v, err
		}
	}
	keep := length - int64(utf8.RuneCountInString(end.s))
	if keep < 0 || leeway < 0 {
		return v, fail(ValueError, "expected length >= the length of the end, got %d", length)
	}
	n, err := filterLength(st, v, &args{})
	if err != nil || n.int() <= length+leeway {
		return v, err
	}
	if v.k != kStr {
		return v, fail(TypeError, "object of type '%s' cannot be truncated", v.typeName())
	}
	v = v.flat()
	out := v.sub(0, offset(v.s, keep))
	if !p[1].truth() {
		if i := strings.LastIndexByte(out.s, ' '); i >= 0 {
			out = out.sub(0, i)
		}
	}
	return st.add(out, end)
}

func filterFormat(st *state, v Value, a *args) (Value, error) {
	v, err := st.softStr(v)
	if err != nil {
		return v, err
	}
	if len(a.pos) > 0 && len(a.kw) > 0 {
		return v, fail(FilterArgumentError, "can't handle positional and keyword arguments at the same time")
	}
	if len(a.kw) > 0 {
		d := newDict(len(a.kw))
		for _, k := range a.kw {
			d.set(text(k.name), k.v)
		}
		return st.percent(v, d.value())
	}
	return st.percent(v, tuple(a.pos...))
}

func filterURLEncode(st *state, v Value, _ *args) (Value, error) {
	b := st.builder()
	if v.k != kDict && v.k != kList && v.k != kTuple && v.k != kView {
		if err := st.urlQuote(&b, v, false); err != nil {
			return v, err
		}
		return st.built(&b)
	}
	if v.k == kDict {
		v = Value{k: kView, p: &view{v.dict(), 'i'}}
	}
	pairs, err := st.slice(v)
	if err != nil {
		return v, err
	}
	for i, p := range pairs {
		kv, err := st.unpack(p, 2)
		if err != nil {
			return v, err
		}
		if i > 0 {
			b.lit("&")
		}
		if err := st.urlQuote(&b, kv[0], true); err != nil {
			return v, err
		}
		b.lit("=")
		if err := st.urlQuote(&b, kv[1], true); err != nil {
			return v, err
		}
	}
	return st.built(&b)
}

// urlQuote appends str(v) for a path, or for a query.
func (st *state) urlQuote(b *builder, v Value, query bool) error {
	s, err := st.plainStr(v)
	s.origins(func(s string, org uint64) {
		for i := range len(s) {
			switch c := s[i]; {
			case c == ' ' && query:
				b.add("+", org)
			case c|0x20 >= 'a' && c|0x20 <= 'z', c >= '0' && c <= '9', strings.IndexByte("_.-~", c) >= 0, c == '/' && !query:
				b.add(s[i:i+1], org)
			default:
				b.add("%"+strings.ToUpper(hex(rune(c), 2)), org)
			}
		}
	})
	return err
}

// wordCount counts runs of letters, digits and underscores.
func wordCount(s string) int64 {
	n := int64(0)
	in := false
	for _, r := range s {
		word := r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r)
		if word && !in {
			n++
		}
		in = word
	}
	return n
}

// isWordBreak reports a character after which the title filter begins a word.
func isWordBreak(r rune) bool { return isSpace(r) || strings.ContainsRune("-({[<", r) }
