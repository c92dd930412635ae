package jinja

import (
	"strings"
	"unicode/utf8"
)

// separator is the one of split and partition; none means white space.
func separator(v Value, fn string) (sep string, none bool, err error) {
	if v.k == kMissing || v.k == kNone {
		return "", true, nil
	}
	s, err := stringArg(v, fn)
	if err == nil && s.s == "" {
		err = fail(ValueError, "empty separator")
	}
	return s.s, false, err
}

func strSplit(st *state, v Value, a *args) (Value, error) {
	p, err := a.bind("split", "sep", "maxsplit")
	if err != nil {
		return v, err
	}
	sep, none, err := separator(p[0], "split")
	if err != nil {
		return v, err
	}
	limit, err := intArg(p[1], "split", -1)
	if err != nil {
		return v, err
	}
	v = v.flat()
	if err := st.tick(len(v.s) / scanBytes); err != nil {
		return v, err
	}
	if none {
		return st.fields(v, limit)
	}
	var out []Value
	from := 0
	for limit < 0 || int64(len(out)) < limit {
		i := strings.Index(v.s[from:], sep)
		if i < 0 {
			break
		}
		if err := st.growItems(1); err != nil {
			return v, err
		}
		out = append(out, v.sub(from, from+i))
		from += i + len(sep)
	}
	return List(append(out, v.sub(from, len(v.s)))...), nil
}

// fields splits at white space.
func (st *state) fields(v Value, limit int64) (Value, error) {
	var out []Value
	from := 0
	for {
		i := strings.IndexFunc(v.s[from:], notSpace)
		if i < 0 {
			return List(out...), nil
		}
		if err := st.growItems(1); err != nil {
			return v, err
		}
		from += i
		n := strings.IndexFunc(v.s[from:], isSpace)
		if limit >= 0 && int64(len(out)) >= limit {
			return List(append(out, v.sub(from, len(v.s)))...), nil
		}
		if n < 0 {
			return List(append(out, v.sub(from, len(v.s)))...), nil
		}
		out = append(out, v.sub(from, from+n))
		from += n
	}
}

func strRsplit(st *state, v Value, a *args) (Value, error) {
	p, err := a.bind("rsplit", "sep", "maxsplit")
	if err != nil {
		return v, err
	}
	sep, none, err := separator(p[0], "rsplit")
	if err != nil {
		return v, err
	}
	limit, err := intArg(p[1], "rsplit", -1)
	if err != nil {
		return v, err
	}
	v = v.flat()
	if err := st.tick(len(v.s) / scanBytes); err != nil {
		return v, err
	}
	var out []Value // from the right
	end := len(v.s)
	for {
		i, next := -1, 0
		if none {
			end = len(strings.TrimRightFunc(v.s[:end], isSpace))
			if end == 0 {
				break
			}
			if next = strings.LastIndexFunc(v.s[:end], isSpace); next >= 0 {
				_, size := utf8.DecodeRuneInString(v.s[next:])
				i = next + size
			}
		} else if next = strings.LastIndex(v.s[:end], sep); next >= 0 {
			i = next + len(sep)
		}
		if i < 0 || limit >= 0 && int64(len(out)) >= limit {
			out = append(out, v.sub(0, end))
			break
		}
		if err := st.growItems(1); err != nil {
			return v, err
		}
		out = append(out, v.sub(i, end))
		end = next
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return List(out...), nil
}

func isLineEnd(r rune) bool {
	return r >= '\n' && r <= '\r' || r >= 0x1c && r <= 0x1e || r == 0x85 || r == 0x2028 || r == 0x2029
}

func strSplitlines(st *state, v Value, a *args) (Value, error) {
	p, err := a.bind("splitlines", "keepends")
	if err != nil {
		return v, err
	}
	lines, err := st.lines(v.flat(), p[0].truth())
	return List(lines...), err
}

func (st *state) lines(v Value, keep bool) ([]Value, error) {
	if err := st.tick(len(v.s) / scanBytes); err != nil {
		return nil, err
	}
	var out []Value
	for from := 0; from < len(v.s); {
		if err := st.growItems(1); err != nil {
			return nil, err
		}
		i := strings.IndexFunc(v.s[from:], isLineEnd)
		if i < 0 {
			return append(out, v.sub(from, len(v.s))), nil
		}
		end := from + i
		_, n := utf8.DecodeRuneInString(v.s[end:])
		if strings.HasPrefix(v.s[end:], "\r\n") {
			n = 2
		}
		if keep {
			out = append(out, v.sub(from, end+n))
		} else {
			out = append(out, v.sub(from, end))
		}
		from = end + n
	}
	return out, nil
}

func (st *state) partition(v Value, a *args, last bool) (Value, error) {
	p, err := a.bind("partition", "sep")
	if err != nil {
		return v, err
	}
	sep, err := stringArg(p[0], "partition")
	if err == nil && sep.s == "" {
		err = fail(ValueError, "empty separator")
	}
	if err != nil {
		return v, err
	}
	v = v.flat()
	if err := st.tick(len(v.s) / scanBytes); err != nil {
		return v, err
	}
	i := strings.Index(v.s, sep.s)
	if last {
		i = strings.LastIndex(v.s, sep.s)
	}
	none := text("")
	none.f = v.f
	switch {
	case i >= 0:
		return tuple(v.sub(0, i), v.sub(i, i+len(sep.s)), v.sub(i+len(sep.s), len(v.s))), nil
	case last:
		return tuple(none, none, v), nil
	}
	return tuple(v, none, none), nil
}
