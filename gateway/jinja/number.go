package jinja

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// maxBits is the size of an integer that arithmetic may make; maxDigits the longest literal that is read.
const (
	maxBits   = 1 << 16
	maxDigits = 4300
)

// numeric reports whether v takes part in arithmetic.
func (v Value) numeric() bool { return v.k >= kBool && v.k <= kFloat }

// big is the value of an integer.
func (v Value) big() *big.Int {
	if b, ok := v.p.(*big.Int); ok {
		return b
	}
	return big.NewInt(v.int())
}

// real is float(v) of a number.
func (v Value) real() (float64, error) {
	switch v.k {
	case kFloat:
		return v.float(), nil
	case kBig:
		f, _ := new(big.Float).SetInt(v.big()).Float64()
		if math.IsInf(f, 0) {
			return 0, fail(OverflowError, "int too large to convert to float")
		}
		return f, nil
	}
	return float64(v.int()), nil
}

// floatRepr is repr(f).
func floatRepr(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case math.IsNaN(f):
		return "nan"
	}
	s := strconv.FormatFloat(f, 'e', -1, 64)
	exp, err := strconv.Atoi(s[strings.IndexByte(s, 'e')+1:])
	if err == nil && exp >= -4 && exp < 16 {
		if s = strconv.FormatFloat(f, 'f', -1, 64); !strings.Contains(s, ".") {
			s += ".0"
		}
	}
	return s
}

// parseInt is int(s) of digits without sign, white space or underscores.
func parseInt(s string, base int) (Value, error) {
	if i, err := strconv.ParseInt(s, base, 64); err == nil {
		return Int(i), nil
	}
	if len(s) > maxDigits {
		return Value{}, fail(ValueError, "an integer of more than %d digits", maxDigits)
	}
	b, ok := new(big.Int).SetString(s, base)
	if !ok {
		return Value{}, fail(ValueError, "invalid literal for int() with base %d: %s", base, quote(s))
	}
	return bigInt(b), nil
}

// op is a binary arithmetic operator.
type op uint8

const (
	opAdd op = iota
	opSub
	opMul
	opDiv
	opFloorDiv
	opMod
	opPow
)

var opNames = [...]string{"+", "-", "*", "/", "//", "%", "** or pow()"}

func badOperands(o op, a, b Value) error {
	return fail(TypeError, "unsupported operand type(s) for %s: '%s' and '%s'", opNames[o], a.typeName(), b.typeName())
}

// arith is a <o> b as Python has it.
func (st *state) arith(o op, a, b Value) (Value, error) {
	if a.k == kInt && b.k == kInt {
		if v, ok, err := smallArith(o, a.int(), b.int()); ok || err != nil {
			return v, err
		}
	}
	switch {
	case o == opMod && a.k == kStr:
		return st.percent(a, b)
	case a.k <= kUndef:
		return Value{}, a.undefErr()
	case b.k <= kUndef:
		return Value{}, b.undefErr()
	case a.numeric() && b.numeric():
		if a.k == kBig || b.k == kBig || o == opPow {
			if err := st.tick((a.big().BitLen() + b.big().BitLen()) / 8); err != nil {
				return Value{}, err
			}
		}
		v, err := numArith(o, a, b)
		if v.k == kBig && err == nil {
			err = st.grow(v.big().BitLen() / 8)
		}
		return v, err
	case o == opAdd:
		return st.add(a, b)
	case o == opMul:
		return st.repeat(a, b)
	}
	return Value{}, badOperands(o, a, b)
}

