// Package wire writes turns as the model families do: the inverse of the parsers.
//
// A Style is one family's way: how it marks reasoning, how it writes calls, and what stands between two
// blocks. What differs between families lies in tables of styles (see reasoning.go and tools.go); the
// formats of calls are few, and each is written in one place.
//
// A parser gives back the blocks that were written, but for this: white space at the edge of a block next
// to a marker belongs to the marker, empty text and empty reasoning are nothing, and arguments come back
// as the same values, in formats without types as the tool's schema types them.
package wire

import (
	"fmt"
	"slices"
	"strings"
)

// Kind says which fields of a Block count.
type Kind uint8

// Kinds of blocks.
const (
	Reasoning Kind = 1 + iota // Text
	Text                      // Text
	Call                      // Name, Arguments, ID, Custom
)

// Block is one piece of an assistant's turn, in the order in which it was said.
type Block struct {
	Kind      Kind
	Text      string
	Name      string
	Arguments string // JSON object, or a custom tool's input as it is; blank means no arguments
	ID        string // counts in the formats whose calls carry one, where it has their form
	Custom    bool   // the input is raw text; written as the parameter "input", under which such tools are listed
}

// Style is a family's way of writing a turn. It is safe for concurrent use.
type Style struct {
	think *think // nil: the family does not reason
	calls *calls // nil: it calls nothing
	frame *frame // nil: text is not in messages of its own
}

// frame is how a format of messages writes text, and what stands between two messages.
type frame struct {
	begin   string // of the first message, where the prompt has not written it
	between string
	text    string // opens text
	comment string // opens text that something follows; empty: as text
	textEnd string
	end     string   // after the last message
	tokens  []string // markers that are tokens
}

// For returns the style of a pair of parser names; an empty one leaves its stage out. Beside the names
// that plugins/parser knows there are those of other families' formats. The error names what is unknown.
func For(reasoning, tools string) (*Style, error) {
	s := &Style{}
	if reasoning != "" {
		if s.think = findThink(reasoning); s.think == nil {
			return nil, fmt.Errorf("no way to write reasoning %q is known", reasoning)
		}
		s.frame = s.think.frame
	}
	if tools != "" {
		if s.calls = findCalls(tools); s.calls == nil {
			return nil, fmt.Errorf("no way to write calls %q is known", tools)
		}
		if s.calls.frame != nil {
			s.frame = s.calls.frame
		}
	}
	s.adapt()
	return s, nil
}

// adapt makes the stages fit where a family's white space depends on both.
func (s *Style) adapt() {
	if s.think == nil || s.calls == nil {
		return
	}
	if s.calls.tight && strings.HasPrefix(s.think.open, "<think>") {
		t := *s.think
		t.lead, t.open, t.close = "", "<think>", "</think>"
		s.think = &t
	}
	if s.think.near && s.calls.before == "\n\n" {
		c := *s.calls
		c.before = "\n"
		s.calls = &c
	}
}

// marks are the texts that are not content where they stand in content.
func (s *Style) marks() []string {
	var out []string
	if t := s.think; t != nil {
		out = appendMarks(out, t.open, t.close)
	}
	if c := s.calls; c != nil {
		for _, m := range append(c.grammar.marks(), c.open, c.close) {
			for line := range strings.Lines(m) { // each has a marker; brackets are JSON
				out = appendMarks(out, strings.TrimPrefix(strings.TrimSuffix(strings.TrimSpace(line), "["), "]"))
			}
		}
	}
	if f := s.frame; f != nil {
		out = appendMarks(out, f.begin, f.between, f.text, f.comment, f.textEnd, f.end)
	}
	return out
}

// Whole reports whether the style writes calls: without them a turn that has some cannot be written.
func (s *Style) Whole() bool { return s.calls != nil }

// Special lists the markers that are tokens in the family's vocabulary, so that an engine can name them.
func (s *Style) Special() []string {
	var out []string
	if t := s.think; t != nil {
		switch {
		case t.tokens != nil:
			out = appendMarks(out, t.tokens...)
		case !t.plain:
			out = appendMarks(out, t.open, t.close)
		}
	}
	if s.calls != nil {
		out = appendMarks(out, s.calls.tokens...)
	}
	if s.frame != nil {
		out = appendMarks(out, s.frame.tokens...)
	}
	return out
}

// appendMarks adds what is left of texts without the white space around them, each once.
func appendMarks(list []string, texts ...string) []string {
	for _, t := range texts {
		if t = strings.TrimSpace(t); len(t) > 1 && !slices.Contains(list, t) {
			list = append(list, t)
		}
	}
	return list
}

