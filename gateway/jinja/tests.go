package jinja

// tests finds a test by its name.
func tests(name string) testFunc {
	switch name {
	case "defined":
		return plainTest(func(v Value) bool { return v.k > kUndef })
	case "undefined":
		return plainTest(func(v Value) bool { return v.k <= kUndef })
	case "none":
		return plainTest(func(v Value) bool { return v.k == kNone })
	case "boolean":
		return plainTest(func(v Value) bool { return v.k == kBool })
	case "true":
		return plainTest(func(v Value) bool { return v.k == kBool && v.n == 1 })
	case "false":
		return plainTest(func(v Value) bool { return v.k == kBool && v.n == 0 })
	case "integer":
		return plainTest(func(v Value) bool { return v.k == kInt || v.k == kBig })
	case "float":
		return plainTest(func(v Value) bool { return v.k == kFloat })
	case "number":
		return plainTest(Value.numeric)
	case "string":
		return plainTest(func(v Value) bool { return v.k == kStr })
	case "mapping":
		return plainTest(func(v Value) bool { return v.k == kDict })
	case "sequence":
		return plainTest(func(v Value) bool {
			return v.k <= kUndef || v.k == kStr || v.k == kList || v.k == kTuple || v.k == kDict || v.k == kRange
		})
	case "iterable":
		return plainTest(func(v Value) bool {
			return v.k <= kUndef || v.k == kStr || v.k == kList || v.k == kTuple || v.k == kDict || v.k == kRange || v.k == kIter || v.k == kView || v.k == kLoop
		})
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
	op := ""
	switch name {
	case "==", "eq", "equalto":
		op = "=="
	case "!=", "ne":
		op = "!="
	case ">", "gt", "greaterthan":
		op = ">"
	case ">=", "ge":
		op = ">="
	case "<", "lt", "lessthan":
		op = "<"
	case "<=", "le":
		op = "<="
	default:
		return nil
	}
	return func(st *state, v Value, a *args) (bool, error) {
		if len(a.pos) != 1 || len(a.kw) > 0 {
			return false, fail(TypeError, "%s expected 2 arguments, got %d", name, 1+len(a.pos)+len(a.kw))
		}
		if op == "==" || op == "!=" {
			same, err := st.equal(v, a.pos[0])
			return same == (op == "=="), err
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
