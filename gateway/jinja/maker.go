package jinja

import "strings"

// Maker makes the values of one render after the other in memory that it uses again. Its zero value is ready. It
// is used by one goroutine, and its values until Reset.
type Maker struct {
	vals   arena[Value]
	dicts  arena[dict]
	lists  arena[list]
	shapes [][]Value // names of the members of objects that were made
	buf    []byte
}

// arena gives memory that is taken back at once.
type arena[T any] struct{ free []T }

// Bounds of an arena's pieces, in entries.
const (
	firstPiece = 64
	lastPiece  = 1 << 14
)

func (a *arena[T]) take(n int) []T {
	at := len(a.free)
	if n > cap(a.free)-at {
		a.free, at = make([]T, 0, max(firstPiece, n, min(2*cap(a.free), lastPiece))), 0
	}
	a.free = a.free[:at+n]
	return a.free[at : at+n : at+n]
}

func (a *arena[T]) reset() {
	if cap(a.free) > lastPiece {
		a.free = nil
		return
	}
	clear(a.free)
	a.free = a.free[:0]
}

// Reset takes back the memory of all values made so far. Nothing may use them any more, but the results of
// renders.
func (m *Maker) Reset() {
	m.vals.reset()
	m.dicts.reset()
	m.lists.reset()
}

// List is List of a copy of the items.
func (m *Maker) List(items ...Value) Value {
	v := m.vals.take(len(items))
	copy(v, items)
	l := &m.lists.take(1)[0]
	l.v = v
	return Value{k: kList, p: l}
}

// Bounds of what a Maker remembers of the objects that it made.
const (
	maxShapes    = 32
	maxShapeName = 64 // bytes
)

// Object is Object, for objects of few kinds: it keeps the names.
func (m *Maker) Object(members ...Member) Value {
	keys := m.shape(members)
	if keys == nil {
		return Object(members...)
	}
	d := &m.dicts.take(1)[0]
	d.keys, d.vals = keys, m.vals.take(len(keys))
	for i := range members {
		d.vals[i] = members[i].Value
	}
	return d.value()
}

// shape is the names of members as keys, nil where they are not kept.
func (m *Maker) shape(members []Member) []Value {
	for _, keys := range m.shapes {
		if isShape(keys, members) {
			return keys
		}
	}
	if len(members) > smallDict || len(m.shapes) == maxShapes {
		return nil
	}
	d := newDict(len(members))
	for i := range members {
		if len(members[i].Name) > maxShapeName {
			return nil
		}
		d.set(Text(strings.Clone(members[i].Name), members[i].Origin), Value{})
	}
	if d.len() < len(members) || !isShape(d.keys, members) {
		return nil
	}
	m.shapes = append(m.shapes, d.keys)
	return d.keys
}

func isShape(keys []Value, members []Member) bool {
	if len(keys) != len(members) {
		return false
	}
	for i := range members {
		if keys[i].s != members[i].Name || keys[i].n != members[i].Origin.pack() {
			return false
		}
	}
	return true
}

// Join is the strings of some values, one behind the other; each byte keeps its origin. What is no string is
// left out.
func (m *Maker) Join(texts ...Value) Value {
	b := builder{buf: m.buf[:0]}
	for _, t := range texts {
		if t.k == kStr {
			b.text(t)
		}
	}
	m.buf = b.buf
	v := b.value()
	if cap(m.buf) > maxFirst {
		m.buf = nil
	}
	return v
}

// From is v with o for the origin of all its strings. It shares their texts with v.
func (m *Maker) From(v Value, o Origin) Value { return m.from(v, o.pack()) }

// lent is what a container holds for another, which has all strings from one origin, until they are asked for.
type lent[T any] struct {
	from *T
	org  uint64 // of the strings
	m    *Maker // which gives the memory
}

// memory is what is kept of the container, nil where that does not tell which strings got the origin.
func (l *lent[T]) memory(k *kept) *kept {
	if l.m != nil && k != nil && (l.org == 0 || k.org == 0) {
		return nil
	}
	return k
}

func (m *Maker) from(v Value, org uint64) Value {
	switch v.k {
	case kStr:
		return Value{k: kStr, f: v.f, s: v.str(), n: org}
	case kList, kTuple:
		l := &m.lists.take(1)[0]
		from := v.p.(*list)
		l.group, l.kept, l.lent = from.group, from.kept, lent[list]{from, org, m}
		v.p = l
	case kDict:
		d := &m.dicts.take(1)[0]
		from := v.p.(*dict)
		d.kept, d.lent = from.kept, lent[dict]{from, org, m}
		v.p = d
	}
	return v
}

func (l *list) fill() {
	from := Value{p: l.lent.from}
	l.v = l.lent.m.all(from.items(), l.lent.org)
	l.lent.from = nil
}

func (d *dict) fill() {
	from := Value{p: d.lent.from}.dict()
	d.strs, d.rest = from.strs, from.rest
	d.keys = d.lent.m.all(from.keys, d.lent.org)
	d.vals = d.lent.m.all(from.vals, d.lent.org)
	d.lent.from = nil
}

func (m *Maker) all(list []Value, org uint64) []Value {
	out := m.vals.take(len(list))
	for i := range list {
		out[i] = m.from(list[i], org)
	}
	return out
}
