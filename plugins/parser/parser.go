// Package parser is the composed parser of the built-in plugin: one reasoning stage and one grammar of
// tool calls in one guest.Program, with one state window and one pass over the bytes.
//
// The open config is {"reasoning": NAME, "tools": NAME, "markers": {TEXT: {"id": N|null, "textual": BOOL}}}.
// Names are those of Reasonings and Tools; an empty one leaves the stage out. A marker with an id counts
// where a span with this id covers it, and its text alone is data, unless it is textual. A marker without
// an id, or that the config does not name, counts wherever its text stands. So a host whose engine does
// not name special tokens must leave the ids out, or say textual. The markers that end a turn count by
// span alone.
//
// White space: a run of it at the end of what is known is held, at most its last 32 bytes. If a marker or
// a call follows, it is markup, else content; at the end of the stream it is content.
//
// Quotes: a textual marker between two equal quote characters (`, " or ') is content. After such a
// character a marker waits for one more byte; at the end of the stream it is a marker. A textual opener of
// a call in a code span is content: behind an odd number of backticks on its line. So a call on a line of
// its own in a fenced block is a call. A marker that the engine names as a token is never quoted.
//
// Calls: only in a stream whose request has tools and does not forbid them; otherwise their markers are
// text. A call begins when its header is whole, at most abi.MaxHeader bytes; what does not become a header
// is content. An opener without a wrapper counts only where a line, a block or what follows a marker
// begins, but for white space. A call in open reasoning ends the reasoning, and is weak where its opener is
// mere text. After it text follows, and a closer of the reasoning that comes later is dropped. A call
// whose name the host refuses is text, all of it; in reasoning it stays reasoning. A closer of a wrapper
// is dropped after the wrapper's last call, and otherwise text.
//
// The end of the stream within a header gives text; within a call it ends the call as truncated, with no
// byte of a marker in its arguments, and a value that is open stays open.
package parser

import (
	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/record"
	"github.com/weirgate/weir/plugins/internal/grammar"
	"github.com/weirgate/weir/plugins/internal/match"
	"github.com/weirgate/weir/plugins/parser/think"
)

// turnEnds are stop tokens of the families, in case an engine delivers one.
var turnEnds = [...]string{"<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<SPECIAL_12>"}

// role is what a marker is for.
type role uint8

const (
	roleOpen role = iota
	roleClose
	roleCall
	roleCallClose
	roleEnd
)

// ofCalls reports a role that only streams with calls have.
func (r role) ofCalls() bool { return r == roleCall || r == roleCallClose }

// marker is one marker of the configured pair.
type marker struct {
	text   string
	id     uint32
	byID   bool
	byText bool
	role   role
	opener int // of roleCall: its index in the grammar's openers
	weak   bool
}

// mode is which part reads the next byte.
type mode uint8

const (
	scanning mode = iota // for a marker
	heading              // a header, scanned bytes ahead
	calling              // a call and its wrapper
)

// window is what differs between streams.
type window struct {
	call    grammar.State
	think   think.State
	lane    uint8  // index in Program.lanes of how the next input may be read
	scanned uint16 // bytes at the front in which no marker begins
	mode    mode
	marker  uint8 // of the header: index in Program.markers
	last    byte  // the byte before the front
	tools   bool  // calls are parsed
	weak    bool  // of the header
	mute    bool  // the region is text, since its call was refused
	owed    bool  // a wrapper's closer may come
	broken  bool  // text up to that closer is malformed
	code    bool  // an odd number of backticks stands before the front, on its line
	fresh   bool  // no content since the last marker or call, or since the start
}

// Program is the composed parser. It serves one call at a time, like every guest.Program.
type Program struct {
	window   window
	template window
	think    *think.Config
	grammar  grammar.Grammar
	markers  []marker
	byText   [2]*match.Set // textual markers without and with those of tools
	ids      [2][]uint8    // their indices in markers
	lanes    [lanes]lane
	spanned  bool // some marker counts by span
	in       grammar.Input
	spans    []record.Span
}

// New returns a parser that is not open yet.
func New() *Program { return &Program{} }

// Manifest implements guest.Program.
func (p *Program) Manifest() string { return Manifest() }

// Window implements guest.Program.
func (p *Program) Window() []byte { return guest.WindowOf(&p.window) }

// Open implements guest.Program.
func (p *Program) Open(doc []byte) error {
	c, err := parseConfig(doc)
	if err != nil {
		return err
	}
	var ok bool
	if p.think, ok = reasoning(c.reasoning); !ok {
		return errReasoning
	}
	if p.grammar, ok = callGrammar(c.tools); !ok {
		return errTools
	}
	p.compile(&c)
	p.template = window{tools: p.grammar != nil, think: think.State{Edge: true}, fresh: true}
	if p.think != nil {
		p.template.think = p.think.Start(guest.Start{})
	}
	p.window = p.template
	return nil
}

