package jinja

import (
	"strings"
	"unicode/utf8"
)

// ropeMin is from how many bytes a concatenation is put off until its text is needed. One of several origins
// always is.
const ropeMin = 1024

// rope is a concatenation whose parts were not copied yet. It belongs to one render.
type rope struct {
	parts []Value
	n     int // bytes
	st    *state
	flat  string
	runs  *runs
	org   uint64
}

// each calls f with the parts in order, those of ropes within it in their place.
func (r *rope) each(f func(Value)) {
	stack := [][]Value{r.parts}
	for len(stack) > 0 {
		top := len(stack) - 1
		if len(stack[top]) == 0 {
			stack = stack[:top]
			continue
		}
		v := stack[top][0]
		stack[top] = stack[top][1:]
		if in, ok := v.p.(*rope); ok && in.flat == "" {
			stack = append(stack, in.parts)
			continue
		}
		f(v)
	}
}

// flat is v with its text in s: that of a rope is put together, once.
func (v Value) flat() Value {
	if v.p == nil {
		return v
	}
	return v.flatten()
}

func (v Value) flatten() Value {
	r, ok := v.p.(*rope)
	if !ok {
		return v
	}
	if r.flat == "" {
		r.st.mem -= r.n // the next to ask for memory gets the error
		b := builder{buf: make([]byte, 0, r.n), bare: !r.st.track}
		r.each(b.text)
		whole := b.value()
		r.flat, r.org = whole.s, whole.n
		r.runs, _ = whole.p.(*runs)
		r.parts = nil
	}
	out := Value{k: kStr, f: v.f, s: r.flat, n: r.org}
	if r.runs != nil {
		out.p = r.runs
	}
	return out
}

// str is the text of a string.
func (v Value) str() string {
	if v.p == nil {
		return v.s
	}
	return v.flat().s
}

// len is the length of a string in bytes.
func (v Value) len() int {
	if v.p != nil {
		if r, ok := v.p.(*rope); ok {
			return r.n
		}
	}
	return len(v.s)
}

// sub is v[i:j] of a flat string, in bytes, without copying text.
func (v Value) sub(i, j int) Value {
	out := Value{k: kStr, f: v.f, n: v.n, s: v.s[i:j]}
	if rs, ok := v.p.(*runs); ok {
		var more *runs
		if out.n, more = rs.cut(i, j); more != nil {
			out.p = more
		}
	}
	return out
}

// origins calls f for each stretch of one origin of a flat string.
func (v Value) origins(f func(s string, org uint64)) {
	rs, ok := v.p.(*runs)
	if !ok {
		f(v.s, v.n)
		return
	}
	from := 0
	for _, r := range rs.r {
		f(v.s[from:r.end], r.org)
		from = r.end
	}
}

// concat puts strings together.
func (st *state) concat(parts []Value) (Value, error) {
	n, one, last := 0, true, -1
	for i := range parts {
		l := parts[i].len()
		if l == 0 {
			continue
		}
		if last >= 0 && (st.track && parts[i].n != parts[last].n || parts[last].p != nil || parts[i].p != nil) {
			one = false
		}
		last = i
		n += l
	}
	switch {
	case last < 0:
		return text(""), nil
	case n == parts[last].len():
		v := parts[last]
		v.f = 0
		return v, nil
	case n > st.limits.String:
		return Value{}, tooMuch("string", st.limits.String)
	}
	if n >= ropeMin || !one { // origins are put together for nobody but the output, mostly
		if err := st.grow(48 * len(parts)); err != nil {
			return Value{}, err
		}
		r := &rope{parts: make([]Value, len(parts)), n: n, st: st}
		copy(r.parts, parts)
		return Value{k: kStr, p: r}, nil
	}
	if err := st.grow(n); err != nil {
		return Value{}, err
	}
	return Value{k: kStr, n: parts[last].n, s: join(parts)}, nil
}

func join(parts []Value) string {
	switch len(parts) {
	case 2:
		return parts[0].s + parts[1].s
	case 3:
		return parts[0].s + parts[1].s + parts[2].s
	case 4:
		return parts[0].s + parts[1].s + parts[2].s + parts[3].s
	}
	var b strings.Builder
	n := 0
	for _, p := range parts {
		n += len(p.s)
	}
	b.Grow(n)
	for _, p := range parts {
		b.WriteString(p.s)
	}
	return b.String()
}

// builder is an empty one with the limit of strings.
func (st *state) builder() builder { return builder{max: st.limits.String, bare: !st.track} }

// built is what b holds, within the limits.
func (st *state) built(b *builder) (Value, error) {
	if b.over {
		return Value{}, tooMuch("string", st.limits.String)
	}
	if err := st.grow(len(b.buf)); err != nil {
		return Value{}, err
	}
	return b.value(), nil
}

func appendRune(b []byte, r rune) []byte { return utf8.AppendRune(b, r) }

// valid is s with U+FFFD for what is not UTF-8.
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\ufffd")
}

// isSpace is str.isspace of one character.
func isSpace(r rune) bool {
	switch {
	case r <= ' ':
		return r == ' ' || r >= '\t' && r <= '\r' || r >= 0x1c && r <= 0x1f
	case r < 0x1680:
		return r == 0x85 || r == 0xa0
	}
	return r == 0x1680 || r >= 0x2000 && r <= 0x200a || r == 0x2028 || r == 0x2029 || r == 0x202f || r == 0x205f || r == 0x3000
}

func notSpace(r rune) bool { return !isSpace(r) }

// trimmed is where the text of s begins and ends without white space at the sides asked for.
func trimmed(s string, left, right bool) (int, int) {
	i, j := 0, len(s)
	if left {
		if i = strings.IndexFunc(s, notSpace); i < 0 {
			return 0, 0
		}
	}
	if right {
		j = i + len(strings.TrimRightFunc(s[i:], isSpace))
	}
	return i, j
}

// offset is the byte at which the i-th character of s begins, from its end when i < 0, within s.
func offset(s string, i int64) int {
	if i >= 0 {
		o := 0
		for ; i > 0 && o < len(s); i-- {
			if s[o] < utf8.RuneSelf {
				o++
				continue
			}
			_, n := utf8.DecodeRuneInString(s[o:])
			o += n
		}
		return o
	}
	o := len(s)
	for ; i < 0 && o > 0; i++ {
		if s[o-1] < utf8.RuneSelf {
			o--
			continue
		}
		_, n := utf8.DecodeLastRuneInString(s[:o])
		o -= n
	}
	return o
}
