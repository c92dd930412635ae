package jinja

import "slices"

// macro is a macro, or the body of a call block, with the variables around its definition.
type macro struct {
	def *function
	up  *frame
}

// run writes the macro's text to the output.
func (m *macro) run(st *state, a *args) error {
	if err := st.deeper(); err != nil {
		return err
	}
	if err := st.tick(2); err != nil {
		return err
	}
	d := m.def
	if err := st.grow(d.slots * valueBytes); err != nil {
		return err
	}
	f := st.frame(d.slots, m.up)
	if err := m.bind(st, f, a); err != nil {
		return err
	}
	outer := st.f
	st.f = f
	st.enter(&d.scope)
	for i, p := range d.params {
		if f.slots[p.slot].k != kMissing {
			continue
		}
		if k := i - (len(d.params) - len(d.defaults)); k >= 0 {
			v, err := d.defaults[k].eval(st)
			if err != nil {
				return err
			}
			f.slots[p.slot] = v
		} else {
			f.slots[p.slot] = undefinedHint("parameter " + quote(p.name) + " was not provided")
		}
	}
	_, err := st.run(d.body)
	st.f = outer
	st.depth--
	if err == nil && !d.kept {
		clear(f.slots)
		f.up = nil
		st.frames = append(st.frames, f)
	}
	return err
}

// bind puts arguments into the variables of f.
func (m *macro) bind(st *state, f *frame, a *args) error {
	d := m.def
	kw := a.kw
	take := func(name string) (Value, bool) {
		i := slices.IndexFunc(kw, func(k named) bool { return k.name == name })
		if i < 0 {
			return Value{}, false
		}
		v := kw[i].v
		kw = slices.Delete(slices.Clone(kw), i, i+1)
		return v, true
	}
	foundCaller := false
	for i, p := range d.params {
		if i < len(a.pos) {
			f.slots[p.slot] = a.pos[i]
			continue
		}
		foundCaller = foundCaller || p.name == "caller"
		if len(kw) > 0 {
			if v, ok := take(p.name); ok {
				f.slots[p.slot] = v
			}
		}
	}
	if len(a.pos) == len(d.params) {
		foundCaller = d.explicitCaller
	}
	if d.caller >= 0 && !foundCaller {
		v, ok := take("caller")
		if !ok {
			v = undefinedHint("No caller defined")
		}
		f.slots[d.caller] = v
	}
	if d.kwargs >= 0 {
		rest := newDict(len(kw))
		for _, k := range kw {
			rest.set(text(k.name), k.v)
		}
		f.slots[d.kwargs] = rest.value()
	} else if len(kw) > 0 {
		return fail(TypeError, "macro %s takes no keyword argument %s", quote(d.name), quote(kw[0].name))
	}
	extra := a.pos[min(len(a.pos), len(d.params)):]
	if d.varargs >= 0 {
		f.slots[d.varargs] = tuple(slices.Clone(extra)...)
	} else if len(extra) > 0 {
		return fail(TypeError, "macro %s takes not more than %d argument(s)", quote(d.name), len(d.params))
	}
	return st.tick(len(extra))
}

// call is the macro's text as a value.
func (m *macro) call(st *state, a *args) (Value, error) {
	k := st.out.begin()
	if err := m.run(st, a); err != nil {
		return Value{}, err
	}
	return st.taken(k)
}

func (m *macro) attr(name string) (Value, bool) {
	switch name {
	case "name":
		if m.def.name == "" {
			return None(), true
		}
		return text(m.def.name), true
	case "arguments":
		var out []Value
		for _, p := range m.def.params {
			out = append(out, text(p.name))
		}
		return tuple(out...), true
	case "catch_kwargs":
		return Bool(m.def.kwargs >= 0), true
	case "catch_varargs":
		return Bool(m.def.varargs >= 0), true
	case "caller":
		return Bool(m.def.caller >= 0), true
	}
	return Value{}, false
}
