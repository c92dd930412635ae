package jinja

import (
	"math"
	"math/big"
)

// kind is the type of a Value.
type kind uint8

const (
	kMissing kind = iota // a name that has no value yet
	kUndef
	kNone
	kBool
	kInt
	kBig
	kFloat
	kStr
	kList
	kTuple
	kDict
	kRange
	kIter // consumed once: a generator of Python
	kView
	kNamespace
	kFunc
	kMacro
	kLoop
	kObject
)

// Value is an immutable value of a template: what Python calls None, bool, int, float, str, list, tuple,
// dict, and what a render makes besides. The zero value is undefined. Values may be shared by renders.
type Value struct {
	k kind
	f uint8  // flags: markup, or what is undefined
	n uint64 // bool, int, bits of a float, origin of a string
	s string // text of a string; name of what is undefined
	p any    // what else the kind needs
}

// markup is the flag of a string that is safe in HTML.
const markup uint8 = 1

// list is what lists and tuples hold.
type list struct {
	v     []Value
	group bool // a pair made by groupby, with names for its two
	kept  *kept
	lent  lent[list]
}

// None is Python's None.
func None() Value { return Value{k: kNone} }

// Bool is True or False.
func Bool(b bool) Value {
	if b {
		return Value{k: kBool, n: 1}
	}
	return Value{k: kBool}
}

// Int is an integer.
func Int(i int64) Value { return Value{k: kInt, n: uint64(i)} }

// Float is a floating-point number.
func Float(f float64) Value { return Value{k: kFloat, n: math.Float64bits(f)} }

// Text is a string whose bytes came from o.
func Text(s string, o Origin) Value { return Value{k: kStr, s: valid(s), n: o.pack()} }

// List is a list of items. The slice must not change afterwards.
func List(items ...Value) Value { return Value{k: kList, p: &list{v: items}} }

// Member is one entry of an object.
type Member struct {
	Name   string
	Value  Value
	Origin Origin // of the name
}

// Object is a dict with string keys in the order given. Of members with one name the last one counts, in
// the place of the first, as in Python.
func Object(members ...Member) Value {
	d := newDict(len(members))
	for _, m := range members {
		d.set(Text(m.Name, m.Origin), m.Value)
	}
	return d.value()
}

// IsUndefined reports whether v is no value: the zero Value, or what a template found missing.
func (v Value) IsUndefined() bool { return v.k <= kUndef }

func tuple(items ...Value) Value { return Value{k: kTuple, p: &list{v: items}} }

// text is a string of the template's own.
func text(s string) Value { return Value{k: kStr, s: s} }

func bigInt(b *big.Int) Value {
	if b.IsInt64() {
		return Int(b.Int64())
	}
	return Value{k: kBig, p: b}
}

func (v Value) int() int64     { return int64(v.n) }
func (v Value) float() float64 { return math.Float64frombits(v.n) }

func (v Value) items() []Value {
	l := v.p.(*list)
	if l.lent.from != nil {
		l.fill()
	}
	return l.v
}

func (v Value) dict() *dict {
	d := v.p.(*dict)
	if d.lent.from != nil {
		d.fill()
	}
	return d
}

func (v Value) isMarkup() bool { return v.k == kStr && v.f&markup != 0 }

// What an undefined value knows of itself, in f.
const (
	undefName   uint8 = iota // a variable, s is its name
	undefAttr                // an attribute or item s of an object whose type is in p
	undefHint                // s is the whole message
	undefUnsafe              // s is the message, and it is the sandbox that refuses
)

func undefinedName(name string) Value { return Value{k: kUndef, s: name} }
func undefinedHint(msg string) Value  { return Value{k: kUndef, f: undefHint, s: msg} }

func undefinedAttr(of Value, name string) Value {
	return Value{k: kUndef, f: undefAttr, s: name, n: uint64(of.k)<<8 | uint64(of.f), p: of.p}
}

// undefErr is the error of using an undefined value.
func (v Value) undefErr() error {
	switch v.f {
	case undefAttr:
		of := Value{k: kind(v.n >> 8), f: uint8(v.n), p: v.p}
		if of.k == kNone {
			return fail(UndefinedError, "'None' has no attribute %s", quote(v.s))
		}
		return fail(UndefinedError, "'%s object' has no attribute %s", of.typeName(), quote(v.s))
	case undefHint:
		return fail(UndefinedError, "%s", v.s)
	case undefUnsafe:
		return fail(SecurityError, "%s", v.s)
	}
	return fail(UndefinedError, "%s is undefined", quote(v.s))
}

var typeNames = [...]string{
	kMissing: "Undefined", kUndef: "Undefined", kNone: "NoneType", kBool: "bool", kInt: "int", kBig: "int", kFloat: "float", kStr: "str", kList: "list", kTuple: "tuple",
	kDict: "dict", kRange: "range", kIter: "generator", kView: "dict_items", kNamespace: "Namespace", kFunc: "builtin_function_or_method", kMacro: "Macro",
	kLoop: "LoopContext", kObject: "object",
}

// typeName is Python's name of the type of v.
func (v Value) typeName() string {
	switch {
	case v.isMarkup():
		return "Markup"
	case v.k == kView:
		if w, ok := v.p.(*view); ok {
			return w.name()
		}
	case v.k == kObject:
		if o, ok := v.p.(object); ok {
			return o.typeName()
		}
	}
	return typeNames[v.k]
}

// truth is bool(v).
func (v Value) truth() bool {
	switch v.k {
	case kMissing, kUndef, kNone:
		return false
	case kBool, kInt:
		return v.n != 0
	case kFloat:
		return v.float() != 0
	case kStr:
		return v.len() > 0
	case kList, kTuple:
		return len(v.items()) > 0
	case kDict:
		return v.dict().len() > 0
	case kRange:
		return v.p.(*span).len() > 0
	case kView:
		return v.p.(*view).d.len() > 0
	}
	return true
}

// object is a value with a type of its own: what cycler and joiner return.
type object interface {
	typeName() string
	attr(name string) (Value, bool)
}

// span is a range.
type span struct{ start, stop, step int64 }

func (r *span) len() int64 {
	switch {
	case r.step > 0 && r.start < r.stop:
		return (r.stop-r.start-1)/r.step + 1
	case r.step < 0 && r.start > r.stop:
		return (r.start-r.stop-1)/-r.step + 1
	}
	return 0
}

func (r *span) at(i int64) Value { return Int(r.start + i*r.step) }

// namespace is an object whose attributes can be set. It lives in one render.
type namespace struct{ d *dict }