// compile makes the tables of markers.
func (p *Program) compile(c *config) {
	p.markers = p.markers[:0]
	if p.think != nil {
		p.markers = append(p.markers, marker{text: p.think.Open, role: roleOpen}, marker{text: p.think.Close, role: roleClose})
	}
	if p.grammar != nil {
		for i, o := range p.grammar.Openers() {
			p.markers = append(p.markers, marker{text: o.Text, role: roleCall, opener: i, weak: o.Weak})
		}
		for _, t := range p.grammar.Closers() {
			p.markers = append(p.markers, marker{text: t, role: roleCallClose})
		}
	}
	for _, t := range turnEnds {
		p.markers = append(p.markers, marker{text: t, role: roleEnd})
	}
	p.spanned = false
	var texts [2][]string
	p.ids = [2][]uint8{}
	for i := range p.markers {
		m := &p.markers[i]
		m.byText = m.role != roleEnd
		for _, e := range c.markers {
			if e.text == m.text && e.hasID {
				m.id, m.byID, m.byText = e.id, true, e.textual
				p.spanned = true
			}
		}
		if !m.byText {
			continue
		}
		for k := range texts {
			if k == 1 || !m.role.ofCalls() {
				texts[k] = append(texts[k], m.text)
				p.ids[k] = append(p.ids[k], uint8(i))
			}
		}
	}
	for k := range texts {
		p.byText[k] = match.New(texts[k]...)
	}
	p.byText[1].Watch('`')
	p.lanes = p.makeLanes()
}

// Start implements guest.Program.
func (p *Program) Start(s guest.Start) error {
	p.window = p.template
	p.window.tools = p.grammar != nil && s.Tools && s.Choice != guest.ChoiceNone
	if p.think != nil {
		p.window.think = p.think.Start(s)
	}
	return nil
}

// Finish implements guest.Program.
func (p *Program) Finish(in *guest.Input, _ abi.Why, out *guest.Out) { p.run(in, true, true, out) }

// run reads in. With decided nothing that is not whole can still become a marker; with final nothing
// follows at all.
func (p *Program) run(in *guest.Input, decided, final bool, out *guest.Out) {
	w := &p.window
	p.in.Bytes, p.in.Out, p.in.Refused, p.in.Decided, p.in.Final = in.Bytes, out, -1, decided, final
	p.spans = in.Spans
	if len(in.Spans) > 0 {
		for _, s := range in.Spans {
			if s.Token == abi.RefusedToken {
				p.in.Refused = max(p.in.Refused, int(s.Off))
			}
		}
	}
	for again := true; again; {
		switch w.mode {
		case scanning:
			again = p.scan(decided)
		case heading:
			again = p.header(decided)
		default:
			again = p.body()
		}
	}
	if n := out.Pos(); n > 0 {
		w.last = in.Bytes[n-1]
	}
	w.lane = p.lane()
}

// header goes on with a header; its opener was found.
func (p *Program) header(decided bool) bool {
	w := &p.window
	m := &p.markers[w.marker]
	h := grammar.Header{Opener: m.opener, Size: len(m.text), Weak: w.weak}
	at := p.in.Out.Pos() + int(w.scanned)
	v := p.grammar.Header(&w.call, h, p.in.Bytes[at:])
	mute := at <= p.in.Refused
	switch {
	case v == grammar.More && !decided:
		return false
	case v == grammar.Void:
		p.in.Mute = false
		p.in.Marker(int(w.scanned))
		p.grammar.Begin(&w.call, h, &p.in)
		w.mode, w.scanned, w.fresh, w.code = scanning, 0, true, false
		return true
	case v == grammar.More, v == grammar.No, mute && w.think.In:
		w.mode = scanning
		w.scanned++
		return true
	}
	p.in.Mute = mute
	p.in.Marker(int(w.scanned))
	if mute {
		w.think.Wrote(true)
	} else {
		w.think.Called()
		w.owed, w.broken = false, false
	}
	w.scanned = 0
	p.grammar.Begin(&w.call, h, &p.in)
	w.mode, w.mute = calling, mute
	return mute
}

// body goes on with a call.
func (p *Program) body() bool {
	w := &p.window
	p.in.Mute, p.in.Last = w.mute, grammar.Nothing
	next := p.grammar.Body(&w.call, &p.in)
	w.mute = p.in.Mute
	switch p.in.Last {
	case grammar.Wrote:
		w.think.Wrote(true)
	case grammar.Began:
		w.think.Called()
	}
	switch next {
	case grammar.Hold, grammar.Named:
		return false
	}
	w.mode, w.scanned = scanning, 0
	w.fresh, w.code = !w.mute, false
	w.owed = next != grammar.Leave
	w.broken = next == grammar.Broken
	return true
}
