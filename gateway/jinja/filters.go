package jinja

import (
	"unicode/utf8"
)

// filters finds a filter by its name.
func filters(name string) filterFunc {
	switch name {
	case "tojson":
		return filterToJSON
	case "default", "d":
		return filterDefault
	case "length", "count":
		return filterLength
	case "string":
		return filterString
	case "safe":
		return func(st *state, v Value, _ *args) (Value, error) {
			s, err := st.toStr(v)
			s.f |= markup
			return s, err
		}
	case "escape", "e":
		return func(st *state, v Value, _ *args) (Value, error) { return st.escape(v) }
	case "forceescape":
		return func(st *state, v Value, _ *args) (Value, error) {
			s, err := st.toStr(v)
			if err != nil {
				return s, err
			}
			return st.escape(s)
		}
	case "upper", "lower", "capitalize":
		return func(st *state, v Value, a *args) (Value, error) {
			if _, err := a.bind(name); err != nil {
				return v, err
			}
			s, err := st.softStr(v)
			if err != nil {
				return s, err
			}
			return st.recase(name, s)
		}
	case "title":
		return filterTitle
	case "trim":
		return filterTrim
	case "replace":
		return filterReplace
	case "indent":
		return filterIndent
	case "center":
		return filterCenter
	case "truncate":
		return filterTruncate
	case "wordcount":
		return func(st *state, v Value, _ *args) (Value, error) {
			s, err := st.softStr(v)
			return Int(wordCount(s.str())), err
		}
	case "format":
		return filterFormat
	case "urlencode":
		return filterURLEncode
	case "int":
		return filterInt
	case "float":
		return filterFloat
	case "abs":
		return filterAbs
	case "round":
		return filterRound
	case "filesizeformat":
		return filterFileSize
	case "attr":
		return filterAttr
	}
	return sequenceFilters(name)
}

// softStr is str(v), except that what is safe in HTML stays so.
func (st *state) softStr(v Value) (Value, error) {
	if v.k == kStr {
		return v.flat(), nil
	}
	v, err := st.toStr(v)
	return v.flat(), err
}

// plainStr is str(v), with its text in place.
func (st *state) plainStr(v Value) (Value, error) {
	v, err := st.toStr(v)
	return v.flat(), err
}

func filterDefault(_ *state, v Value, a *args) (Value, error) {
	p, err := a.bind("default", "default_value", "boolean")
	if err != nil {
		return v, err
	}
	if v.k <= kUndef || p[1].truth() && !v.truth() {
		if p[0].k == kMissing {
			return text(""), nil
		}
		return p[0], nil
	}
	return v, nil
}

func filterLength(st *state, v Value, a *args) (Value, error) {
	if _, err := a.bind("length"); err != nil {
		return v, err
	}
	n := 0
	switch v.k {
	case kMissing, kUndef:
	case kStr:
		s := v.str()
		if err := st.tick(len(s) / scanBytes); err != nil {
			return v, err
		}
		n = utf8.RuneCountInString(s)
	case kList, kTuple:
		n = len(v.items())
	case kDict:
		n = v.dict().len()
	case kRange:
		n = int(v.p.(*span).len())
	case kView:
		n = v.p.(*view).d.len()
	case kLoop:
		var err error
		if n, err = v.p.(*loop).length(st); err != nil {
			return v, err
		}
	default:
		return v, fail(TypeError, "object of type '%s' has no len()", v.typeName())
	}
	return Int(int64(n)), nil
}

func filterString(st *state, v Value, a *args) (Value, error) {
	if _, err := a.bind("string"); err != nil {
		return v, err
	}
	if v.k == kStr {
		return v, nil
	}
	return st.toStr(v)
}

func filterAttr(st *state, v Value, a *args) (Value, error) {
	p, err := a.bind("attr", "name")
	if err != nil {
		return v, err
	}
	name, err := st.plainStr(p[0])
	if err != nil {
		return v, err
	}
	if v.k == kDict && methodsOf(name.s).dict == nil && !methodsOf(name.s).unsafeDict {
		return undefinedAttr(v, name.s), nil
	}
	return st.attr(v, name.s, nil)
}
