// Package guesttest holds a parser plugin to the parsing laws of ABI.md, natively and through Wasm alike.
package guesttest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/abi/record"
)

// Case is one input with the trace it must give.
type Case struct {
	Name   string
	Start  guest.Start
	Input  string
	Spans  []record.Span // special tokens in Input, when the engine gives ids
	Accept []string      // names the host accepts; nil accepts every name, weak ones too
	Why    abi.Why       // how the stream ends; the zero value counts as abi.WhyStop
	Want   string        // expected trace; empty checks the laws only
	Raw    bool          // a fault is allowed: the guest, or the case, is hostile on purpose
}

// ErrLaw is wrapped by errors that tell of a broken law; its text begins with the law's number.
var ErrLaw = errors.New("law broken")

// Trace runs c through g and a host.Stream in pieces of the lengths that split returns for the length of
// the input (nil: one piece), and returns what the host was told, one merged block a line:
//
//	reasoning "..", text "..", text/commentary "..", text/final "..", text! ".." (malformed)
//	block_end, end_turn, junk ".." (other markers leave no line)
//	call "name" (call~ if weak), id "..", args "..", args/text "..", args/auto ".."
//	key "..", value/string "..", value/json "..", value/schema ".."
//	open/object, open/array, open/auto, close/object.., end, end/truncated
//	fault "export" (only where c.Raw allows it)
//
// A call whose name comes after its first argument is `call ?` and later `name ".."`, or its end where that
// name is refused. Neither pieces nor
// lengths show in a trace. No piece ends inside a span: an engine never cuts a special token.
//
// The error tells of a broken law: L2 (the records' bytes are the input), L5 and L7 (no fault), L6 (the
// grammar of records), or a guest that keeps or changes its input.
func Trace(g host.Guest, c Case, split func(n int) []int) (string, error) {
	r, err := run(g, c, split, nil)
	return r.trace(), err
}

// run is Trace with a look at the stream after each piece.
func run(g host.Guest, c Case, split func(n int) []int, after func(s *host.Stream, fed int)) (*tracer, error) {
	tr := &tracer{accept: c.Accept, lax: c.Raw}
	w := &guarded{guest: g}
	s, err := host.Open(w, tr, c.Start.Append(nil))
	if err != nil && !c.Raw {
		return tr, fmt.Errorf("%w: L5: %w", ErrLaw, err)
	}
	pos := 0
	for _, n := range pieces(c, split) {
		tr.fed = pos + n
		if err := s.Feed([]byte(c.Input[pos:pos+n]), within(c.Spans, pos, n), false); err != nil {
			return tr, cause(s, w, c, err)
		}
		pos += n
		if after != nil {
			after(s, pos)
		}
	}
	return tr, finish(s, w, tr, c)
}

// finish ends the stream and checks what shows only at the end.
func finish(s *host.Stream, w *guarded, tr *tracer, c Case) error {
	why := c.Why
	if why == abi.WhyUnknown {
		why = abi.WhyStop
	}
	if err := cause(s, w, c, s.Finish(why)); err != nil {
		return err
	}
	if f := s.Fault(); f != nil {
		tr.line("fault", 0, []byte(f.Export))
	} else if err := tr.grammar.close(s.Ended()); err != nil {
		return err
	}
	if s.Held() != 0 {
		return fmt.Errorf("%w: L2: %d bytes held after finish", ErrLaw, s.Held())
	}
	if w.ignored {
		return nil
	}
	if want := c.Input[:len(c.Input)-s.Dropped()]; string(tr.all) != want {
		return fmt.Errorf("%w: L2: the records' bytes are %q, the input is %q", ErrLaw, tr.all, want)
	}
	return nil
}

// cause is why a trace broke, where err is what shows of it: behind a fault the rest comes as raw text, which
// breaks the grammar of a call that is open.
func cause(s *host.Stream, w *guarded, c Case, err error) error {
	if w.err != nil {
		return w.err
	}
	f := s.Fault()
	switch {
	case f == nil || c.Raw:
		return err
	case errors.Is(f, host.ErrRecords):
		return fmt.Errorf("%w: L2: %w", ErrLaw, f)
	}
	return fmt.Errorf("%w: L5: %w", ErrLaw, f)
}

