package sandbox

import (
	"fmt"
	"strings"
)

// ValueType is a type of the binary format.
type ValueType byte

// Value types.
const (
	I32       ValueType = 0x7f
	I64       ValueType = 0x7e
	F32       ValueType = 0x7d
	F64       ValueType = 0x7c
	V128      ValueType = 0x7b
	FuncRef   ValueType = 0x70
	ExternRef ValueType = 0x6f
)

func (t ValueType) valid() bool {
	return t >= V128 && t <= I32 || t == FuncRef || t == ExternRef
}

// String returns the type's name in the text format.
func (t ValueType) String() string {
	switch t {
	case I32:
		return "i32"
	case I64:
		return "i64"
	case F32:
		return "f32"
	case F64:
		return "f64"
	case V128:
		return "v128"
	case FuncRef:
		return "funcref"
	case ExternRef:
		return "externref"
	}
	return fmt.Sprintf("type %#x", byte(t))
}

// Signature is the type of a function. Signatures are compared with ==.
type Signature struct {
	params, results string // a byte a value type
}

// Sig makes a signature.
func Sig(params, results []ValueType) Signature {
	return Signature{params: pack(params), results: pack(results)}
}

func pack(types []ValueType) string {
	b := make([]byte, len(types))
	for i, t := range types {
		b[i] = byte(t)
	}
	return string(b)
}

// Params returns the parameters' types.
func (s Signature) Params() []ValueType { return unpack(s.params) }

// Results returns the results' types.
func (s Signature) Results() []ValueType { return unpack(s.results) }

func unpack(s string) []ValueType {
	out := make([]ValueType, len(s))
	for i := range len(s) {
		out[i] = ValueType(s[i])
	}
	return out
}

// String writes the signature as "(i32, i32) -> i64".
func (s Signature) String() string {
	results := list(s.results)
	if len(s.results) != 1 {
		results = "(" + results + ")"
	}
	return "(" + list(s.params) + ") -> " + results
}

func list(types string) string {
	names := make([]string, len(types))
	for i := range len(types) {
		names[i] = ValueType(types[i]).String()
	}
	return strings.Join(names, ", ")
}
