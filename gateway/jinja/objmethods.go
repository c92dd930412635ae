package jinja

import "math"

// dictMethods finds a method of dicts.
func dictMethods(name string) filterFunc {
	what := byte(0)
	switch name {
	case "items":
		what = 'i'
	case "keys":
		what = 'k'
	case "values":
		what = 'v'
	case "get":
		return dictGet
	case "copy":
		return func(_ *state, v Value, a *args) (Value, error) {
			_, err := a.bind("copy")
			return v, err
		}
	case "fromkeys":
		return func(_ *state, v Value, _ *args) (Value, error) {
			return v, fail(SecurityError, "dict.fromkeys is not available")
		}
	default:
		return nil
	}
	return func(_ *state, v Value, a *args) (Value, error) {
		_, err := a.bind(name)
		return Value{k: kView, p: &view{v.dict(), what}}, err
	}
}

func dictGet(st *state, v Value, a *args) (Value, error) {
	if len(a.kw) > 0 {
		return v, fail(TypeError, "dict.get() takes no keyword arguments")
	}
	if len(a.pos) < 1 || len(a.pos) > 2 {
		return v, fail(TypeError, "get expected 1 to 2 arguments, got %d", len(a.pos))
	}
	e, ok, err := v.dict().lookup(st, a.pos[0])
	switch {
	case ok || err != nil:
		return e, err
	case len(a.pos) > 1:
		return a.pos[1], nil
	}
	return None(), nil
}

// listMethods finds a method of lists, tuples and ranges.
func listMethods(name string) filterFunc {
	switch name {
	case "count":
		return func(st *state, v Value, a *args) (Value, error) {
			n := int64(0)
			err := st.matches(v, a, name, func(int64) bool { n++; return true })
			return Int(n), err
		}
	case "index":
		return func(st *state, v Value, a *args) (Value, error) {
			at := int64(-1)
			err := st.matches(v, a, name, func(i int64) bool { at = i; return false })
			if err == nil && at < 0 {
				err = fail(ValueError, "the value is not in the %s", v.typeName())
			}
			return Int(at), err
		}
	case "copy":
		return func(_ *state, v Value, a *args) (Value, error) {
			if v.k != kList {
				return v, undefinedAttr(v, name).undefErr()
			}
			_, err := a.bind(name)
			return v, err
		}
	}
	return nil
}

// matches calls f with the places of the items that equal the argument, until it returns false.
func (st *state) matches(v Value, a *args, name string, f func(i int64) bool) error {
	p, err := a.bind(name, "value", "start", "stop")
	if err != nil {
		return err
	}
	if p[0].k == kMissing {
		return fail(TypeError, "%s expected at least 1 argument, got 0", name)
	}
	items, err := st.slice(v)
	if err != nil {
		return err
	}
	for i, e := range items {
		same, err := st.equal(e, p[0])
		if err != nil {
			return err
		}
		if same && !f(int64(i)) {
			return nil
		}
	}
	return nil
}

// numberMethods finds a method of numbers.
func numberMethods(name string) filterFunc {
	switch name {
	case "bit_length":
		return func(_ *state, v Value, _ *args) (Value, error) {
			if v.k == kFloat {
				return v, undefinedAttr(v, name).undefErr()
			}
			return Int(int64(v.big().BitLen())), nil
		}
	case "is_integer":
		return func(_ *state, v Value, _ *args) (Value, error) {
			if v.k != kFloat {
				return v, undefinedAttr(v, name).undefErr()
			}
			f := v.float()
			return Bool(f == math.Trunc(f) && !math.IsInf(f, 0)), nil
		}
	case "conjugate":
		return func(_ *state, v Value, _ *args) (Value, error) { return v, nil }
	}
	return nil
}
