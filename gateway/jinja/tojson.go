package jinja

import (
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// dumper writes JSON as json.dumps does.
type dumper struct {
	st      *state
	b       *builder
	from    int // where it begins in b
	deepest int // how far containers went into each other
	keeping bool
	form
}

func filterToJSON(st *state, in Value, a *args) (Value, error) {
	b := st.builder()
	if err := st.dump(&b, in, a); err != nil {
		return Value{}, err
	}
	return b.value(), nil
}

// dump appends the JSON of a value.
func (st *state) dump(b *builder, v Value, a *args) error {
	d := dumper{st: st, b: b, from: len(b.buf)}
	d.item, d.key = ", ", ": "
	if err := d.options(a); err != nil {
		return err
	}
	b.close()
	first := len(b.runs)
	if err := d.value(v, 0); err != nil {
		return err
	}
	b.close()
	b.runs = append(b.runs[:first], whole(b.runs[first:])...)
	if err := d.over(); err != nil {
		return err
	}
	return st.grow(len(b.buf) - d.from)
}

// whole makes one run of those of a tool's definition, with what stands between its strings in JSON: that is the
// tool's as well, and a long list of tools has thousands.
func whole(runs []run) []run {
	out := runs[:0]
	for _, r := range runs {
		n := len(out)
		switch {
		case n > 0 && out[n-1].org == r.org:
			out[n-1].end = r.end
		case n > 1 && out[n-1].org == 0 && out[n-2].org == r.org && OriginKind(r.org>>56) == FromToolSchema:
			out = out[:n-1]
			out[n-2].end = r.end
		default:
			out = append(out, r)
		}
	}
	return out
}

// over is the error of a text that is too long.
func (d *dumper) over() error {
	switch {
	case len(d.b.buf)-d.from > d.st.limits.String, d.b.over && d.b != &d.st.out:
		return tooMuch("string", d.st.limits.String)
	case d.b.over:
		return d.st.full()
	}
	return nil
}

// options reads the arguments of the filter.
func (d *dumper) options(a *args) error {
	if len(a.pos)+len(a.kw) == 0 {
		return nil
	}
	p, err := a.bind("tojson", "ensure_ascii", "indent", "separators", "sort_keys")
	if err != nil {
		return err
	}
	d.ascii, d.sorted = p[0].truth(), p[3].truth()
	switch ind := p[1]; ind.k {
	case kMissing, kNone:
	case kStr:
		d.lines, d.indent = true, ind.str()
	case kInt, kBool:
		n := max(0, ind.int())
		if n > 1000 {
			return tooMuch("indent", 1000)
		}
		d.lines, d.indent = true, strings.Repeat(" ", int(n))
	default:
		return fail(TypeError, "can't multiply sequence by non-int of type '%s'", ind.typeName())
	}
	if d.lines {
		d.item = ","
	}
	if sep := p[2]; sep.k != kMissing && sep.k != kNone {
		two, err := d.st.slice(sep)
		if err != nil {
			return err
		}
		if len(two) != 2 || two[0].k != kStr || two[1].k != kStr {
			return fail(TypeError, "separators must be two strings")
		}
		d.item, d.key = two[0].str(), two[1].str()
	}
	return nil
}

func (d *dumper) value(v Value, depth int) error {
	if err := d.st.tick(1); err != nil {
		return err
	}
	if depth > maxNesting {
		return tooNested()
	}
	if err := d.over(); err != nil {
		return err
	}
	d.deepest = max(d.deepest, depth)
	switch v.k {
	case kStr:
		d.string(v.flat())
	case kList, kTuple:
		l := v.p.(*list)
		return d.container(l.lent.memory(l.kept), l.lent.org, v, depth)
	case kDict:
		c := v.p.(*dict)
		return d.container(c.lent.memory(c.kept), c.lent.org, v, depth)
	case kNone, kBool, kInt, kBig, kFloat:
		s, err := d.scalar(v)
		if err != nil {
			return err
		}
		d.b.lit(s)
	default:
		return fail(TypeError, "Object of type %s is not JSON serializable", v.typeName())
	}
	return nil
}

// walk writes a list or a dict.
func (d *dumper) walk(v Value, depth int) error {
	if v.k == kDict {
		return d.object(v.dict(), depth)
	}
	return d.array(v.items(), depth)
}

// scalar is a number, boolean or null as JSON.
func (d *dumper) scalar(v Value) (string, error) {
	switch v.k {
	case kNone:
		return "null", nil
	case kBool:
		return strconv.FormatBool(v.n != 0), nil
	case kInt:
		return strconv.FormatInt(v.int(), 10), nil
	case kFloat:
		switch s := floatRepr(v.float()); s {
		case "inf":
			return "Infinity", nil
		case "-inf":
			return "-Infinity", nil
		case "nan":
			return "NaN", nil
		default:
			return s, nil
		}
	}
	s, err := d.st.toStr(v)
	return s.s, err
}

func (d *dumper) newline(depth int) {
	if !d.lines {
		return
	}
	d.b.lit("\n")
	for range depth {
		d.b.lit(d.indent)
	}
}

func (d *dumper) array(items []Value, depth int) error {
	if len(items) == 0 {
		d.b.lit("[]")
		return nil
	}
	d.b.lit("[")
	for i, e := range items {
		if i > 0 {
			d.b.lit(d.item)
		}
		d.newline(depth + 1)
		if err := d.value(e, depth+1); err != nil {
			return err
		}
	}
	d.newline(depth)
	d.b.lit("]")
	return nil
}

func (d *dumper) object(o *dict, depth int) error {
	if o.len() == 0 {
		d.b.lit("{}")
		return nil
	}
	order, err := d.order(o)
	if err != nil {
		return err
	}
	d.b.lit("{")
	for i := range o.keys {
		k := i
		if order != nil {
			k = order[i]
		}
		if i > 0 {
			d.b.lit(d.item)
		}
		d.newline(depth + 1)
		if err := d.name(o.keys[k]); err != nil {
			return err
		}
		d.b.lit(d.key)
		if err := d.value(o.vals[k], depth+1); err != nil {
			return err
		}
	}
	d.newline(depth)
	d.b.lit("}")
	return nil
}

// order is the order of the members when they are sorted, else nil.
func (d *dumper) order(o *dict) ([]int, error) {
	if !d.sorted {
		return nil, nil
	}
	order := make([]int, o.len())
	for i := range order {
		order[i] = i
	}
	err := sortBy(order, func(i, j int) (bool, error) { return d.st.less(o.keys[i], o.keys[j]) })
	return order, err
}

func (d *dumper) name(k Value) error {
	switch k.k {
	case kStr:
		d.string(k.flat())
		return nil
	case kNone, kBool, kInt, kBig, kFloat:
		s, err := d.scalar(k)
		d.b.lit(`"` + s + `"`)
		return err
	}
	return fail(TypeError, "keys must be str, int, float, bool or None, not %s", k.typeName())
}

// string writes a flat string. Escapes are of the origin of what they stand for.
func (d *dumper) string(v Value) {
	d.b.lit(`"`)
	if v.p == nil {
		d.escaped(v.s, v.n)
	} else {
		v.origins(d.escaped)
	}
	d.b.lit(`"`)
}

// escaped writes what is between quotes.
func (d *dumper) escaped(s string, org uint64) {
	b := d.b
	if s != "" {
		b.open(org)
	}
	for s != "" {
		i := plainLen(s, d.ascii)
		esc, n := "", 0
		if i < len(s) {
			r := rune(s[i])
			if n = 1; r >= utf8.RuneSelf {
				r, n = utf8.DecodeRuneInString(s[i:])
			}
			esc = jsonEscape(r)
		}
		if !b.room(i + len(esc)) {
			return
		}
		b.buf = append(append(b.buf, s[:i]...), esc...)
		s = s[i+n:]
	}
}

// plainLen is how many bytes of s stand in a JSON string as they are.
func plainLen(s string, ascii bool) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; len(s)-i >= 8; i += 8 {
		// Of a byte that is looked for the top bit is set; behind the first one others may be set, too.
		w := uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 | uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
		quote, slash := w^(ones*'"'), w^(ones*'\\')
		odd := (w-ones*' ')&^w | (quote-ones)&^quote | (slash-ones)&^slash
		if ascii {
			odd |= w | (w + ones)
		}
		if odd &= tops; odd != 0 {
			return i + bits.TrailingZeros64(odd)/8
		}
	}
	for ; i < len(s); i++ {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || ascii && c >= 0x7f {
			break
		}
	}
	return i
}

func jsonEscape(r rune) string {
	switch r {
	case '"':
		return `\"`
	case '\\':
		return `\\`
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	case '\b':
		return `\b`
	case '\f':
		return `\f`
	}
	if r >= 0x10000 {
		hi, lo := utf16.EncodeRune(r)
		return `\u` + hex(hi, 4) + `\u` + hex(lo, 4)
	}
	return `\u` + hex(r, 4)
}
