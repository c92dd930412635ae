package openai

import (
	"bytes"
	"io"

	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/abi/record"
	"github.com/weirgate/weir/engines"
	"github.com/weirgate/weir/engines/internal/upstream"
)

// mergeBytes is how much text waiting chunks may make of one delta: every delta is one call of a parser.
const mergeBytes = 4 << 10

// maxKept is the largest buffer that serves another stream.
const maxKept = 64 << 10

// Stream is one generation. Chunks that wait already are merged into one delta. Usage and the finish
// come with the last delta, once the server has ended its stream, since they are told in any order.
//
// What it works with goes back to the engine when it is closed, and serves another stream.
type Stream struct {
	g   *generation // nil once closed
	err error       // of Next, once closed
}

// Ready reports whether Next would return at once.
func (s *Stream) Ready() bool { return s.g == nil || s.g.ready() }

// Next returns the next delta, valid until the following call, also one of Close.
func (s *Stream) Next() (*engines.Delta, error) {
	if s.g == nil {
		return nil, s.err
	}
	return s.g.next()
}

// Close ends the generation if it still runs. It may be called twice.
func (s *Stream) Close() error {
	g := s.g
	if g == nil {
		return nil
	}
	s.g = nil
	err := g.ev.Close(g.err == io.EOF)
	if s.err = g.err; s.err == nil {
		_, s.err = g.ev.Next()
	}
	g.reset()
	g.e.spare.Put(g)
	return err
}

// generation is what a stream works with.
type generation struct {
	e   *Engine
	ev  *upstream.Events
	dec decoder

	acc, out *accum // what is being read, what was handed out
	err      error  // what follows the text read so far; io.EOF after a whole stream
	told     bool   // the finish was handed out
}

func newStream(e *Engine, ev *upstream.Events) *Stream {
	g, ok := e.spare.Get().(*generation)
	if !ok {
		g = &generation{e: e, acc: &accum{}, out: &accum{}}
		g.dec.init(e)
	}
	g.ev = ev
	return &Stream{g: g}
}

// reset forgets the stream, but for buffers that the next one may use.
func (g *generation) reset() {
	g.ev, g.err, g.told = nil, nil, false
	g.dec.reset()
	g.acc.forget()
	g.out.forget()
}

func (g *generation) ready() bool {
	for !g.acc.filled() && g.err == nil && g.ev.Ready() {
		g.read()
	}
	return g.acc.filled() || g.err != nil
}

func (g *generation) next() (*engines.Delta, error) {
	for g.err == nil && (!g.acc.filled() || len(g.acc.text) < mergeBytes && g.ev.Ready()) {
		g.read()
	}
	last := g.err == io.EOF && !g.told
	if !g.acc.filled() && !last {
		return nil, g.err
	}
	g.out, g.acc = g.acc, g.out
	g.acc.reset()
	g.out.deliver(g.e.cfg.Structured)
	if last {
		g.told = true
		g.out.fin = g.dec.finish
		g.out.delta.Finish = &g.out.fin
		if g.dec.counted {
			g.out.usage = g.dec.usage
			g.out.delta.Usage = &g.out.usage
		}
	}
	return &g.out.delta, nil
}

// accum gathers a delta.
type accum struct {
	delta engines.Delta
	text  []byte // raw bytes, or the text behind marks
	marks []mark
	usage engines.Usage
	fin   engines.Finish

	sampled sampled
}

// mark is a fragment whose text is still part of accum.text.
type mark struct {
	kind     engines.FragmentKind
	index    int
	id, name string
	from, to int
}

func (a *accum) reset() {
	a.delta = engines.Delta{Spans: a.delta.Spans[:0], Fragments: a.delta.Fragments[:0]}
	a.text, a.marks = a.text[:0], a.marks[:0]
	a.sampled.reset()
}

// forget is reset for another stream: it keeps no string and no large buffer of this one.
func (a *accum) forget() {
	clear(a.marks[:cap(a.marks)])
	clear(a.delta.Fragments[:cap(a.delta.Fragments)])
	a.reset()
	a.sampled.forget()
	a.text, a.usage, a.fin = kept(a.text), engines.Usage{}, engines.Finish{}
	if cap(a.marks) > maxKeptItems || cap(a.delta.Fragments) > maxKeptItems || cap(a.delta.Spans) > maxKeptItems {
		*a = accum{text: a.text, sampled: a.sampled}
	}
}

// maxKeptItems bounds the slices that serve another stream.
const maxKeptItems = 256

func kept(b []byte) []byte {
	if cap(b) > maxKept {
		return nil
	}
	return b[:0]
}

func (a *accum) filled() bool { return len(a.text) > 0 || len(a.marks) > 0 }

