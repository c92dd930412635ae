package jinja

// kinds is a set of kinds.
type kinds uint32

func kindsOf(list ...kind) kinds {
	k := kinds(0)
	for _, one := range list {
		k |= 1 << one
	}
	return k
}

func (k kinds) has(one kind) bool { return k>>one&1 != 0 }

// kindTest is the kinds for which a test is true that asks for nothing else, of other tests none.
func kindTest(name string) kinds {
	missing := kindsOf(kMissing, kUndef)
	switch name {
	case "defined":
		return ^missing
	case "undefined":
		return missing
	case "none":
		return kindsOf(kNone)
	case "boolean":
		return kindsOf(kBool)
	case "integer":
		return kindsOf(kInt, kBig)
	case "float":
		return kindsOf(kFloat)
	case "number":
		return kindsOf(kBool, kInt, kBig, kFloat)
	case "string":
		return kindsOf(kStr)
	case "mapping":
		return kindsOf(kDict)
	case "sequence":
		return missing | kindsOf(kStr, kList, kTuple, kDict, kRange)
	case "iterable":
		return missing | kindsOf(kStr, kList, kTuple, kDict, kRange, kIter, kView, kLoop)
	}
	return 0
}

// tests finds a test by its name.
func tests(name string) testFunc {
	if k := kindTest(name); k != 0 {
		return plainTest(func(v Value) bool { return k.has(v.k) })
	}
	switch name {
	case "true":
		return plainTest(func(v Value) bool { return v.k == kBool && v.n == 1 })
	case "false":
		return plainTest(func(v Value) bool { return v.k == kBool && v.n == 0 })
	case "callable":
		return plainTest(func(v Value) bool {
			_, joins := v.p.(*joiner)
			return v.k <= kUndef || v.k == kFunc || v.k == kMacro || v.k == kLoop || joins
		})
	case "escaped":
		return plainTest(Value.isMarkup)
	case "lower", "upper":
		kind := "is" + name
		return func(st *state, v Value, a *args) (bool, error) {
			if _, err := a.bind(name); err != nil {
				return false, err
			}
			s, err := st.toStr(v)
			return isKind(kind, s.str()), err
		}
	case "odd", "even", "divisibleby":
		return func(st *state, v Value, a *args) (bool, error) { return divides(st, name, v, a) }
	case "sameas":
		return func(st *state, v Value, a *args) (bool, error) {
			p, err := a.bind(name, "other")
			if err == nil && v.k == kStr {
				err = st.tick(v.len() / scanBytes)
			}
			return identical(v, p[0]), err
		}
	case "in":
		return func(st *state, v Value, a *args) (bool, error) {
			p, err := a.bind(name, "seq")
			if err != nil {
				return false, err
			}
			return st.contains(p[0], v)
		}
	case "filter":
		return func(_ *state, v Value, _ *args) (bool, error) {
			return v.k == kStr && filters(v.str()) != nil, nil
		}
	case "test":
		return func(_ *state, v Value, _ *args) (bool, error) { return v.k == kStr && tests(v.str()) != nil, nil }
	}
	return comparing(name)
}

// comparing finds a test that is an operator.
func comparing(name string) testFunc {
	var op relation
	switch name {
	case "==", "eq", "equalto":
		op = isEqual
	case "!=", "ne":
		op = isUnequal
	case ">", "gt", "greaterthan":
		op = isGreater
	case ">=", "ge":
		op = isGreaterOrEqual
	case "<", "lt", "lessthan":
		op = isLess
	case "<=", "le":
		op = isLessOrEqual
	default:
		return nil
	}
	return func(st *state, v Value, a *args) (bool, error) {
		if len(a.pos) != 1 || len(a.kw) > 0 {
			return false, fail(TypeError, "%s expected 2 arguments, got %d", name, 1+len(a.pos)+len(a.kw))
		}
		if op == isEqual || op == isUnequal {
			same, err := st.equal(v, a.pos[0])
			return same == (op == isEqual), err
		}
		return st.order(op, v, a.pos[0])
	}
}

func plainTest(f func(v Value) bool) testFunc {
	return func(_ *state, v Value, a *args) (bool, error) {
		if len(a.pos) > 0 || len(a.kw) > 0 {
			return false, fail(TypeError, "the test takes 1 positional argument but %d were given", 1+len(a.pos)+len(a.kw))
		}
		return f(v), nil
	}
}

// divides is the tests odd, even and divisibleby.
func divides(st *state, name string, v Value, a *args) (bool, error) {
	by := Int(2)
	if name == "divisibleby" {
		p, err := a.bind(name, "num")
		if err != nil {
			return false, err
		}
		by = p[0]
	} else if _, err := a.bind(name); err != nil {
		return false, err
	}
	rest, err := st.arith(opMod, v, by)
	if err != nil {
		return false, err
	}
	want := Int(0)
	if name == "odd" {
		want = Int(1)
	}
	return st.equal(rest, want)
}

// identical is the is operator, as far as values have an identity here.
func identical(a, b Value) bool {
	if a.k != b.k {
		return false
	}
	switch a.k {
	case kStr:
		return a.f == b.f && a.str() == b.str()
	case kNone, kMissing, kUndef:
		return a.k == kNone
	case kBool, kInt:
		return a.n == b.n
	case kFloat:
		return a.n == b.n
	}
	return a.p == b.p
}
