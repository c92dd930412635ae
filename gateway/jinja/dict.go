package jinja

import (
	"fmt"
	"math"
	"math/big"
	"strings"
)

// smallDict is up to how many members a dict is searched without an index.
const smallDict = 12

// dict is an ordered dict. It does not change once others can see it, except in a namespace.
type dict struct {
	keys, vals []Value
	strs       map[string]int32  // places of string keys, when there are many members
	rest       map[dictKey]int32 // places of other keys
	kept       *kept
	lent       lent[dict]
}

// dictKey is a hashable value that is no string; equal ones are the same key, as 1, 1.0 and True are.
type dictKey struct {
	k kind
	n uint64
	s string
	p any // what has an identity of its own
}

func newDict(n int) *dict {
	if n <= 0 {
		return &dict{}
	}
	both := make([]Value, 2*n)
	return &dict{keys: both[:0:n], vals: both[n:n]}
}

func (d *dict) value() Value { return Value{k: kDict, p: d} }
func (d *dict) len() int     { return len(d.keys) }

// get finds a string key.
func (d *dict) get(name string) (Value, bool) {
	if v := d.find(name); v != nil {
		return *v, true
	}
	return Value{}, false
}

// find is where the value of a string key is, nil where there is none.
func (d *dict) find(name string) *Value {
	if i := d.place(name); i >= 0 {
		return &d.vals[i]
	}
	return nil
}

// place is the index of a string key, -1 where there is none.
func (d *dict) place(name string) int {
	if d.strs != nil {
		if i, ok := d.strs[name]; ok {
			return int(i)
		}
		return -1
	}
	for i := range d.keys {
		if k := &d.keys[i]; k.k == kStr && k.s == name {
			return i
		}
	}
	return -1
}

// lookup finds any key; the error is that it cannot be a key.
func (d *dict) lookup(st *state, key Value) (Value, bool, error) {
	if key.k == kStr {
		v, ok := d.get(key.str())
		return v, ok, st.tick(key.len() / scanBytes)
	}
	h, err := hash(st, key, 0)
	if err != nil {
		return Value{}, false, err
	}
	if i, ok := d.rest[h]; ok {
		return d.vals[i], true, nil
	}
	return Value{}, false, nil
}

// set sets a string key.
func (d *dict) set(key, v Value) {
	key = key.flat()
	if i := d.place(key.s); i >= 0 {
		d.vals[i] = v
		return
	}
	d.keys, d.vals = append(d.keys, key), append(d.vals, v)
	switch n := len(d.keys); {
	case d.strs != nil:
		d.strs[key.s] = int32(n - 1)
	case n > smallDict:
		d.strs = make(map[string]int32, 2*n)
		for i, k := range d.keys {
			if k.k == kStr {
				d.strs[k.s] = int32(i)
			}
		}
	}
}

// put sets any key.
func (d *dict) put(st *state, key, v Value) error {
	if key.k == kStr {
		d.set(key, v)
		return nil
	}
	h, err := hash(st, key, 0)
	if err != nil {
		return err
	}
	if i, ok := d.rest[h]; ok {
		d.vals[i] = v
		return nil
	}
	if d.rest == nil {
		d.rest = map[dictKey]int32{}
	}
	d.rest[h] = int32(len(d.keys))
	d.keys, d.vals = append(d.keys, key), append(d.vals, v)
	return nil
}

// hash is the form of v as a key.
func hash(st *state, v Value, depth int) (dictKey, error) {
	if err := st.tick(1); err != nil {
		return dictKey{}, err
	}
	switch v.k {
	case kStr:
		return dictKey{k: kStr, s: v.str()}, nil
	case kBool:
		return dictKey{k: kInt, n: v.n}, nil
	case kFloat:
		f := v.float()
		if i, ok := intOf(f); ok {
			return hash(st, bigInt(i), depth)
		}
		return dictKey{k: kFloat, n: v.n}, nil
	case kBig:
		return dictKey{k: kBig, s: v.p.(*big.Int).Text(16)}, nil
	case kList, kDict, kView:
		return dictKey{}, fail(TypeError, "unhashable type: '%s'", v.typeName())
	case kTuple:
		if depth > maxNesting {
			return dictKey{}, tooNested()
		}
		var b strings.Builder
		for _, e := range v.items() {
			h, err := hash(st, e, depth+1)
			if err != nil {
				return dictKey{}, err
			}
			if err := st.grow(len(h.s) + 16); err != nil {
				return dictKey{}, err
			}
			b.Write([]byte{byte(h.k)})
			for i := range 8 {
				b.WriteByte(byte(h.n >> (8 * i)))
			}
			for i := range 4 {
				b.WriteByte(byte(len(h.s) >> (8 * i)))
			}
			b.WriteString(h.s)
		}
		return dictKey{k: kTuple, s: b.String()}, nil
	case kMissing, kUndef:
		return dictKey{k: kUndef}, nil
	case kRange:
		r := v.p.(*span)
		return dictKey{k: v.k, n: uint64(r.start), s: fmt.Sprint(r.len(), r.step)}, nil
	}
	return dictKey{k: v.k, n: v.n, p: v.p}, nil
}

// intOf is the integer that f is, if it is one.
func intOf(f float64) (*big.Int, bool) {
	if math.IsInf(f, 0) || f != math.Trunc(f) {
		return nil, false
	}
	i, _ := big.NewFloat(f).Int(nil)
	return i, true
}

// view is what items, keys and values of a dict return.
type view struct {
	d    *dict
	what byte // 'i', 'k' or 'v'
}

func (w *view) name() string {
	switch w.what {
	case 'k':
		return "dict_keys"
	case 'v':
		return "dict_values"
	}
	return "dict_items"
}

func (w *view) item(i int) Value {
	switch w.what {
	case 'k':
		return w.d.keys[i]
	case 'v':
		return w.d.vals[i]
	}
	return tuple(w.d.keys[i], w.d.vals[i])
}