// Append appends the blocks as a model of the family would write them after a prompt that ends with tail,
// up to its stop token, which is not written. A tail that opened the thinking, or closed it, is gone on
// with. The error wraps ErrCannot and names the block that the format cannot say; then nothing is
// appended. It is about what the text alone tells: an engine that names its special tokens can say more.
func (s *Style) Append(dst []byte, tail string, blocks []Block) ([]byte, error) {
	if err := s.check(blocks); err != nil {
		return dst, err
	}
	return s.Write(dst, tail, blocks), nil
}

// Write is Append for turns that must be written whatever they are, as a prompt must show what was said:
// what the format cannot say stands there as near to it as it comes, and may be read as something else.
// Of a stage that is left out nothing is written.
func (s *Style) Write(dst []byte, tail string, blocks []Block) []byte {
	w := writer{Style: s, dst: dst, tail: s.state(tail)}
	last := len(blocks) - 1
	for ; last >= 0 && s.skips(&blocks[last]); last-- {
	}
	if last < 0 {
		return dst
	}
	if f := s.frame; f != nil && !strings.HasSuffix(tail, f.begin) {
		w.put(f.begin)
	}
	for i := range blocks[:last+1] {
		if b := &blocks[i]; !s.skips(b) {
			w.block(b, i == last)
		}
	}
	if w.prev == Call {
		w.put(s.calls.close)
	}
	if s.frame != nil {
		w.put(s.frame.end)
	}
	return w.dst
}

// skips reports a block of which nothing is written.
func (s *Style) skips(b *Block) bool {
	switch b.Kind {
	case Reasoning:
		return s.think == nil
	case Text:
		return b.Text == ""
	case Call:
		return s.calls == nil
	}
	return true
}

// state is where a prompt leaves the model.
type state uint8

const (
	unknown state = iota // the prompt does not tell
	outside              // reasoning is over, or there is none
	closed               // as outside, and the prompt ends with the closer
	inside               // in reasoning
	inText               // in a message of text
)

// state tells where tail leaves the model, by its last marker.
func (s *Style) state(tail string) state {
	if f := s.frame; f != nil && f.text != "" && strings.HasSuffix(tail, f.text) {
		return inText
	}
	if s.think == nil || s.think.close == "" {
		return outside
	}
	open := strings.LastIndex(tail, strings.TrimSpace(s.think.open))
	end := strings.LastIndex(tail, strings.TrimSpace(s.think.close))
	switch {
	case open > end:
		return inside
	case end < 0:
		return unknown
	case strings.HasSuffix(tail, strings.TrimSpace(s.think.close)):
		return closed
	}
	return outside
}

// writer writes one turn.
type writer struct {
	*Style
	dst  []byte
	tail state
	prev Kind // of the last block, 0 before the first
	n    int  // calls written
}

func (w *writer) put(s string) { w.dst = append(w.dst, s...) }

// block writes one block with what stands before it.
func (w *writer) block(b *Block, last bool) {
	going := false // the prompt has opened the block
	if w.prev == 0 {
		going = w.first(b.Kind)
	} else {
		w.gap(b.Kind)
	}
	switch b.Kind {
	case Reasoning:
		if !going {
			w.put(w.think.open)
		}
		w.put(b.Text)
		w.put(w.think.close)
	case Text:
		w.text(b.Text, going, last)
	case Call:
		if w.prev != Call {
			w.put(w.calls.open)
		}
		w.dst = w.calls.grammar.append(w.dst, w.n, b)
		w.n++
	}
	w.prev = b.Kind
}

// first brings what the prompt left open together with the first block: it goes on with it, or closes it.
func (w *writer) first(kind Kind) (going bool) {
	switch {
	case w.tail == inside && kind == Reasoning, w.tail == inText && kind == Text:
		return true
	case w.tail == inText:
		w.put(w.frame.textEnd)
	case w.tail == inside, w.tail == unknown && kind != Reasoning && w.think.inside:
		w.put(w.think.close)
	case w.tail == unknown && kind == Reasoning, w.tail == closed && kind != Reasoning:
		w.put(w.think.lead)
		if w.tail == closed && w.think.near && kind == Call {
			w.put("\n")
		}
	}
	return false
}

// gap writes what stands between the last block and one of this kind.
func (w *writer) gap(kind Kind) {
	if kind == Call && w.prev == Call {
		w.put(w.calls.sep)
		return
	}
	if w.prev == Call {
		w.put(w.calls.close)
	}
	switch {
	case w.frame != nil && w.frame.between != "":
		w.put(w.frame.between)
	case kind == Call:
		if w.prev == Text {
			w.put(w.calls.before)
		}
	case w.frame == nil && (w.prev == Text || w.prev == Call && kind == Reasoning):
		w.put("\n")
	}
}

// text writes text, in a message of its own where the format has them.
func (w *writer) text(s string, going, last bool) {
	f := w.frame
	if f == nil {
		w.put(s)
		return
	}
	switch {
	case going:
	case f.comment != "" && !last:
		w.put(f.comment)
	default:
		w.put(f.text)
	}
	w.put(s)
	w.put(f.textEnd)
}
