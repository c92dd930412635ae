package jinja

import (
	"math/big"
	"strings"
)

// methods are those that a name can be, by the type of the object.
type methods struct {
	str, dict, list, number filterFunc
	unsafeDict, unsafeList  bool // the sandbox refuses it
	hidden                  bool // and of any object
}

func methodsOf(name string) methods {
	m := methods{
		str: strMethods(name), dict: dictMethods(name), list: listMethods(name), number: numberMethods(name),
		hidden: strings.HasPrefix(name, "__") && strings.HasSuffix(name, "__"),
	}
	switch name {
	case "clear", "pop":
		m.unsafeDict, m.unsafeList = true, true
	case "popitem", "setdefault", "update":
		m.unsafeDict = true
	case "append", "reverse", "insert", "sort", "extend", "remove":
		m.unsafeList = true
	}
	return m
}

// of is the method that an object has.
func (m *methods) of(v Value) filterFunc {
	switch v.k {
	case kStr:
		return m.str
	case kDict:
		return m.dict
	case kList, kTuple, kRange:
		return m.list
	case kInt, kBig, kBool, kFloat:
		return m.number
	}
	return nil
}

// attr is v.name.
func (st *state) attr(v Value, name string, m *methods) (Value, error) {
	if m == nil {
		all := methodsOf(name)
		m = &all
	}
	if v.k <= kUndef {
		return v, v.undefErr()
	}
	if m.hidden || v.k == kDict && m.unsafeDict || v.k == kList && m.unsafeList {
		return unsafeAttr(v, name), nil
	}
	if f := m.of(v); f != nil {
		return native(name, func(st *state, a *args) (Value, error) { return f(st, v, a) }), nil
	}
	switch v.k {
	case kDict:
		if e, ok := v.dict().get(name); ok {
			return e, nil
		}
	case kNamespace:
		if e, ok := v.p.(*namespace).d.get(name); ok {
			return e, nil
		}
	case kLoop:
		if e, ok, err := v.p.(*loop).attr(st, name); ok || err != nil {
			return e, err
		}
	case kMacro:
		if e, ok := v.p.(*macro).attr(name); ok {
			return e, nil
		}
	case kObject:
		if e, ok := v.p.(object).attr(name); ok {
			return e, nil
		}
	case kBool, kInt, kBig, kFloat, kTuple, kRange:
		if e, ok := plainAttr(v, name); ok {
			return e, nil
		}
	}
	return undefinedAttr(v, name), nil
}

// plainAttr is an attribute that is no method.
func plainAttr(v Value, name string) (Value, bool) {
	switch v.k {
	case kTuple:
		if l := v.p.(*list); l.group {
			switch name {
			case "grouper":
				return v.items()[0], true
			case "list":
				return v.items()[1], true
			}
		}
		return Value{}, false
	case kRange:
		r := v.p.(*span)
		switch name {
		case "start":
			return Int(r.start), true
		case "stop":
			return Int(r.stop), true
		case "step":
			return Int(r.step), true
		}
		return Value{}, false
	}
	switch name {
	case "real":
		if v.k == kBool {
			v.k = kInt
		}
		return v, true
	case "imag":
		if v.k == kFloat {
			return Float(0), true
		}
		return Int(0), true
	case "numerator":
		if v.k == kBool {
			v.k = kInt
		}
		return v, v.k != kFloat
	case "denominator":
		return Int(1), v.k != kFloat
	}
	return Value{}, false
}

func unsafeAttr(v Value, name string) Value {
	return Value{k: kUndef, f: undefUnsafe, s: "access to attribute " + quote(name) + " of '" + v.typeName() + "' object is unsafe."}
}

// item is v[key].
func (st *state) item(v, key Value) (Value, error) {
	if v.k <= kUndef {
		return v, v.undefErr()
	}
	switch v.k {
	case kDict:
		e, ok, err := v.dict().lookup(st, key)
		if ok {
			return e, nil
		}
		if err != nil && !isClass(err, TypeError) {
			return e, err
		}
	case kList, kTuple, kStr, kRange:
		if i, ok := key.index(); ok {
			if e, ok, err := st.at(v, i); ok || err != nil {
				return e, err
			}
		}
	}
	if key.k != kStr {
		k, err := st.reprText(key)
		return undefinedHint("'" + objectName(v) + "' has no element " + k), err
	}
	return st.attr(v, key.str(), nil)
}

func objectName(v Value) string {
	if v.k == kNone {
		return "None"
	}
	return v.typeName() + " object"
}

// reprText is repr(v).
func (st *state) reprText(v Value) (string, error) {
	b := st.builder()
	err := st.repr(&b, v, 0)
	return string(b.buf), err
}

// index is v as an index of a sequence.
func (v Value) index() (int64, bool) {
	return v.int(), v.k == kInt || v.k == kBool
}

