package jinja

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxRange is the length of the longest range, as in Jinja2's sandbox.
const maxRange = 100_000

// isGlobal reports whether templates have a function of that name.
func isGlobal(name string) bool {
	switch name {
	case "range", "dict", "namespace", "cycler", "joiner", "lipsum", "raise_exception", nowFunction:
		return true
	}
	return false
}

// nowFunction is the one that templates have where a render has a time.
const nowFunction = "strftime_now"

// global is a function that every template has, missing where there is none.
func global(name string) Value {
	switch name {
	case "range":
		return native(name, globalRange)
	case "dict":
		return native(name, func(st *state, a *args) (Value, error) {
			d, err := st.dictOf(a)
			return d.value(), err
		})
	case "namespace":
		return native(name, func(st *state, a *args) (Value, error) {
			d, err := st.dictOf(a)
			return Value{k: kNamespace, p: &namespace{d}}, err
		})
	case "cycler":
		return native(name, func(_ *state, a *args) (Value, error) {
			if len(a.pos) == 0 {
				return Value{}, fail(RuntimeError, "at least one item has to be provided")
			}
			return Value{k: kObject, p: &cycler{items: slices.Clone(a.pos)}}, nil
		})
	case "joiner":
		return native(name, func(_ *state, a *args) (Value, error) {
			p, err := a.bind(name, "sep")
			if p[0].k == kMissing {
				p[0] = text(", ")
			}
			return Value{k: kObject, p: &joiner{sep: p[0]}}, err
		})
	case "raise_exception":
		return native(name, globalRaise)
	case nowFunction:
		return native(name, globalNow)
	}
	return Value{}
}

func globalRange(_ *state, a *args) (Value, error) {
	if len(a.pos) < 1 || len(a.pos) > 3 || len(a.kw) > 0 {
		return Value{}, fail(TypeError, "range expected 1 to 3 arguments, got %d", len(a.pos))
	}
	var n [3]int64
	for i, v := range a.pos {
		var ok bool
		if n[i], ok = v.index(); !ok {
			if v.k <= kUndef {
				return v, v.undefErr()
			}
			return v, fail(TypeError, "'%s' object cannot be interpreted as an integer", v.typeName())
		}
	}
	r := &span{n[0], n[1], n[2]}
	switch len(a.pos) {
	case 1:
		r = &span{0, n[0], 1}
	case 2:
		r.step = 1
	}
	const far = 1 << 40 // differences stay within 64 bits
	if r.step == 0 {
		return Value{}, fail(ValueError, "range() arg 3 must not be zero")
	}
	if max(r.start, r.stop, r.step) > far || min(r.start, r.stop, r.step) < -far || r.len() > maxRange {
		return Value{}, fail(OverflowError, "Range too big. The sandbox blocks ranges larger than MAX_RANGE (%d).", maxRange)
	}
	return Value{k: kRange, p: r}, nil
}

// dictOf is dict(*args, **kwargs).
func (st *state) dictOf(a *args) (*dict, error) {
	d := newDict(len(a.kw))
	if len(a.pos) > 1 {
		return d, fail(TypeError, "dict expected at most 1 argument, got %d", len(a.pos))
	}
	if len(a.pos) == 1 {
		v := a.pos[0]
		if v.k == kDict {
			v = Value{k: kView, p: &view{v.dict(), 'i'}}
		}
		pairs, err := st.slice(v)
		if err != nil {
			return d, err
		}
		if err := st.growItems(2 * len(pairs)); err != nil {
			return d, err
		}
		for _, p := range pairs {
			kv, err := st.unpack(p, 2)
			if err != nil {
				return d, err
			}
			if err := d.put(st, kv[0], kv[1]); err != nil {
				return d, err
			}
		}
	}
	for _, k := range a.kw {
		d.set(text(k.name), k.v)
	}
	return d, st.growItems(len(a.kw))
}

func globalRaise(st *state, a *args) (Value, error) {
	p, err := a.bind("raise_exception", "message")
	if err != nil {
		return Value{}, err
	}
	s, err := st.toStr(p[0])
	if err != nil {
		return s, err
	}
	return s, &RaisedError{Message: s.str()}
}

