package jinja

import (
	"cmp"
	"math"
	"math/big"
	"slices"
	"strings"
)

// relation is an operator that compares.
type relation uint8

const (
	noRelation relation = iota
	isEqual
	isUnequal
	isLess
	isLessOrEqual
	isGreater
	isGreaterOrEqual
	isIn
	isNotIn
)

var relationNames = [...]string{"", "==", "!=", "<", "<=", ">", ">=", "in", "not in"}

// relationOf is the operator of a name, noRelation where there is none.
func relationOf(name string) relation {
	return relation(max(0, slices.Index(relationNames[:], name)))
}

// maxNesting is how deep containers may be nested for what walks through them.
const maxNesting = 500

func tooNested() error { return tooMuch("depth", maxNesting) }

// equal is a == b.
func (st *state) equal(a, b Value) (bool, error) { return st.same(a, b, 0) }

func (st *state) same(a, b Value, depth int) (bool, error) {
	if err := st.tick(1); err != nil {
		return false, err
	}
	if depth > maxNesting {
		return false, tooNested()
	}
	if a.numeric() && b.numeric() {
		c, ok := compareNumbers(a, b)
		return ok && c == 0, nil
	}
	if a.k != b.k {
		return a.k <= kUndef && b.k <= kUndef, nil
	}
	switch a.k {
	case kMissing, kUndef, kNone:
		return true, nil
	case kStr:
		if a.len() != b.len() {
			return false, nil
		}
		return a.str() == b.str(), st.tick(a.len() / scanBytes)
	case kList, kTuple:
		return st.sameItems(a.items(), b.items(), depth)
	case kDict:
		return st.sameDicts(a.dict(), b.dict(), depth)
	case kRange:
		x, y := a.p.(*span), b.p.(*span)
		return x.len() == y.len() && (x.len() == 0 || x.start == y.start && (x.len() == 1 || x.step == y.step)), nil
	case kView:
		return st.sameViews(a.p.(*view), b.p.(*view), depth)
	}
	return a.p == b.p, nil
}

func (st *state) sameItems(a, b []Value, depth int) (bool, error) {
	if len(a) != len(b) {
		return false, nil
	}
	for i := range a {
		if ok, err := st.same(a[i], b[i], depth+1); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

func (st *state) sameDicts(a, b *dict, depth int) (bool, error) {
	if a.len() != b.len() {
		return false, nil
	}
	for i, k := range a.keys {
		v, ok, err := b.lookup(st, k)
		if !ok || err != nil {
			return false, err
		}
		if ok, err := st.same(a.vals[i], v, depth+1); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

func (st *state) sameViews(a, b *view, depth int) (bool, error) {
	switch {
	case a == b:
		return true, nil
	case a.what != b.what || a.what == 'v' || a.d.len() != b.d.len():
		return false, nil
	case a.what == 'i':
		return st.sameDicts(a.d, b.d, depth)
	}
	for _, k := range a.d.keys {
		if _, ok, err := b.d.lookup(st, k); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

// compareNumbers orders two numbers; false when one is not a number.
func compareNumbers(a, b Value) (int, bool) {
	if a.k < kBig && b.k < kBig {
		return cmp.Compare(a.int(), b.int()), true
	}
	if a.k != kFloat && b.k != kFloat {
		return a.big().Cmp(b.big()), true
	}
	if a.k == kFloat && b.k == kFloat {
		x, y := a.float(), b.float()
		return cmp.Compare(x, y), x == x && y == y
	}
	if a.k != kFloat {
		c, ok := compareNumbers(b, a)
		return -c, ok
	}
	f := a.float()
	switch {
	case math.IsNaN(f):
		return 0, false
	case math.IsInf(f, 1):
		return 1, true
	case math.IsInf(f, -1):
		return -1, true
	}
	return new(big.Float).SetFloat64(f).Cmp(new(big.Float).SetInt(b.big())), true
}

// order compares a and b with an operator, one of < <= > >=.
func (st *state) order(op relation, a, b Value) (bool, error) {
	c, ok, err := st.compare(op, a, b, 0)
	if err != nil || !ok {
		return false, err
	}
	switch op {
	case isLess:
		return c < 0, nil
	case isLessOrEqual:
		return c <= 0, nil
	case isGreater:
		return c > 0, nil
	}
	return c >= 0, nil
}

// less is a < b.
func (st *state) less(a, b Value) (bool, error) { return st.order(isLess, a, b) }

// compare orders a and b; ok is false where no order holds, as with NaN.
func (st *state) compare(op relation, a, b Value, depth int) (c int, ok bool, err error) {
	if err := st.tick(1); err != nil {
		return 0, false, err
	}
	if depth > maxNesting {
		return 0, false, tooNested()
	}
	switch {
	case a.numeric() && b.numeric():
		c, ok = compareNumbers(a, b)
		return c, ok, nil
	case a.k == kStr && b.k == kStr:
		return strings.Compare(a.str(), b.str()), true, st.tick(min(a.len(), b.len()) / scanBytes)
	case a.k <= kUndef:
		return 0, false, a.undefErr()
	case b.k <= kUndef:
		return 0, false, b.undefErr()
	case (a.k == kList || a.k == kTuple) && a.k == b.k:
		x, y := a.items(), b.items()
		for i := range min(len(x), len(y)) {
			same, err := st.same(x[i], y[i], depth+1)
			if err != nil {
				return 0, false, err
			}
			if !same {
				return st.compare(op, x[i], y[i], depth+1)
			}
		}
		return cmp.Compare(len(x), len(y)), true, nil
	}
	return 0, false, fail(TypeError, "'%s' not supported between instances of '%s' and '%s'", relationNames[op], a.typeName(), b.typeName())
}

// contains is x in v.
func (st *state) contains(v, x Value) (bool, error) {
	switch v.k {
	case kStr:
		if x.k != kStr {
			return false, fail(TypeError, "'in <string>' requires string as left operand, not %s", x.typeName())
		}
		if err := st.tick(v.len() / scanBytes); err != nil {
			return false, err
		}
		return strings.Contains(v.str(), x.str()), nil
	case kDict:
		_, ok, err := v.dict().lookup(st, x)
		return ok, err
	case kMissing, kUndef:
		return false, nil
	case kView:
		if w := v.p.(*view); w.what == 'k' {
			_, ok, err := w.d.lookup(st, x)
			return ok, err
		}
	case kList, kTuple:
		for _, e := range v.items() {
			if ok, err := st.equal(e, x); ok || err != nil {
				return ok, err
			}
		}
		return false, nil
	case kRange, kIter:
	default:
		return false, fail(TypeError, "argument of type '%s' is not iterable", v.typeName())
	}
	q, err := st.iterate(v)
	if err != nil {
		return false, err
	}
	for {
		e, ok, err := q.next(st)
		if err != nil || !ok {
			return false, err
		}
		if ok, err := st.equal(e, x); ok || err != nil {
			return ok, err
		}
	}
}