// at is the i-th element of a sequence, from its end when i < 0.
func (st *state) at(v Value, i int64) (Value, bool, error) {
	switch v.k {
	case kStr:
		v = v.flat()
		if err := st.tick(int(min(max(i, -i), int64(len(v.s)))) / scanBytes); err != nil {
			return v, false, err
		}
		from := v.s
		if i < 0 {
			// The character begins where those from it on end before the last one.
			end := offset(v.s, i+1)
			if i == -1 {
				end = len(v.s)
			}
			if from = v.s[:end]; end == 0 {
				return v, false, nil
			}
			i = -1
		}
		o := offset(from, i)
		if o == len(v.s) {
			return v, false, nil
		}
		return v.sub(o, o+offset(v.s[o:], 1)), true, nil
	case kRange:
		r := v.p.(*span)
		if i < 0 {
			i += r.len()
		}
		if i < 0 || i >= r.len() {
			return v, false, nil
		}
		return r.at(i), true, nil
	}
	items := v.items()
	if i < 0 {
		i += int64(len(items))
	}
	if i < 0 || i >= int64(len(items)) {
		return v, false, nil
	}
	return items[i], true, nil
}

// bound is one of a slice's three; given is false for None.
func bound(v Value) (i int64, given bool, err error) {
	switch v.k {
	case kMissing, kNone:
		return 0, false, nil
	case kInt, kBool:
		return v.int(), true, nil
	case kBig:
		if v.p.(*big.Int).Sign() < 0 {
			return -1 << 62, true, nil
		}
		return 1 << 62, true, nil
	}
	return 0, false, fail(TypeError, "slice indices must be integers or None or have an __index__ method")
}

// slicing is v[lo:hi:step].
func (st *state) slicing(v Value, b [3]Value) (Value, error) {
	switch v.k {
	case kMissing, kUndef:
		return v, v.undefErr()
	case kDict:
		return v, fail(TypeError, "unhashable type: 'slice'")
	case kStr, kList, kTuple, kRange:
	default:
		return v, fail(TypeError, "'%s' object is not subscriptable", v.typeName())
	}
	for i := range b {
		if b[i].k == kUndef {
			b[i] = Value{k: kObject} // undefined is no index
		}
	}
	step, stepped, err := bound(b[2])
	if err != nil {
		return v, err
	}
	if !stepped {
		step = 1
	}
	lo, hasLo, err := bound(b[0])
	if err != nil {
		return v, err
	}
	hi, hasHi, err := bound(b[1])
	if err != nil {
		return v, err
	}
	if step == 0 {
		return v, fail(ValueError, "slice step cannot be zero")
	}
	if v.k == kStr && step == 1 {
		return st.substring(v.flat(), lo, hi, hasHi)
	}
	return st.stepped(v, lo, hi, step, hasLo, hasHi)
}

// substring is v[lo:hi] of a flat string. It looks at no more of it than it must.
func (st *state) substring(v Value, lo, hi int64, hasHi bool) (Value, error) {
	n := int64(len(v.s))
	from := offset(v.s, min(max(lo, -n), n))
	to := len(v.s)
	if hasHi {
		to = offset(v.s, min(max(hi, -n), n))
	}
	walked := min(max(lo, -lo), n)
	if hasHi {
		walked += min(max(hi, -hi), n)
	}
	if err := st.tick(int(walked) / scanBytes); err != nil {
		return v, err
	}
	if from >= to {
		v = text("")
		return v, nil
	}
	return v.sub(from, to), nil
}

// stepped is slicing by Python's rules for indices.
func (st *state) stepped(v Value, lo, hi, step int64, hasLo, hasHi bool) (Value, error) {
	items := []Value(nil)
	n := int64(0)
	if v.k == kRange {
		n = v.p.(*span).len()
	} else {
		var err error
		if items, err = st.slice(v); err != nil {
			return v, err
		}
		n = int64(len(items))
	}
	clamp := func(i int64, given bool, first, last, missing int64) int64 {
		if !given {
			return missing
		}
		if i < 0 {
			i = max(i+n, first)
		}
		return max(first, min(i, last))
	}
	if step > 0 {
		lo, hi = clamp(lo, hasLo, 0, n, 0), clamp(hi, hasHi, 0, n, n)
	} else {
		lo, hi = clamp(lo, hasLo, -1, n-1, n-1), clamp(hi, hasHi, -1, n-1, -1)
	}
	count := (&span{lo, hi, step}).len()
	if v.k == kRange {
		r := v.p.(*span)
		return Value{k: kRange, p: &span{r.start + lo*r.step, r.start + hi*r.step, r.step * step}}, nil
	}
	if v.k == kStr {
		b := st.builder()
		for i := range count {
			b.text(items[lo+i*step])
		}
		out, err := st.built(&b)
		out.f = v.f
		return out, err
	}
	if step == 1 {
		return Value{k: v.k, p: &list{v: items[lo : lo+count : lo+count]}}, nil
	}
	if err := st.growItems(int(count)); err != nil {
		return v, err
	}
	out := make([]Value, count)
	for i := range out {
		out[i] = items[lo+int64(i)*step]
	}
	return Value{k: v.k, p: &list{v: out}}, nil
}
