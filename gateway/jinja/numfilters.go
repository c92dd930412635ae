package jinja

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// toInt is int(v); the second result is whether that raises what the int filter catches.
func toInt(v Value, base int) (Value, bool, error) {
	switch v.k {
	case kInt, kBig:
		return v, true, nil
	case kBool:
		return Int(v.int()), true, nil
	case kFloat:
		i, err := truncate(v.float())
		return i, err == nil, nil
	case kMissing, kUndef:
		return v, false, v.undefErr()
	case kStr:
		i, ok := intOfString(v.str(), base)
		return i, ok, nil
	}
	return v, false, nil
}

// intOfString is int(s, base).
func intOfString(s string, base int) (Value, bool) {
	if base != 0 && (base < 2 || base > 36) {
		return Value{}, false
	}
	i, j := trimmed(s, true, true)
	s = s[i:j]
	neg := strings.HasPrefix(s, "-")
	if neg || strings.HasPrefix(s, "+") {
		s = s[1:]
	}
	if len(s) > 2 && s[0] == '0' {
		b := map[byte]int{'x': 16, 'o': 8, 'b': 2}[s[1]|0x20]
		if b != 0 && (base == b || base == 0) {
			s, base = strings.TrimPrefix(s[2:], "_"), b
		}
	}
	if base == 0 {
		base = 10
	}
	if s == "" || s[0] == '_' || s[len(s)-1] == '_' || strings.Contains(s, "__") || strings.ContainsAny(s, "+-") {
		return Value{}, false
	}
	v, err := parseInt(strings.ReplaceAll(s, "_", ""), base)
	if err != nil {
		return Value{}, false
	}
	if neg {
		v, err = negate(v)
	}
	return v, err == nil
}

// floatOfString is float(s).
func floatOfString(s string) (float64, bool) {
	i, j := trimmed(s, true, true)
	s = s[i:j]
	if strings.HasPrefix(s, "_") || strings.HasSuffix(s, "_") || strings.Contains(s, "__") || strings.ContainsAny(s, "xXpP") {
		return 0, false
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64)
	return f, err == nil || math.IsInf(f, 0)
}

func filterInt(st *state, v Value, a *args) (Value, error) {
	p, err := a.bind("int", "default", "base")
	if err != nil {
		return v, err
	}
	base, err := intArg(p[1], "int", 10)
	if err != nil {
		return v, err
	}
	if v.k == kStr {
		if err := st.tick(v.len() / scanBytes); err != nil {
			return v, err
		}
	}
	i, ok, err := toInt(v, int(base))
	if ok || err != nil {
		return i, err
	}
	if f, ok := toFloat(v); ok {
		if i, err := truncate(f); err == nil {
			return i, nil
		}
	}
	if p[0].k == kMissing {
		return Int(0), nil
	}
	return p[0], nil
}

// toFloat is float(v), where that raises nothing.
func toFloat(v Value) (float64, bool) {
	switch v.k {
	case kStr:
		return floatOfString(v.str())
	case kBool, kInt, kBig, kFloat:
		f, err := v.real()
		return f, err == nil
	}
	return 0, false
}

func filterFloat(st *state, v Value, a *args) (Value, error) {
	p, err := a.bind("float", "default")
	if err == nil && v.k == kStr {
		err = st.tick(v.len() / scanBytes)
	}
	if err != nil {
		return v, err
	}
	if v.k <= kUndef {
		return v, v.undefErr()
	}
	if f, ok := toFloat(v); ok {
		return Float(f), nil
	}
	if v.k == kBig {
		return v, fail(OverflowError, "int too large to convert to float")
	}
	if p[0].k == kMissing {
		return Float(0), nil
	}
	return p[0], nil
}

func filterAbs(_ *state, v Value, _ *args) (Value, error) {
	switch v.k {
	case kFloat:
		return Float(math.Abs(v.float())), nil
	case kBool, kInt, kBig:
		if v.big().Sign() < 0 {
			return negate(v)
		}
		return bigInt(v.big()), nil
	}
	return v, fail(TypeError, "bad operand type for abs(): '%s'", v.typeName())
}

func filterRound(_ *state, v Value, a *args) (Value, error) {
	p, err := a.bind("round", "precision", "method")
	if err != nil {
		return v, err
	}
	prec, err := intArg(p[0], "round", 0)
	if err != nil {
		return v, err
	}
	method := "common"
	if p[1].k != kMissing {
		if p[1].k != kStr || p[1].str() != "common" && p[1].str() != "ceil" && p[1].str() != "floor" {
			return v, fail(FilterArgumentError, "method must be common, ceil or floor")
		}
		method = p[1].str()
	}
	switch {
	case v.k <= kUndef && method != "common":
		return v, v.undefErr()
	case !v.numeric():
		return v, fail(TypeError, "type %s doesn't define __round__ method", v.typeName())
	case prec > 400 || prec < -400:
		return v, fail(ValueError, "precision out of range")
	}
	if method == "common" {
		return roundHalfEven(v, int(prec))
	}
	f, err := v.real()
	if err != nil {
		return v, err
	}
	scale := math.Pow(10, float64(prec))
	if method == "ceil" {
		return Float(math.Ceil(f*scale) / scale), nil
	}
	return Float(math.Floor(f*scale) / scale), nil
}

// roundHalfEven is round(v, prec).
func roundHalfEven(v Value, prec int) (Value, error) {
	if v.k == kFloat {
		f := v.float()
		if math.IsInf(f, 0) || math.IsNaN(f) {
			return v, nil
		}
		if prec >= 0 {
			r, err := strconv.ParseFloat(strconv.FormatFloat(f, 'f', prec, 64), 64)
			return Float(r), err
		}
		scale := math.Pow(10, float64(-prec))
		return Float(math.RoundToEven(f/scale) * scale), nil
	}
	if prec >= 0 {
		return bigInt(v.big()), nil
	}
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(-prec)), nil)
	q, m := new(big.Int).DivMod(v.big(), unit, new(big.Int))
	if c := new(big.Int).Lsh(m, 1).Cmp(unit); c > 0 || c == 0 && q.Bit(0) == 1 {
		q.Add(q, big.NewInt(1))
	}
	return bigInt(q.Mul(q, unit)), nil
}

func filterFileSize(_ *state, v Value, a *args) (Value, error) {
	p, err := a.bind("filesizeformat", "binary")
	if err != nil {
		return v, err
	}
	f, ok := toFloat(v)
	if !ok {
		if v.k <= kUndef {
			return v, v.undefErr()
		}
		return v, fail(ValueError, "could not convert to float")
	}
	base, infix, kilo := 1000.0, "", "k"
	if p[0].truth() {
		base, infix, kilo = 1024, "i", "K"
	}
	switch {
	case f == 1:
		return text("1 Byte"), nil
	case f < base:
		return text(strconv.FormatFloat(math.Trunc(f), 'f', 0, 64) + " Bytes"), nil
	}
	unit := base
	names := []string{kilo, "M", "G", "T", "P", "E", "Z", "Y"}
	for i, n := range names {
		unit *= base
		if f < unit || i == len(names)-1 {
			return text(strconv.FormatFloat(base*f/unit, 'f', 1, 64) + " " + n + infix + "B"), nil
		}
	}
	return v, nil
}
