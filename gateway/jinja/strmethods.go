package jinja

import (
	"strings"
	"unicode/utf8"
)

// strMethods finds a method of strings.
func strMethods(name string) filterFunc {
	switch name {
	case "strip", "lstrip", "rstrip":
		left, right := name != "rstrip", name != "lstrip"
		return func(st *state, v Value, a *args) (Value, error) { return st.strip(name, v, a, left, right) }
	case "split":
		return strSplit
	case "rsplit":
		return strRsplit
	case "splitlines":
		return strSplitlines
	case "partition":
		return func(st *state, v Value, a *args) (Value, error) { return st.partition(v, a, false) }
	case "rpartition":
		return func(st *state, v Value, a *args) (Value, error) { return st.partition(v, a, true) }
	case "startswith":
		return func(st *state, v Value, a *args) (Value, error) { return st.affix(name, v, a, strings.HasPrefix) }
	case "endswith":
		return func(st *state, v Value, a *args) (Value, error) { return st.affix(name, v, a, strings.HasSuffix) }
	case "removeprefix", "removesuffix":
		return func(st *state, v Value, a *args) (Value, error) { return strRemove(v, a, name) }
	case "replace":
		return strReplace
	case "find", "rfind", "index", "rindex":
		return func(st *state, v Value, a *args) (Value, error) { return st.find(name, v, a) }
	case "count":
		return strCount
	case "join":
		return strJoin
	case "format":
		return strFormat
	case "upper", "lower", "title", "capitalize", "swapcase", "casefold":
		return func(st *state, v Value, a *args) (Value, error) {
			if _, err := a.bind(name); err != nil {
				return v, err
			}
			return st.recase(name, v)
		}
	case "center", "ljust", "rjust":
		return func(st *state, v Value, a *args) (Value, error) { return st.justify(name, v, a) }
	case "zfill":
		return strZfill
	case "expandtabs":
		return strExpandtabs
	case "isalnum", "isalpha", "isascii", "isdecimal", "isdigit", "isidentifier", "islower", "isnumeric", "isprintable", "isspace", "istitle", "isupper":
		return func(st *state, v Value, a *args) (Value, error) {
			if _, err := a.bind(name); err != nil {
				return v, err
			}
			s := v.str()
			return Bool(isKind(name, s)), st.tick(len(s) / scanBytes)
		}
	}
	return nil
}

// stringArg is an argument that must be a string.
func stringArg(v Value, fn string) (Value, error) {
	switch v.k {
	case kStr:
		return v.flat(), nil
	case kMissing:
		return v, fail(TypeError, "%s() needs more arguments", fn)
	}
	return v, fail(TypeError, "%s() argument must be str, not %s", fn, v.typeName())
}

// intArg is an argument that must be an integer, d where it is missing.
func intArg(v Value, fn string, d int64) (int64, error) {
	switch v.k {
	case kInt, kBool:
		return v.int(), nil
	case kMissing:
		return d, nil
	case kUndef:
		return 0, v.undefErr()
	}
	return 0, fail(TypeError, "%s() argument must be an integer, not '%s'", fn, v.typeName())
}

// strip takes white space, or the characters of an argument, off the sides.
func (st *state) strip(name string, v Value, a *args, left, right bool) (Value, error) {
	p, err := a.bind(name, "chars")
	if err != nil {
		return v, err
	}
	v = v.flat()
	if p[0].k == kMissing || p[0].k == kNone {
		i, j := trimmed(v.s, left, right)
		return v.sub(i, j), st.tick((i + len(v.s) - j) / scanBytes)
	}
	chars, err := stringArg(p[0], name)
	if err != nil {
		return v, fail(TypeError, "%s arg must be None or str", name)
	}
	i, j := 0, len(v.s)
	if left {
		i = len(v.s) - len(strings.TrimLeft(v.s, chars.s))
	}
	if right {
		j = i + len(strings.TrimRight(v.s[i:], chars.s))
	}
	work := (i + len(v.s) - j) * (1 + len(chars.s)/16)
	return v.sub(i, j), st.tick(work / scanBytes)
}

// window is the part of s that start and end arguments leave, in bytes.
func (st *state) window(s string, from, to Value, fn string) (int, int, error) {
	n := int64(len(s))
	get := func(v Value, d int) (int, error) {
		if v.k == kMissing || v.k == kNone {
			return d, nil
		}
		k, err := intArg(v, fn, 0)
		if err != nil {
			return 0, fail(TypeError, "slice indices must be integers or None or have an __index__ method")
		}
		if k > n {
			return len(s) + 1, nil // beyond the end even the empty string is not found
		}
		return offset(s, max(k, -n)), nil
	}
	i, err := get(from, 0)
	if err != nil {
		return 0, 0, err
	}
	j, err := get(to, len(s))
	if err != nil {
		return 0, 0, err
	}
	return i, min(j, len(s)), st.tick(len(s) / scanBytes)
}