func globalNow(st *state, a *args) (Value, error) {
	p, err := a.bind(nowFunction, "format")
	if err != nil {
		return Value{}, err
	}
	format, err := stringArg(p[0], nowFunction)
	if err != nil {
		return format, err
	}
	if err := st.tick(len(format.s)); err != nil {
		return format, err
	}
	b := st.builder()
	s := format.s
	for s != "" {
		i := strings.IndexByte(s, '%')
		if i < 0 || i+1 >= len(s) {
			b.lit(s)
			break
		}
		b.lit(s[:i])
		s = s[i+1:]
		bare := s[0] == '-' && len(s) > 1
		if bare {
			s = s[1:]
		}
		part := timePart(st.now, s[0])
		if bare {
			if part = strings.TrimLeft(part, "0 "); part == "" {
				part = "0"
			}
		}
		b.lit(part)
		s = s[1:]
	}
	return st.built(&b)
}

// timePart is one conversion of strftime in the C locale.
func timePart(t time.Time, c byte) string {
	layouts := map[byte]string{
		'Y': "2006", 'm': "01", 'd': "02", 'H': "15", 'M': "04", 'S': "05", 'B': "January", 'b': "Jan", 'h': "Jan", 'A': "Monday", 'a': "Mon", 'I': "03",
		'p': "PM", 'y': "06", 'e': "_2", 'j': "002", 'F': "2006-01-02", 'T': "15:04:05", 'R': "15:04", 'D': "01/02/06", 'x': "01/02/06", 'X': "15:04:05",
		'c': "Mon Jan _2 15:04:05 2006", 'r': "03:04:05 PM",
	}
	if l, ok := layouts[c]; ok {
		return t.Format(l)
	}
	two := func(n int) string {
		if n < 10 {
			return "0" + strconv.Itoa(n)
		}
		return strconv.Itoa(n)
	}
	switch c {
	case '%':
		return "%"
	case 'n':
		return "\n"
	case 't':
		return "\t"
	case 'f':
		s := strconv.Itoa(t.Nanosecond() / 1000)
		return strings.Repeat("0", 6-len(s)) + s
	case 's':
		return strconv.FormatInt(t.Unix(), 10)
	case 'w':
		return strconv.Itoa(int(t.Weekday()))
	case 'u':
		return strconv.Itoa((int(t.Weekday())+6)%7 + 1)
	case 'U':
		return two((t.YearDay() + 6 - int(t.Weekday())) / 7)
	case 'W':
		return two((t.YearDay() + 6 - (int(t.Weekday())+6)%7) / 7)
	case 'V':
		_, w := t.ISOWeek()
		return two(w)
	case 'G':
		y, _ := t.ISOWeek()
		return strconv.Itoa(y)
	case 'C':
		return two(t.Year() / 100)
	case 'k':
		return strings.Replace(" "+strconv.Itoa(t.Hour()), " 1", "1", min(1, t.Hour()/10))
	case 'z', 'Z':
		return "" // the clock of transformers has no zone
	}
	return "%" + string(rune(c))
}

// cycler goes round its items.
type cycler struct {
	items []Value
	at    int
}

func (c *cycler) typeName() string { return "Cycler" }

func (c *cycler) attr(name string) (Value, bool) {
	switch name {
	case "current":
		return c.items[c.at], true
	case "next":
		return native(name, func(*state, *args) (Value, error) {
			v := c.items[c.at]
			c.at = (c.at + 1) % len(c.items)
			return v, nil
		}), true
	case "reset":
		return native(name, func(*state, *args) (Value, error) {
			c.at = 0
			return None(), nil
		}), true
	}
	return Value{}, false
}

// joiner is empty the first time, then its separator.
type joiner struct {
	sep  Value
	used bool
}

func (j *joiner) typeName() string { return "Joiner" }

func (j *joiner) attr(name string) (Value, bool) {
	switch name {
	case "sep":
		return j.sep, true
	case "used":
		return Bool(j.used), true
	}
	return Value{}, false
}

func (j *joiner) next() Value {
	if !j.used {
		j.used = true
		return text("")
	}
	return j.sep
}
