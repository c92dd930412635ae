package jinja

import (
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// quote is repr of a string, for messages.
func quote(s string) string {
	var b builder
	reprString(&b, text(s))
	return string(b.buf)
}

// toStr is str(v), as output prints it.
func (st *state) toStr(v Value) (Value, error) {
	if v.k == kStr {
		v.f = 0
		return v, nil
	}
	b := st.builder()
	if err := st.write(&b, v); err != nil {
		return Value{}, err
	}
	return st.built(&b)
}

// write appends str(v).
func (st *state) write(b *builder, v Value) error {
	switch v.k {
	case kStr:
		b.text(v)
		return nil
	case kMissing, kUndef:
		return nil
	}
	return st.repr(b, v, 0)
}

// repr appends repr(v).
func (st *state) repr(b *builder, v Value, depth int) error {
	if err := st.tick(1); err != nil {
		return err
	}
	switch {
	case depth > maxNesting:
		return tooNested()
	case b.over:
		return tooMuch("string", st.limits.String)
	}
	switch v.k {
	case kMissing, kUndef:
		b.lit("Undefined")
	case kNone:
		b.lit("None")
	case kBool:
		if v.n != 0 {
			b.lit("True")
		} else {
			b.lit("False")
		}
	case kInt:
		b.open(0)
		b.buf = strconv.AppendInt(b.buf, v.int(), 10)
	case kBig:
		i := v.p.(*big.Int)
		if i.BitLen() > maxDigits*10/3 {
			return fail(ValueError, "Exceeds the limit (%d digits) for integer string conversion", maxDigits)
		}
		b.lit(i.String())
	case kFloat:
		b.lit(floatRepr(v.float()))
	case kStr:
		if v.f&markup != 0 {
			b.lit("Markup(")
			reprString(b, v.flat())
			b.lit(")")
			return nil
		}
		reprString(b, v.flat())
	case kList:
		return st.reprItems(b, v.items(), "[", "]", depth)
	case kTuple:
		closer := ")"
		if len(v.items()) == 1 {
			closer = ",)"
		}
		return st.reprItems(b, v.items(), "(", closer, depth)
	case kDict:
		return st.reprDict(b, v.dict(), depth)
	default:
		return st.reprOther(b, v, depth)
	}
	return nil
}

func (st *state) reprOther(b *builder, v Value, depth int) error {
	switch v.k {
	case kRange:
		r := v.p.(*span)
		b.lit("range(" + strconv.FormatInt(r.start, 10) + ", " + strconv.FormatInt(r.stop, 10))
		if r.step != 1 {
			b.lit(", " + strconv.FormatInt(r.step, 10))
		}
		b.lit(")")
	case kView:
		w := v.p.(*view)
		b.lit(w.name())
		items := make([]Value, w.d.len())
		for i := range items {
			items[i] = w.item(i)
		}
		return st.reprItems(b, items, "([", "])", depth)
	case kNamespace:
		b.lit("<Namespace ")
		if err := st.reprDict(b, v.p.(*namespace).d, depth); err != nil {
			return err
		}
		b.lit(">")
	case kMacro:
		name := v.p.(*macro).def.name
		if name == "" {
			b.lit("<Macro anonymous>")
			return nil
		}
		b.lit("<Macro " + quote(name) + ">")
	case kLoop:
		n, err := v.p.(*loop).length(st)
		if err != nil {
			return err
		}
		b.lit("<LoopContext " + strconv.Itoa(v.p.(*loop).index+1) + "/" + strconv.Itoa(n) + ">")
	default:
		b.lit("<" + v.typeName() + " object>")
	}
	return nil
}

func (st *state) reprItems(b *builder, items []Value, opener, closer string, depth int) error {
	b.lit(opener)
	for i, e := range items {
		if i > 0 {
			b.lit(", ")
		}
		if err := st.repr(b, e, depth+1); err != nil {
			return err
		}
	}
	b.lit(closer)
	return nil
}

func (st *state) reprDict(b *builder, d *dict, depth int) error {
	b.lit("{")
	for i, k := range d.keys {
		if i > 0 {
			b.lit(", ")
		}
		if err := st.repr(b, k, depth+1); err != nil {
			return err
		}
		b.lit(": ")
		if err := st.repr(b, d.vals[i], depth+1); err != nil {
			return err
		}
	}
	b.lit("}")
	return nil
}

// reprString appends repr of a flat string.
func reprString(b *builder, v Value) {
	q := "'"
	if strings.Contains(v.s, "'") && !strings.Contains(v.s, `"`) {
		q = `"`
	}
	b.lit(q)
	v.origins(func(s string, org uint64) {
		from := 0
		for i, r := range s {
			esc := reprRune(r, q[0])
			if esc == "" {
				continue
			}
			b.add(s[from:i], org)
			b.add(esc, org)
			from = i + utf8.RuneLen(r)
		}
		b.add(s[from:], org)
	})
	b.lit(q)
}

// reprRune is how repr writes a character, empty when as it is.
func reprRune(r rune, q byte) string {
	switch {
	case r == rune(q) || r == '\\':
		return `\` + string(r)
	case r >= ' ' && r < 0x7f:
		return ""
	case r == '\n':
		return `\n`
	case r == '\r':
		return `\r`
	case r == '\t':
		return `\t`
	case r < 0x100 && !unicode.IsPrint(r):
		return `\x` + hex(r, 2)
	case unicode.IsPrint(r):
		return ""
	case r < 0x10000:
		return `\u` + hex(r, 4)
	}
	return `\U` + hex(r, 8)
}

func hex(r rune, width int) string {
	s := strconv.FormatInt(int64(r), 16)
	return strings.Repeat("0", width-len(s)) + s
}