// smallArith is arith where operands and result fit 64 bits.
func smallArith(o op, a, b int64) (Value, bool, error) {
	switch o {
	case opAdd:
		c := a + b
		return Int(c), (c > a) == (b > 0), nil
	case opSub:
		c := a - b
		return Int(c), (c < a) == (b > 0), nil
	case opMul:
		if a == 0 || b == 0 {
			return Int(0), true, nil
		}
		c := a * b
		return Int(c), c/b == a && (a != -1 || b != math.MinInt64) && (b != -1 || a != math.MinInt64), nil
	case opFloorDiv, opMod:
		if b == 0 {
			return Value{}, false, fail(ZeroDivisionError, "integer division or modulo by zero")
		}
		if b == -1 {
			return Value{}, false, nil
		}
		q, r := a/b, a%b
		if r != 0 && (r < 0) != (b < 0) {
			q, r = q-1, r+b
		}
		if o == opMod {
			return Int(r), true, nil
		}
		return Int(q), true, nil
	}
	return Value{}, false, nil
}

func numArith(o op, a, b Value) (Value, error) {
	if a.k == kFloat || b.k == kFloat || o == opDiv {
		return floatArith(o, a, b)
	}
	x, y, z := a.big(), b.big(), new(big.Int)
	switch o {
	case opAdd:
		z.Add(x, y)
	case opSub:
		z.Sub(x, y)
	case opMul:
		if x.BitLen()+y.BitLen() > maxBits {
			return Value{}, tooMuch("bits of an integer", maxBits)
		}
		z.Mul(x, y)
	case opPow:
		return intPow(x, y)
	default:
		if y.Sign() == 0 {
			return Value{}, fail(ZeroDivisionError, "integer division or modulo by zero")
		}
		m := new(big.Int)
		z.DivMod(x, y, m) // Euclidean: the remainder is not negative
		if y.Sign() < 0 && m.Sign() != 0 {
			z.Sub(z, big.NewInt(1))
			m.Add(m, y)
		}
		if o == opMod {
			z = m
		}
	}
	if z.BitLen() > maxBits {
		return Value{}, tooMuch("bits of an integer", maxBits)
	}
	return bigInt(z), nil
}

func intPow(x, y *big.Int) (Value, error) {
	if y.Sign() < 0 {
		if x.Sign() == 0 {
			return Value{}, fail(ZeroDivisionError, "0.0 cannot be raised to a negative power")
		}
		a, err := bigInt(x).real()
		if err != nil {
			return Value{}, err
		}
		b, err := bigInt(y).real()
		if err != nil {
			return Value{}, err
		}
		return Float(math.Pow(a, b)), nil
	}
	if x.BitLen() > 1 && (!y.IsInt64() || y.Int64() > maxBits || int64(x.BitLen()-1)*y.Int64() > maxBits) {
		return Value{}, tooMuch("bits of an integer", maxBits)
	}
	if x.BitLen() <= 1 { // 0, 1 and -1
		if y.Sign() == 0 || x.Sign() < 0 && y.Bit(0) == 0 {
			return Int(1), nil
		}
		return bigInt(x), nil
	}
	return bigInt(new(big.Int).Exp(x, y, nil)), nil
}

func floatArith(o op, a, b Value) (Value, error) {
	x, err := a.real()
	if err != nil {
		return Value{}, err
	}
	y, err := b.real()
	if err != nil {
		return Value{}, err
	}
	switch o {
	case opAdd:
		return Float(x + y), nil
	case opSub:
		return Float(x - y), nil
	case opMul:
		return Float(x * y), nil
	case opDiv:
		if y == 0 {
			return Value{}, fail(ZeroDivisionError, "division by zero")
		}
		return Float(x / y), nil
	case opPow:
		switch {
		case x == 0 && y < 0:
			return Value{}, fail(ZeroDivisionError, "0.0 cannot be raised to a negative power")
		case x < 0 && y != math.Trunc(y) && !math.IsInf(y, 0):
			return Value{}, fail(TypeError, "a complex number is no value here")
		}
		z := math.Pow(x, y)
		if math.IsInf(z, 0) && !math.IsInf(x, 0) && !math.IsInf(y, 0) {
			return Value{}, fail(OverflowError, "(34, 'Numerical result out of range')")
		}
		return Float(z), nil
	}
	if y == 0 {
		return Value{}, fail(ZeroDivisionError, "float floor division or modulo by zero")
	}
	m := math.Mod(x, y)
	q := (x - m) / y
	if m != 0 && (m < 0) != (y < 0) {
		m += y
		q--
	}
	if o == opMod {
		if m == 0 {
			m = math.Copysign(0, y)
		}
		return Float(m), nil
	}
	f := math.Floor(q)
	if q-f > 0.5 {
		f++
	}
	return Float(f), nil
}

