package jinja

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// dumper writes JSON as json.dumps does.
type dumper struct {
	st        *state
	b         builder
	ascii     bool
	sorted    bool
	indent    string // of one level
	lines     bool   // each item stands on a line of its own
	item, key string // separators
}

func filterToJSON(st *state, in Value, a *args) (Value, error) {
	p, err := a.bind("tojson", "ensure_ascii", "indent", "separators", "sort_keys")
	if err != nil {
		return Value{}, err
	}
	d := dumper{st: st, b: st.builder(), ascii: p[0].truth(), sorted: p[3].truth(), item: ", ", key: ": "}
	switch ind := p[1]; ind.k {
	case kMissing, kNone:
	case kStr:
		d.lines, d.indent = true, ind.str()
	case kInt, kBool:
		n := max(0, ind.int())
		if n > 1000 {
			return Value{}, tooMuch("indent", 1000)
		}
		d.lines, d.indent = true, strings.Repeat(" ", int(n))
	default:
		return Value{}, fail(TypeError, "can't multiply sequence by non-int of type '%s'", ind.typeName())
	}
	if d.lines {
		d.item = ","
	}
	if sep := p[2]; sep.k != kMissing && sep.k != kNone {
		two, err := st.slice(sep)
		if err != nil {
			return Value{}, err
		}
		if len(two) != 2 || two[0].k != kStr || two[1].k != kStr {
			return Value{}, fail(TypeError, "separators must be two strings")
		}
		d.item, d.key = two[0].str(), two[1].str()
	}
	if err := d.value(in, 0); err != nil {
		return Value{}, err
	}
	return st.built(&d.b)
}

func (d *dumper) value(v Value, depth int) error {
	if err := d.st.tick(1); err != nil {
		return err
	}
	switch {
	case depth > maxNesting:
		return tooNested()
	case d.b.over:
		return tooMuch("string", d.st.limits.String)
	}
	switch v.k {
	case kStr:
		d.string(v.flat())
	case kList, kTuple:
		return d.array(v.items(), depth)
	case kDict:
		return d.object(v.dict(), depth)
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
	v.origins(func(s string, org uint64) {
		from := 0
		for i := 0; i < len(s); {
			c := s[i]
			if c >= ' ' && c != '"' && c != '\\' && (!d.ascii || c < 0x7f) {
				i++
				continue
			}
			r, n := rune(c), 1
			if c >= utf8.RuneSelf {
				r, n = utf8.DecodeRuneInString(s[i:])
			}
			d.b.add(s[from:i], org)
			d.b.add(jsonEscape(r), org)
			i += n
			from = i
		}
		d.b.add(s[from:], org)
	})
	d.b.lit(`"`)
}

func jsonEscape(r rune) string {
	switch r {
	case '"', '\\':
		return `\` + string(r)
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