// affix is startswith and endswith, of one string or any of a tuple.
func (st *state) affix(name string, v Value, a *args, has func(s, x string) bool) (Value, error) {
	p, err := a.bind(name, "prefix", "start", "end")
	if err != nil {
		return v, err
	}
	s := v.str()
	if len(a.pos) > 1 {
		i, j, err := st.window(s, p[1], p[2], name)
		if err != nil {
			return v, err
		}
		if i > j {
			return Bool(false), nil
		}
		s = s[i:j]
	}
	if p[0].k == kStr {
		return Bool(has(s, p[0].str())), st.tick(p[0].len() / scanBytes)
	}
	if p[0].k != kTuple {
		return v, fail(TypeError, "%s first arg must be str or a tuple of str, not %s", name, p[0].typeName())
	}
	for _, x := range p[0].items() {
		if x.k != kStr {
			return v, fail(TypeError, "tuple for %s must only contain str, not %s", name, x.typeName())
		}
		if err := st.tick(1 + x.len()/scanBytes); err != nil {
			return v, err
		}
		if has(s, x.str()) {
			return Bool(true), nil
		}
	}
	return Bool(false), nil
}

func strRemove(v Value, a *args, name string) (Value, error) {
	p, err := a.bind(name, "x")
	if err != nil {
		return v, err
	}
	x, err := stringArg(p[0], name)
	if err != nil {
		return v, err
	}
	v = v.flat()
	switch {
	case name == "removeprefix" && strings.HasPrefix(v.s, x.s):
		return v.sub(len(x.s), len(v.s)), nil
	case name == "removesuffix" && strings.HasSuffix(v.s, x.s):
		return v.sub(0, len(v.s)-len(x.s)), nil
	}
	return v, nil
}

func strReplace(st *state, v Value, a *args) (Value, error) {
	p, err := a.bind("replace", "old", "new", "count")
	if err != nil {
		return v, err
	}
	old, err := stringArg(p[0], "replace")
	if err != nil {
		return v, err
	}
	with, err := stringArg(p[1], "replace")
	if err != nil {
		return v, err
	}
	n, err := intArg(p[2], "replace", -1)
	if err != nil {
		return v, err
	}
	if v.isMarkup() && with.f&markup == 0 {
		if with, err = st.escape(with); err != nil {
			return v, err
		}
	}
	return st.replace(v.flat(), old.s, with.flat(), n)
}

// replace puts with in the place of the first n occurrences of old, of all when n < 0.
func (st *state) replace(v Value, old string, with Value, n int64) (Value, error) {
	if err := st.tick(1 + len(v.s)/scanBytes); err != nil {
		return v, err
	}
	if n == 0 || old != "" && !strings.Contains(v.s, old) {
		return v, nil
	}
	b := st.builder()
	b.buf = make([]byte, 0, min(len(v.s)+len(v.s)/8, st.limits.String))
	from := 0
	for ; n != 0 && !b.over; n-- {
		i := 0
		if old == "" {
			// The empty string is before each character and at the end.
			b.text(with)
			if from >= len(v.s) {
				break
			}
			_, i = utf8.DecodeRuneInString(v.s[from:])
			b.part(v, from, from+i)
			from += i
			continue
		}
		if i = strings.Index(v.s[from:], old); i < 0 {
			break
		}
		b.part(v, from, from+i)
		b.text(with)
		from += i + len(old)
	}
	b.part(v, from, len(v.s))
	out, err := st.built(&b)
	out.f = v.f
	return out, err
}

func (st *state) find(name string, v Value, a *args) (Value, error) {
	p, err := a.bind(name, "sub", "start", "end")
	if err != nil {
		return v, err
	}
	x, err := stringArg(p[0], name)
	if err != nil {
		return v, err
	}
	s := v.str()
	i, j, err := st.window(s, p[1], p[2], name)
	if err != nil {
		return v, err
	}
	at := -1
	if i <= j {
		if name[0] == 'r' {
			at = strings.LastIndex(s[i:j], x.s)
		} else {
			at = strings.Index(s[i:j], x.s)
		}
	}
	if at < 0 {
		if name == "index" || name == "rindex" {
			return v, fail(ValueError, "substring not found")
		}
		return Int(-1), nil
	}
	return Int(int64(utf8.RuneCountInString(s[:i+at]))), nil
}

func strCount(st *state, v Value, a *args) (Value, error) {
	p, err := a.bind("count", "sub", "start", "end")
	if err != nil {
		return v, err
	}
	x, err := stringArg(p[0], "count")
	if err != nil {
		return v, err
	}
	s := v.str()
	i, j, err := st.window(s, p[1], p[2], "count")
	if err != nil || i > j {
		return Int(0), err
	}
	return Int(int64(strings.Count(s[i:j], x.s))), nil
}

func strJoin(st *state, v Value, a *args) (Value, error) {
	p, err := a.bind("join", "iterable")
	if err != nil {
		return v, err
	}
	if p[0].k == kMissing {
		return v, fail(TypeError, "str.join() takes exactly one argument (0 given)")
	}
	q, err := st.iterate(p[0])
	if err != nil {
		return v, fail(TypeError, "can only join an iterable")
	}
	b := st.builder()
	for i := 0; ; i++ {
		e, ok, err := q.next(st)
		if err != nil {
			return v, err
		}
		if !ok {
			break
		}
		if err := st.tick(1); err != nil {
			return v, err
		}
		if v.isMarkup() && !e.isMarkup() {
			if e, err = st.escape(e); err != nil {
				return v, err
			}
		}
		if e.k != kStr {
			return v, fail(TypeError, "sequence item %d: expected str instance, %s found", i, e.typeName())
		}
		if i > 0 {
			b.text(v)
		}
		if b.text(e); b.over {
			break
		}
	}
	out, err := st.built(&b)
	out.f = v.f
	return out, err
}