// add is a + b of what is not two numbers.
func (st *state) add(a, b Value) (Value, error) {
	switch {
	case a.k == kStr && b.k == kStr:
		if a.f&markup == 0 && b.f&markup == 0 {
			pair := [2]Value{a, b}
			return st.concat(pair[:])
		}
		return st.addMarkup(a, b)
	case (a.k == kList || a.k == kTuple) && a.k == b.k:
		x, y := a.items(), b.items()
		if err := st.growItems(len(x) + len(y)); err != nil {
			return Value{}, err
		}
		out := make([]Value, 0, len(x)+len(y))
		return Value{k: a.k, p: &list{v: append(append(out, x...), y...)}}, nil
	case a.k == kStr:
		return Value{}, fail(TypeError, "can only concatenate str (not \"%s\") to str", b.typeName())
	case a.k == kList || a.k == kTuple:
		return Value{}, fail(TypeError, "can only concatenate %s (not \"%s\") to %s", a.typeName(), b.typeName(), a.typeName())
	}
	return Value{}, badOperands(opAdd, a, b)
}

func (st *state) addMarkup(a, b Value) (Value, error) {
	var err error
	if a.f&markup == 0 {
		a, err = st.escape(a)
	} else if b.f&markup == 0 {
		b, err = st.escape(b)
	}
	if err != nil {
		return Value{}, err
	}
	pair := [2]Value{a, b}
	v, err := st.concat(pair[:])
	v.f |= markup
	return v, err
}

// repeat is a * b where one of them is a sequence.
func (st *state) repeat(a, b Value) (Value, error) {
	sequence := func(v Value) bool { return v.k == kStr || v.k == kList || v.k == kTuple }
	if !sequence(a) {
		a, b = b, a
	}
	switch {
	case !sequence(a):
		return Value{}, badOperands(opMul, b, a)
	case b.k == kBig:
		return Value{}, fail(OverflowError, "cannot fit 'int' into an index-sized integer")
	case b.k != kInt && b.k != kBool:
		return Value{}, fail(TypeError, "can't multiply sequence by non-int of type '%s'", b.typeName())
	}
	n := max(0, b.int())
	if a.k == kStr {
		if l := int64(a.len()); l > 0 && n > int64(st.limits.String)/l {
			return Value{}, tooMuch("string", st.limits.String)
		}
		out := st.builder()
		for range n {
			if a.len() == 0 {
				break
			}
			out.text(a)
		}
		v, err := st.built(&out)
		v.f = a.f
		return v, err
	}
	x := a.items()
	if len(x) == 0 {
		n = 0
	} else if n > int64(st.limits.Memory/len(x)) {
		return Value{}, tooMuch("memory", st.limits.Memory)
	}
	if err := st.growItems(len(x) * int(n)); err != nil {
		return Value{}, err
	}
	out := make([]Value, 0, len(x)*int(n))
	for range n {
		out = append(out, x...)
	}
	return Value{k: a.k, p: &list{v: out}}, nil
}

// negate is -v.
func negate(v Value) (Value, error) {
	switch v.k {
	case kInt, kBool:
		if v.int() != math.MinInt64 {
			return Int(-v.int()), nil
		}
		return bigInt(new(big.Int).Neg(v.big())), nil
	case kBig:
		return bigInt(new(big.Int).Neg(v.big())), nil
	case kFloat:
		return Float(-v.float()), nil
	case kMissing, kUndef:
		return Value{}, v.undefErr()
	}
	return Value{}, fail(TypeError, "bad operand type for unary -: '%s'", v.typeName())
}
