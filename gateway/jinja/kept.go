package jinja

import (
	"slices"
	"sync/atomic"
)

// kept is what is remembered of a container that many renders are given. It is shared by its copies.
type kept struct {
	json atomic.Pointer[dumped]
	org  uint64        // the origin of all strings in it; 0 where they have several
	size int64         // of what it holds, in bytes
	room *atomic.Int64 // bytes that may still be remembered of the value that it is part of
}

// form is how JSON is written.
type form struct {
	ascii, sorted bool
	lines         bool   // each item stands on a line of its own
	indent        string // of one level
	item, key     string // separators
}

// dumped is a container's JSON.
type dumped struct {
	form  form
	bare  bool // without origins
	text  string
	runs  []run
	steps int // that it takes to write it
	depth int // containers within each other
}

// size is what a dumped text takes, in bytes.
func (c *dumped) size() int64 { return int64(128 + len(c.text) + 16*len(c.runs)) }

// keptFactor is how much is remembered of a value in relation to its own size.
const keptFactor = 4

// Kept is a copy of v for many renders: what tojson makes of it is remembered, within a small multiple of its own
// size. Parts of v that are kept already are shared.
func (v Value) Kept() Value {
	room := &atomic.Int64{}
	out, _, size := v.keep(room)
	room.Store(keptFactor * size)
	return out
}

// sizes of what is kept, beside texts.
const (
	valueSize = 48
	boxSize   = 4 * valueSize
)

// keep copies v. It returns the one origin of all its strings, or 0, and its size in bytes.
func (v Value) keep(room *atomic.Int64) (Value, uint64, int64) {
	switch v.k {
	case kStr:
		if v = v.flat(); v.p != nil {
			return v, 0, valueSize + int64(len(v.s))
		}
		return v, v.n, valueSize + int64(len(v.s))
	case kList, kTuple:
		from := v.p.(*list)
		if k := from.kept; k != nil && from.lent.m == nil {
			return v, k.org, k.size
		}
		k := &kept{org: anyOrigin, size: boxSize, room: room}
		v.p = &list{v: k.all(v.items()), group: from.group, kept: k}
		return v, k.org, k.size
	case kDict:
		from := v.dict()
		if k := from.kept; k != nil && from.lent.m == nil {
			return v, k.org, k.size
		}
		k := &kept{org: anyOrigin, size: boxSize, room: room}
		v.p = &dict{keys: k.all(from.keys), vals: k.all(from.vals), strs: from.strs, rest: from.rest, kept: k}
		return v, k.org, k.size
	}
	return v, anyOrigin, valueSize
}

// all copies the values of the container.
func (k *kept) all(list []Value) []Value {
	out := make([]Value, len(list))
	for i := range list {
		v, org, size := list[i].keep(k.room)
		out[i], k.org, k.size = v, oneOrigin(k.org, org), k.size+size
	}
	return out
}

// anyOrigin is the origin of what has no strings.
const anyOrigin = 1<<64 - 1

func oneOrigin(a, b uint64) uint64 {
	switch {
	case a == b || b == anyOrigin:
		return a
	case a == anyOrigin:
		return b
	}
	return 0
}

// container writes a list or a dict, from what is remembered of it where that is what would be written. org is the
// origin that all its strings have got, 0 for their own.
func (d *dumper) container(k *kept, org uint64, v Value, depth int) error {
	if k == nil || d.keeping || d.lines && depth > 0 {
		return d.walk(v, depth)
	}
	c := k.json.Load()
	if c != nil && c.form == d.form && (d.b.bare || !c.bare) && depth+c.depth <= maxNesting {
		if err := d.st.tick(c.steps); err != nil {
			return err
		}
		d.b.copy(c.text, c.runs, k.org, org)
		return nil
	}
	m, steps := d.b.begin(), d.st.steps
	d.keeping, d.deepest = true, depth
	err := d.walk(v, depth)
	d.keeping = false
	if err == nil && !d.b.over {
		n := &dumped{form: d.form, bare: d.b.bare, text: string(d.b.buf[m.at:]), runs: d.b.since(m), steps: steps - d.st.steps, depth: d.deepest - depth}
		k.remember(n, c, org)
	}
	return err
}

// remember takes n in the place of c, if there is room. Of a value that got the origin org the strings have their
// own again.
func (k *kept) remember(n, c *dumped, org uint64) {
	more := n.size()
	if c != nil {
		more -= c.size()
	}
	if k.room.Add(-more) < 0 {
		k.room.Add(more)
		return
	}
	for i := range n.runs {
		if org != 0 && n.runs[i].org == org {
			n.runs[i].org = k.org
		}
	}
	if !k.json.CompareAndSwap(c, n) {
		k.room.Add(more)
	}
}

// copy appends a text that was written before, with its runs; to is the origin that one gets in the place of from,
// 0 for none.
func (b *builder) copy(s string, rs []run, from, to uint64) {
	if !b.room(len(s)) {
		return
	}
	if b.bare || len(rs) == 0 {
		b.add(s, 0)
		return
	}
	base := len(b.buf)
	b.close()
	b.runs = slices.Grow(b.runs, len(rs))
	for _, r := range rs {
		if to != 0 && r.org == from {
			r.org = to
		}
		b.runs = append(b.runs, run{base + r.end, r.org})
	}
	b.buf = append(b.buf, s...)
	b.from = len(b.buf)
}
