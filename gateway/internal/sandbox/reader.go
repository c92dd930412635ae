package sandbox

import (
	"fmt"
	"unicode/utf8"
)

// reader reads one section. The first failure sticks: later reads return zero values, so that callers
// check err once per item; pos never passes end.
type reader struct {
	b        []byte
	pos, end int
	section  string // for messages
	item     string // what index counts
	index    int    // item being read, -1 for none
	err      error
}

// failf records a failure with its place.
func (r *reader) failf(format string, args ...any) {
	if r.err != nil {
		return
	}
	where := r.section
	if r.index >= 0 {
		where = fmt.Sprintf("%s, %s %d", r.section, r.item, r.index)
	}
	r.err = fmt.Errorf("%w: %s (byte %d): %s", ErrModule, where, r.pos, fmt.Sprintf(format, args...))
}

func (r *reader) left() int { return r.end - r.pos }

func (r *reader) byte(what string) byte {
	if r.err != nil {
		return 0
	}
	if r.pos >= r.end {
		r.failf("ends within %s", what)
		return 0
	}
	c := r.b[r.pos]
	r.pos++
	return c
}

// u32 reads an unsigned LEB128 number of at most five bytes and 32 bits.
func (r *reader) u32(what string) uint32 {
	var v uint32
	for i := range 5 {
		c := r.byte(what)
		if r.err != nil {
			return 0
		}
		if i == 4 && c > 0x0f {
			break
		}
		v |= uint32(c&0x7f) << (7 * i)
		if c < 0x80 {
			return v
		}
	}
	r.failf("%s is not an unsigned number of 32 bits", what)
	return 0
}

// skipLEB passes over a signed LEB128 number of at most n bytes.
func (r *reader) skipLEB(n int, what string) {
	for range n {
		if c := r.byte(what); r.err != nil || c < 0x80 {
			return
		}
	}
	r.failf("%s is longer than %d bytes", what, n)
}

func (r *reader) skip(n uint32, what string) {
	if r.err != nil {
		return
	}
	if uint64(n) > uint64(r.left()) {
		r.failf("%s of %d bytes, %d left", what, n, r.left())
		return
	}
	r.pos += int(n)
}

// count reads the length of a vector whose items take at least size bytes each, and holds it to limit
// and to the bytes that are left.
func (r *reader) count(what string, size, limit int) int {
	n := r.u32("number of " + what)
	if r.err != nil {
		return 0
	}
	if uint64(n) > uint64(limit) {
		r.failf("%d %s, at most %d", n, what, limit)
		return 0
	}
	if uint64(n)*uint64(size) > uint64(r.left()) {
		r.failf("%d %s in %d bytes", n, what, r.left())
		return 0
	}
	return int(n)
}

func (r *reader) name(what string, limit int) string {
	n := r.u32("length of " + what)
	if r.err != nil {
		return ""
	}
	if uint64(n) > uint64(limit) {
		r.failf("%s of %d bytes, at most %d", what, n, limit)
		return ""
	}
	from := r.pos
	if r.skip(n, what); r.err != nil {
		return ""
	}
	s := string(r.b[from:r.pos])
	if !utf8.ValidString(s) {
		r.failf("%s is not UTF-8", what)
		return ""
	}
	return s
}

func (r *reader) value(what string) ValueType {
	t := ValueType(r.byte(what))
	if r.err == nil && !t.valid() {
		r.failf("%s %#x is not a value type", what, byte(t))
	}
	return t
}

func (r *reader) reference(what string) ValueType {
	t := ValueType(r.byte(what))
	if r.err == nil && t != FuncRef && t != ExternRef {
		r.failf("%s %#x is not a reference type", what, byte(t))
	}
	return t
}

// bounds reads limits of a table or memory.
func (r *reader) bounds(flags byte, what string) (low, high uint32, bounded bool) {
	low = r.u32("minimum of " + what)
	if flags&1 != 0 {
		high, bounded = r.u32("maximum of "+what), true
		if r.err == nil && high < low {
			r.failf("%s with minimum %d and maximum %d", what, low, high)
		}
	}
	return low, high, bounded
}

// s33 reads a signed LEB128 number of at most five bytes and 33 bits.
func (r *reader) s33(what string) int64 { return r.signed(5, what) }

// signed reads a signed LEB128 number of at most n bytes.
func (r *reader) signed(n int, what string) int64 {
	var v int64
	for i := range n {
		c := r.byte(what)
		if r.err != nil {
			return 0
		}
		shift := 7 * i
		v |= int64(c&0x7f) << shift
		if c < 0x80 {
			if c&0x40 != 0 && shift+7 < 64 {
				v |= -1 << (shift + 7)
			}
			return v
		}
	}
	r.failf("%s is longer than %d bytes", what, n)
	return 0
}

// constant is a constant expression of one instruction; v is the number of an i32 or i64, and the
// index of what it names.
type constant struct {
	op byte
	v  int64
	at int // where the number begins
}

// constant reads a constant expression: one instruction and its end.
func (r *reader) constant(funcs, globals int) constant {
	const what = "constant expression"
	k := constant{op: r.byte(what), at: r.pos}
	switch k.op {
	case opI32Const:
		k.v = int64(int32(r.signed(5, what)))
	case opI64Const:
		k.v = r.signed(10, what)
	case 0x43:
		r.skip(4, what)
	case 0x44:
		r.skip(8, what)
	case opGlobalGet:
		i := r.u32(what)
		if k.v = int64(i); r.err == nil && uint64(i) >= uint64(globals) {
			r.failf("global %d of %d", i, globals)
		}
	case opRefNull:
		r.reference("null reference")
	case opRefFunc:
		i := r.u32(what)
		if k.v = int64(i); r.err == nil && uint64(i) >= uint64(funcs) {
			r.failf("function %d of %d", i, funcs)
		}
	case opVector:
		if sub := r.u32(what); r.err == nil && sub != vectorConst {
			r.failf("vector instruction %d in a constant expression", sub)
		}
		r.skip(16, what)
	default:
		r.failf("instruction %#x in a constant expression", k.op)
	}
	if c := r.byte("end of a constant expression"); r.err == nil && c != opEnd {
		r.failf("constant expression of more than one instruction")
	}
	return k
}
