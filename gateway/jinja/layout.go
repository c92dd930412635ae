package jinja

import (
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// spec is how a value is laid out by the % operator and by str.format.
type spec struct {
	fill      rune
	align     byte // < > = ^, 0 by the type
	sign      byte // + - or space, 0 as -
	alt       bool
	group     byte // , or _, 0 for none
	width     int
	prec      int // -1 where not given
	verb      byte
	truncates bool // an integer verb takes floats
}

// truncate is int(f).
func truncate(f float64) (Value, error) {
	switch {
	case math.IsNaN(f):
		return Value{}, fail(ValueError, "cannot convert float NaN to integer")
	case math.IsInf(f, 0):
		return Value{}, fail(OverflowError, "cannot convert float infinity to integer")
	}
	i, _ := intOf(math.Trunc(f))
	return bigInt(i), nil
}

// layText writes a string in its width.
func (st *state) layText(b *builder, v Value, sp spec) error {
	v = v.flat()
	if sp.prec >= 0 {
		v = v.sub(0, offset(v.s, int64(sp.prec)))
	}
	pad := 0
	if sp.width > 0 {
		pad = max(0, sp.width-utf8.RuneCountInString(v.s))
	}
	left := 0
	switch sp.align {
	case '>', '=':
		left = pad
	case '^':
		left = pad / 2
	}
	if err := st.pad(b, sp.fill, left); err != nil {
		return err
	}
	b.text(v)
	return st.pad(b, sp.fill, pad-left)
}

func (st *state) pad(b *builder, fill rune, n int) error {
	if n > st.limits.String {
		return tooMuch("string", st.limits.String)
	}
	if n > 0 {
		b.lit(strings.Repeat(string(fill), n))
	}
	return nil
}

// layNumber writes a number by its verb and width.
func (st *state) layNumber(b *builder, v Value, sp spec) error {
	if sp.prec > maxDigits {
		return fail(ValueError, "precision too big")
	}
	digits, prefix := "", ""
	negative := false
	if strings.IndexByte("eEfFgG%", sp.verb) >= 0 || v.k == kFloat {
		f, err := v.real()
		if err != nil {
			return err
		}
		negative = math.Signbit(f) && !math.IsNaN(f)
		digits = floatDigits(math.Abs(f), sp)
	} else {
		i := v.big()
		negative = i.Sign() < 0
		if i.BitLen() > maxDigits*10/3 {
			return fail(ValueError, "Exceeds the limit (%d digits) for integer string conversion", maxDigits)
		}
		digits, prefix = intDigits(new(big.Int).Abs(i), sp)
	}
	if sp.group != 0 {
		digits = grouped(digits, sp)
	}
	sign := ""
	switch {
	case negative:
		sign = "-"
	case sp.sign == '+' || sp.sign == ' ':
		sign = string(sp.sign)
	}
	sign += prefix
	if sp.align == 0 {
		sp.align = '>'
	}
	if sp.align == '=' {
		b.lit(sign)
		if err := st.pad(b, sp.fill, sp.width-len(sign)-utf8.RuneCountInString(digits)); err != nil {
			return err
		}
		b.lit(digits)
		return nil
	}
	sp.prec = -1
	return st.layText(b, text(sign+digits), sp)
}

func intDigits(i *big.Int, sp spec) (digits, prefix string) {
	switch sp.verb {
	case 'b':
		digits, prefix = i.Text(2), "0b"
	case 'o':
		digits, prefix = i.Text(8), "0o"
	case 'x':
		digits, prefix = i.Text(16), "0x"
	case 'X':
		digits, prefix = strings.ToUpper(i.Text(16)), "0X"
	case 'c':
		return string(rune(min(i.Int64(), utf8.MaxRune))), ""
	default:
		digits = i.Text(10)
	}
	if !sp.alt {
		prefix = ""
	}
	if sp.truncates && sp.prec > len(digits) {
		digits = strings.Repeat("0", sp.prec-len(digits)) + digits
	}
	return digits, prefix
}

// floatDigits is a float that is not negative, by its verb.
func floatDigits(f float64, sp spec) string {
	prec := sp.prec
	if prec < 0 {
		prec = 6
	}
	switch {
	case math.IsInf(f, 0):
		return cased("inf", sp.verb)
	case math.IsNaN(f):
		return cased("nan", sp.verb)
	}
	switch sp.verb {
	case 'e', 'E':
		return cased(strconv.FormatFloat(f, 'e', prec, 64), sp.verb)
	case 'f', 'F':
		return strconv.FormatFloat(f, 'f', prec, 64)
	case '%':
		return strconv.FormatFloat(f*100, 'f', prec, 64) + "%"
	case 'g', 'G', 'n':
		return cased(general(f, max(prec, 1), sp.alt), sp.verb)
	}
	if sp.prec < 0 { // no verb: as repr
		return floatRepr(f)
	}
	s := general(f, max(prec, 1), false)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}

func cased(s string, verb byte) string {
	if verb >= 'A' && verb <= 'Z' {
		return strings.ToUpper(s)
	}
	return s
}

// general is the g conversion.
func general(f float64, prec int, keep bool) string {
	e := strconv.FormatFloat(f, 'e', prec-1, 64)
	at := strings.IndexByte(e, 'e')
	exp, err := strconv.Atoi(e[at+1:])
	if err == nil && exp >= -4 && exp < prec {
		s := strconv.FormatFloat(f, 'f', prec-1-exp, 64)
		if !keep && strings.Contains(s, ".") {
			s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
		}
		return s
	}
	m := e[:at]
	if !keep && strings.Contains(m, ".") {
		m = strings.TrimRight(strings.TrimRight(m, "0"), ".")
	}
	return m + e[at:]
}

// grouped puts separators between the thousands.
func grouped(s string, sp spec) string {
	size := 3
	if strings.IndexByte("boxX", sp.verb) >= 0 {
		size = 4
	}
	n := 0
	for n < len(s) && (s[n] >= '0' && s[n] <= '9' || size == 4 && s[n] != '.') {
		n++
	}
	var parts []string
	for end := n; end > 0; end -= size {
		parts = append(parts, s[max(0, end-size):end])
	}
	slices.Reverse(parts)
	return strings.Join(parts, string(sp.group)) + s[n:]
}