// pieces are the lengths of the chunks of c, each lengthened until it ends in no span.
func pieces(c Case, split func(n int) []int) []int {
	if split == nil {
		return []int{len(c.Input)}
	}
	var out []int
	from, at, k := 0, 0, 0
	for _, n := range split(len(c.Input)) {
		at += n
		for k < len(c.Spans) && int(c.Spans[k].Off+c.Spans[k].Len) <= at {
			k++
		}
		if k < len(c.Spans) && int(c.Spans[k].Off) < at {
			continue
		}
		if at > from {
			out = append(out, at-from)
			from = at
		}
	}
	if from < len(c.Input) {
		out = append(out, len(c.Input)-from)
	}
	return out
}

// within are the spans of [pos, pos+n), relative to pos.
func within(spans []record.Span, pos, n int) []record.Span {
	var out []record.Span
	for _, sp := range spans {
		if int(sp.Off) >= pos && int(sp.Off+sp.Len) <= pos+n {
			out = append(out, record.Span{Off: sp.Off - uint32(pos), Len: sp.Len, Token: sp.Token})
		}
	}
	return out
}

// guarded gives a guest private copies of its input and spoils them afterwards, so that a guest that
// keeps or changes bytes is found.
type guarded struct {
	guest   host.Guest
	buf     []byte
	spans   []record.Span
	ignored bool // records were emitted that a host of version 1 skips
	err     error
}

func (w *guarded) Template() []byte { return w.guest.Template() }

func (w *guarded) Start(window, start []byte) error {
	b := append([]byte(nil), start...)
	err := w.guest.Start(window, b)
	spoil(b)
	return err
}

func (w *guarded) Feed(c *host.Call) error { return w.call(c, w.guest.Feed) }

func (w *guarded) Finish(c *host.Call, why abi.Why) error {
	return w.call(c, func(c *host.Call) error { return w.guest.Finish(c, why) })
}

func (w *guarded) call(c *host.Call, f func(*host.Call) error) error {
	in, spans := c.In, c.Spans
	w.buf = append(w.buf[:0], in...)
	w.spans = append(w.spans[:0], spans...)
	c.In, c.Spans = w.buf, w.spans
	err := f(c)
	if w.err == nil && (!bytes.Equal(w.buf, in) || !slices.Equal(w.spans, spans)) {
		w.err = fmt.Errorf("%w: L5: the guest wrote on its input %q", ErrLaw, in)
	}
	spoil(w.buf)
	c.In, c.Spans = in, spans
	for _, r := range c.Records {
		w.ignored = w.ignored || r.Kind >= record.KindIgnored
	}
	return err
}

func spoil(b []byte) {
	for i := range b {
		b[i] = 0xA5
	}
}

// delivery is one record as the host got it.
type delivery struct {
	kind record.Kind
	n    int // bytes
	fed  int // bytes of the input fed when it came
}

// tracer is the sink that writes a trace. It only ever appends, and merges like with like, so equal
// traces of two runs mean that no delta of either would have to be taken back.
type tracer struct {
	accept  []string
	lax     bool // the guest is hostile: its grammar is not checked
	grammar grammar
	lines   []line
	all     []byte // bytes of all records
	pending bool   // a call_begin whose name has not come
	weak    bool
	early   []line // ids that came before the name
	log     []delivery
	fed     int
}

// line is one merged block; detail are the flags that a trace does not show and that must still agree.
type line struct {
	head   string
	detail uint32
	text   []byte
	bare   bool // printed without its text
	closed bool // what follows does not merge
}

// Accept is the verdict on a name.
func (t *tracer) Accept(recs []record.Record, in []byte) bool {
	name := recs[len(recs)-1]
	return t.accept == nil || slices.Contains(t.accept, string(in[name.Ptr:name.Ptr+name.Len]))
}