// read takes one event, and sets err when it was the last.
func (g *generation) read() {
	ev, err := g.ev.Next()
	if err == nil {
		if done(ev.Data) {
			g.end()
			return
		}
		if err := g.dec.chunk(ev.Data, g.acc); err != nil {
			g.err = err
			return
		}
		if g.dec.finish.Reason != 0 {
			g.ev.EndWithin(g.e.cfg.TailTimeout)
		}
		return
	}
	if err == io.EOF {
		g.end()
		return
	}
	g.err = err
}

// doneWord is the data of the event that ends a stream.
const doneWord = "[DONE]"

func done(data []byte) bool {
	if len(data) > 0 && data[0] == '{' {
		return false
	}
	return string(bytes.TrimSpace(data)) == doneWord
}

// end is the end of the server's stream. Its last word must have been a finish reason.
func (g *generation) end() {
	g.dec.flush(g.acc)
	switch {
	case g.dec.finish.Reason != 0:
		g.err = io.EOF
	case g.ev.Cut():
		g.err = g.e.client.Fail(engines.ClassProtocol, "the stream was cut inside an event", io.ErrUnexpectedEOF)
	default:
		g.err = g.e.client.Fail(engines.ClassProtocol, "the stream ended without a finish reason", io.ErrUnexpectedEOF)
	}
}

// deliver makes the delta of what was gathered.
func (a *accum) deliver(structured bool) {
	a.delta.IDs = a.sampled.told()
	if !structured {
		if len(a.text) > 0 {
			a.delta.Bytes = a.text
		}
		return
	}
	text := string(a.text)
	for _, m := range a.marks {
		a.delta.Fragments = append(a.delta.Fragments, engines.Fragment{Kind: m.kind, Text: text[m.from:m.to], Index: m.index, ID: m.id, Name: m.name})
	}
}

// cut takes back what was added since there were so many bytes, marks and ids.
func (a *accum) cut(text, marks, ids int) {
	a.text, a.marks, a.sampled.ids = a.text[:text], a.marks[:marks], a.sampled.ids[:ids]
	if marks > 0 {
		a.marks[marks-1].to = min(a.marks[marks-1].to, text)
	}
}

// fragment appends text to the fragment before it, where it continues that one.
func (a *accum) fragment(m mark) {
	if n := len(a.marks); n > 0 && m.id == "" && m.name == "" {
		if l := &a.marks[n-1]; l.kind == m.kind && l.index == m.index && l.to == m.from {
			l.to = m.to
			return
		}
	}
	a.marks = append(a.marks, m)
}

// spans finds the special tokens that the ids of a chunk named in the text that came with them. Ids
// may run ahead of the text, so one that is not found waits for the next chunk. A token whose text
// the server kept to itself, as it does with the one that ended the turn, is left in waiting.
func (d *decoder) spans(a *accum, from int) {
	for len(d.waiting) > 0 {
		sp := &d.special[d.waiting[0]]
		at := bytes.Index(a.text[from:], []byte(sp.Text))
		if at < 0 {
			break
		}
		a.delta.Spans = append(a.delta.Spans, record.Span{Off: uint32(from + at), Len: uint32(len(sp.Text)), Token: sp.ID})
		from += at + len(sp.Text)
		d.waiting = d.waiting[:copy(d.waiting, d.waiting[1:])]
	}
	if len(d.waiting) > maxWaiting {
		d.waiting = d.waiting[:copy(d.waiting, d.waiting[1:])]
	}
}

const maxWaiting = 16

// surrogate is the last character of a string that ended in the first half of a pair: some servers
// cut their text between UTF-16 units. It is kept with the channel it belongs to.
type surrogate struct {
	esc     [6]byte
	held    bool
	channel channel
}

type channel struct {
	kind  engines.FragmentKind
	index int
}

// unescape appends the text of a JSON string, given without its quotes.
func (d *decoder) unescape(dst, inner []byte, ch channel) ([]byte, error) {
	if d.half.held && len(inner) > 0 {
		d.half.held = false
		d.scratch = append(append(d.scratch[:0], d.half.esc[:]...), inner...)
		if d.half.channel == ch {
			inner = d.scratch
		}
	}
	if n := len(inner) - 6; n >= 0 && inner[n] == '\\' && inner[n+1] == 'u' {
		if _, r := jsonscan.Escape(inner[n:]); r >= 0xD800 && r < 0xDC00 && !escaped(inner[:n]) {
			d.half = surrogate{esc: [6]byte(inner[n:]), held: true, channel: ch}
			inner = inner[:n]
		}
	}
	return jsonscan.AppendUnescaped(dst, inner)
}

// escaped reports whether b ends in a backslash that escapes what follows.
func escaped(b []byte) bool {
	n := 0
	for n < len(b) && b[len(b)-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

// flush gives up a half character.
func (d *decoder) flush(a *accum) {
	if !d.half.held {
		return
	}
	d.half.held = false
	from := len(a.text)
	a.text = append(a.text, "\ufffd"...)
	if d.structured {
		a.fragment(mark{kind: d.half.channel.kind, index: d.half.channel.index, from: from, to: len(a.text)})
	}
}
