package jinja

import (
	"slices"
	"sort"
)

// OriginKind tells what a byte of a prompt came from.
type OriginKind uint8

// Kinds of origins. The zero kind is the template itself.
const (
	FromTemplate OriginKind = iota
	FromHost
	FromSystem
	FromUser
	FromToolResult
	FromAssistant
	FromToolSchema
)

var originNames = [...]string{"template", "host", "system", "user", "tool_result", "assistant", "tool_schema"}

// String names the kind.
func (k OriginKind) String() string {
	if int(k) < len(originNames) {
		return originNames[k]
	}
	return "unknown"
}

// maxOrdinal bounds Message and Part of an Origin: 28 bits each.
const maxOrdinal = 1<<28 - 1

// Origin tells where bytes came from. The zero value is the template.
type Origin struct {
	Kind    OriginKind
	Message int32 // ordinal of the message, or of the tool; at most 2^28-1, larger ones are cut to that
	Part    int32 // ordinal of the part in it, likewise
}

// pack is the form in which strings carry an origin; 0 is the template.
func (o Origin) pack() uint64 {
	m, p := max(0, min(o.Message, maxOrdinal)), max(0, min(o.Part, maxOrdinal))
	return uint64(o.Kind)<<56 | uint64(m)<<28 | uint64(p)
}

func unpack(o uint64) Origin {
	return Origin{Kind: OriginKind(o >> 56), Message: int32(o >> 28 & maxOrdinal), Part: int32(o & maxOrdinal)}
}

// Span is a stretch of a result that has one origin. A long prompt has thousands, so it is small.
type Span struct {
	Start, End int32 // bytes
	Origin     Origin
}

// run is a stretch of one origin in a string that has several; it starts where the run before it ends.
type run struct {
	end int
	org uint64
}

// runs covers a whole string.
type runs struct{ r []run }

// cut returns the runs of s[i:j]. When there is one, org is it, and more is nil.
func (rs *runs) cut(i, j int) (org uint64, more *runs) {
	if i >= j {
		return 0, nil
	}
	a := sort.Search(len(rs.r), func(k int) bool { return rs.r[k].end > i })
	if rs.r[a].end >= j {
		return rs.r[a].org, nil
	}
	b := a
	for rs.r[b].end < j {
		b++
	}
	out := make([]run, b-a+1)
	for k := range out {
		out[k] = run{min(rs.r[a+k].end, j) - i, rs.r[a+k].org}
	}
	return 0, &runs{out}
}

// builder puts a text together and keeps the origins of what goes in. The zero value is ready; max is the
// most bytes it takes, 0 for no bound, and over tells that there were more, which were dropped.
type builder struct {
	buf  []byte
	runs []run // closed runs, without the open one
	org  uint64
	from int // where the open run starts
	max  int
	over bool
	bare bool // nobody asks for origins, and none are kept
}

// open says that the next bytes have origin o.
func (b *builder) open(o uint64) {
	if o == b.org || b.bare {
		return
	}
	if len(b.buf) > b.from {
		b.runs = append(b.runs, run{len(b.buf), b.org})
		b.from = len(b.buf)
	}
	b.org = o
}

// room reports whether n more bytes fit.
func (b *builder) room(n int) bool {
	if b.max > 0 && len(b.buf)+n > b.max {
		b.over = true
	}
	return !b.over
}

// add appends bytes of one origin.
func (b *builder) add(s string, o uint64) {
	if b.room(len(s)) {
		b.open(o)
		b.buf = append(b.buf, s...)
	}
}

// lit appends bytes that are the template's.
func (b *builder) lit(s string) { b.add(s, 0) }

// rune appends a character of origin o.
func (b *builder) rune(r rune, o uint64) {
	if b.room(4) {
		b.open(o)
		b.buf = appendRune(b.buf, r)
	}
}

// text appends a string.
func (b *builder) text(v Value) {
	if v.p == nil {
		b.add(v.s, v.n)
		return
	}
	if r, ok := v.p.(*rope); ok && r.flat == "" {
		r.each(b.text)
		return
	}
	v = v.flat()
	rs, ok := v.p.(*runs)
	if !ok {
		b.add(v.s, v.n)
		return
	}
	from := 0
	for _, r := range rs.r {
		b.add(v.s[from:r.end], r.org)
		from = r.end
	}
}

// part appends s[i:j] of a flat string.
func (b *builder) part(v Value, i, j int) {
	if v.p == nil {
		b.add(v.s[i:j], v.n)
		return
	}
	b.text(v.sub(i, j))
}

// value is what was put together, as a string value.
func (b *builder) value() Value {
	v := Value{k: kStr, s: string(b.buf)}
	switch {
	case len(b.buf) == 0 || b.bare:
		return v
	case len(b.runs) == 0:
		v.n = b.org
		return v
	}
	b.close()
	return v.with(b.runs)
}

// with is a text with its runs.
func (v Value) with(rs []run) Value {
	if len(rs) == 1 {
		v.n = rs[0].org
		return v
	}
	v.p = &runs{rs}
	return v
}

// close ends the open run.
func (b *builder) close() {
	if len(b.buf) > b.from && !b.bare {
		b.runs = append(b.runs, run{len(b.buf), b.org})
	}
	b.from = len(b.buf)
}

// mark is a place in a builder.
type mark struct {
	at, runs, from int
	org            uint64
}

// begin marks where the builder is. What is appended until end can be taken out again.
func (b *builder) begin() mark { return mark{len(b.buf), len(b.runs), b.from, b.org} }

// since is a copy of the runs of what was appended since m.
func (b *builder) since(m mark) []run {
	if b.bare {
		return nil
	}
	out := make([]run, 0, len(b.runs)-m.runs+1)
	for _, r := range b.runs[m.runs:] {
		if r.end > m.at {
			out = append(out, run{r.end - m.at, r.org})
		}
	}
	if from := max(b.from, m.at); len(b.buf) > from {
		out = append(out, run{len(b.buf) - m.at, b.org})
	}
	return out
}

// end takes out what was appended since m.
func (b *builder) end(m mark) Value {
	v := Value{k: kStr, s: string(b.buf[m.at:])}
	switch n := len(b.runs) - m.runs; {
	case len(v.s) == 0 || b.bare:
	case n == 0 || n == 1 && b.runs[m.runs].end == m.at:
		v.n = b.org
	default:
		v = v.with(b.since(m))
	}
	b.cut(m)
	return v
}

// cut drops what was appended since m.
func (b *builder) cut(m mark) {
	b.buf, b.runs, b.from, b.org = b.buf[:m.at], b.runs[:m.runs], m.from, m.org
}

// spans appends the origins of all that was appended, neighbours of one origin as one.
func (b *builder) spans(out []Span) []Span {
	out = slices.Grow(out, len(b.runs)+1)
	from, last := 0, uint64(0)
	put := func(end int, org uint64) {
		switch n := len(out); {
		case end == from:
		case n > 0 && last == org:
			out[n-1].End = int32(end)
		default:
			out, last = append(out, Span{int32(from), int32(end), unpack(org)}), org
		}
		from = end
	}
	for i := range b.runs {
		put(b.runs[i].end, b.runs[i].org)
	}
	put(len(b.buf), b.org)
	return out
}