// Record appends r to the trace and checks the grammar.
func (t *tracer) Record(r record.Record, b []byte) error {
	t.all = append(t.all, b...)
	t.log = append(t.log, delivery{kind: r.Kind, n: len(b), fed: t.fed})
	if !t.lax {
		if err := t.grammar.record(r); err != nil {
			return err
		}
	}
	if t.pending && r.Kind != record.Marker && r.Kind != record.ID {
		t.named(r, b)
		if r.Kind == record.Name {
			return nil
		}
	}
	detail := uint32(r.Flags &^ (record.Fin | record.Malformed))
	switch r.Kind {
	case record.Text:
		t.content(textHead(r), b)
	case record.Reasoning:
		t.content("reasoning", b)
	case record.BlockEnd:
		t.bare("block_end")
	case record.Marker:
		t.marker(r, b)
	case record.CallBegin:
		t.pending, t.weak, t.early = true, r.Flags&record.Weak != 0, t.early[:0]
	case record.Name:
		t.whole("name", detail, b)
	case record.ID:
		if t.pending {
			t.early = append(t.early, line{head: "id", detail: detail, text: slices.Clone(b), closed: true})
			return nil
		}
		t.whole("id", detail, b)
	case record.Args:
		t.line([...]string{"args", "args/text", "args/auto"}[r.Aux], detail, b)
	case record.Key:
		t.whole("key", detail, b)
	case record.Value:
		t.line([...]string{"value/string", "value/json", "value/schema"}[r.Aux], detail, b)
		t.lines[len(t.lines)-1].closed = r.Flags&record.Fin != 0
	case record.Open:
		t.bare("open/" + containers[r.Aux])
	case record.Close:
		t.bare("close/" + containers[r.Aux])
	case record.CallEnd:
		t.bare([...]string{"end", "end/truncated"}[r.Aux])
	}
	return nil
}

var containers = [...]string{"object", "array", "auto"}

func textHead(r record.Record) string {
	head := [...]string{"text", "text/commentary", "text/final"}[r.Aux]
	if r.Flags&record.Malformed != 0 {
		head += "!"
	}
	return head
}

// named prints the pending call: r is its name, or what came before it.
func (t *tracer) named(r record.Record, b []byte) {
	head := "call"
	if t.weak {
		head = "call~"
	}
	if r.Kind == record.Name {
		t.whole(head, uint32(r.Flags), b)
	} else {
		t.bare(head + " ?")
	}
	t.lines = append(t.lines, t.early...)
	t.pending, t.early = false, nil
}

func (t *tracer) marker(r record.Record, b []byte) {
	if r.Flags&record.Junk != 0 {
		t.line("junk", uint32(r.Flags), b)
	}
	if r.Flags&record.EndTurn != 0 {
		t.bare("end_turn")
	}
}

// content is text or reasoning; an empty piece of it says nothing.
func (t *tracer) content(head string, b []byte) {
	if len(b) > 0 {
		t.line(head, 0, b)
	}
}

// line adds b to the last line where it is alike, else begins one.
func (t *tracer) line(head string, detail uint32, b []byte) {
	if i := len(t.lines) - 1; i >= 0 {
		l := &t.lines[i]
		if !l.closed && !l.bare && l.head == head && l.detail == detail {
			l.text = append(l.text, b...)
			return
		}
	}
	t.lines = append(t.lines, line{head: head, detail: detail, text: slices.Clone(b)})
}

func (t *tracer) whole(head string, detail uint32, b []byte) {
	t.lines = append(t.lines, line{head: head, detail: detail, text: slices.Clone(b), closed: true})
}

func (t *tracer) bare(head string) {
	t.lines = append(t.lines, line{head: head, bare: true, closed: true})
}

func (t *tracer) trace() string { return t.render(false) }

// detailed is the trace with escapes and the like, for comparing runs.
func (t *tracer) detailed() string { return t.render(true) }

func (t *tracer) render(details bool) string {
	var out []byte
	for _, l := range t.lines {
		out = append(out, l.head...)
		if details && l.detail != 0 {
			out = fmt.Appendf(out, "+%#x", l.detail)
		}
		if !l.bare {
			out = append(out, ' ')
			out = strconv.AppendQuote(out, string(l.text))
		}
		out = append(out, '\n')
	}
	return string(out)
}
