package assemble

import (
	"strconv"
	"unicode/utf8"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/abi/record"
	"github.com/weirgate/weir/gateway/internal/assemble/internal/unescape"
)

// Limits of a call whose start has not left.
const (
	maxUnstarted = abi.MaxEarlyArgs + 4*abi.MaxHeader // raw bytes
	maxEarly     = 1 << 16                            // records
	maxID        = 4 * abi.MaxHeader
)

// class is how the arguments of a call are written.
type class uint8

const (
	noArgs   class = iota
	jsonArgs       // JSON text, passed through
	rawArgs        // a custom tool's input
	keyArgs        // keys and values
)

// call is the open call. Its ToolStart leaves with the first record that shows that the header is over,
// so that a native id which follows the name is known; until then it can still be given back as text.
type call struct {
	weak     bool
	named    bool
	started  bool // ToolStart has left
	returned bool // its bytes are text
	bad      bool // its arguments cannot become whole
	class    class
	tool     *tool
	info     event.Call
	id       []byte          // native
	raw      []byte          // what the model wrote; after the start only with KeepRaw
	space    int             // bytes of raw that stand before the opener
	early    []record.Record // content that came before the name, in raw
	kept     []byte          // arguments, for a dispatch
	tooLong  bool            // for a dispatch
	lost     lost
	json     jsonState
	custom   *customState // of the turn's first custom tool on
}

// space is the white space before the opener of a call, which the parser counts to the opener. It comes
// back with a call that is given back as text; what follows the closer of a reasoning block is the
// closer's own and does not.
type space struct {
	owned bool // a call came before
	n     uint8
	bytes [abi.MaxSpace]byte
}

// marker adds a marker: the white space at the end of all that follow each other counts.
func (s *space) marker(b []byte) {
	for _, c := range b {
		switch {
		case !isSpace(c):
			s.n = 0
		case s.n < abi.MaxSpace:
			s.bytes[s.n] = c
			s.n++
		default:
			copy(s.bytes[:], s.bytes[1:])
			s.bytes[s.n-1] = c
		}
	}
}

func (a *Assembler) beginCall(weak bool) {
	if a.inCall == nil {
		a.inCall = &inCall{}
	}
	a.open = true
	c := &a.call
	before := c.lost.before
	*c = call{weak: weak, id: c.id[:0], raw: c.raw[:0], early: c.early[:0], kept: c.kept[:0], json: c.json, custom: c.custom}
	c.json.reset()
	c.lost.before = before[:0]
	if a.space.owned || a.block == event.TextStart {
		c.raw = append(c.raw, a.space.bytes[:a.space.n]...)
		c.space = len(c.raw)
	}
	a.space = space{}
	a.params.reset()
	a.value.mode = idle
	a.value.fix.drop()
}

// keep keeps the raw bytes of the open call. One that grows too long before it starts becomes text.
func (a *Assembler) keep(b []byte) error {
	c := &a.call
	if c.started {
		if room := maxRaw - len(c.raw); a.opt.KeepRaw && room > 0 {
			c.raw = append(c.raw, b[:min(room, len(b))]...)
		}
		return nil
	}
	if c.raw = append(c.raw, b...); len(c.raw) > maxUnstarted {
		return a.giveBack()
	}
	return nil
}

// giveBack makes text of the open call, of which no event has left.
func (a *Assembler) giveBack() error {
	c := &a.call
	c.returned = true
	a.stats.Returned++
	raw := c.raw
	c.raw, c.early = c.raw[:0], c.early[:0]
	return a.text(raw, a.textPhase())
}

// callRecord takes a record while a call is open.
func (a *Assembler) callRecord(r record.Record, b []byte) error {
	c := &a.call
	switch r.Kind {
	case record.Text, record.Reasoning, record.CallBegin: // the parser is gone, or lost its way
		if err := a.endCall(false, event.CauseTruncated); err != nil {
			return err
		}
		return a.Record(r, b)
	}
	if c.returned {
		a.open = r.Kind != record.CallEnd
		return a.text(b, a.textPhase())
	}
	content := r.Kind >= record.Args && r.Kind <= record.Close
	if content && c.named {
		err := a.content(r, b)
		switch {
		case err != nil:
			return err
		case c.lost.yes:
			return a.breakOff(b)
		}
		return a.keep(b)
	}
	at := len(c.raw)
	if err := a.keep(b); err != nil {
		return err
	}
	if c.returned {
		a.open = r.Kind != record.CallEnd
		return nil
	}
	switch {
	case content:
		r.Ptr, r.Len = uint32(at), uint32(len(b))
		if !c.hold(r) {
			return a.giveBack()
		}
	case r.Kind == record.Marker:
		if r.Flags&record.Junk != 0 {
			a.stats.Junk += len(b)
		}
		if r.Flags&record.InID != 0 {
			c.addID(b)
		}
	case r.Kind == record.ID:
		a.nativeID(r, b)
	case r.Kind == record.Name:
		return a.name(r, b)
	case r.Kind == record.CallEnd:
		return a.endCall(r.Aux == record.CallComplete, a.cut)
	}
	return nil
}

// hold keeps a record for the time when the name is known. Pieces of one value are one record again, so
// that the bound does not depend on how they were cut.
func (c *call) hold(r record.Record) bool {
	if n := len(c.early); n > 0 {
		last := &c.early[n-1]
		piece := r.Kind == record.Args || r.Kind == record.Value && last.Flags&record.Fin == 0
		if piece && last.Kind == r.Kind && last.Aux == r.Aux && last.Ptr+last.Len == r.Ptr {
			last.Len += r.Len
			last.Flags |= r.Flags
			return true
		}
	}
	c.early = append(c.early, r)
	return len(c.early) < maxEarly
}

func (c *call) addID(b []byte) {
	c.id = append(c.id, b[:min(len(b), maxID-len(c.id))]...)
}

func (a *Assembler) nativeID(r record.Record, b []byte) {
	if r.Flags&record.InID == 0 {
		a.call.id = a.call.id[:0]
	}
	a.tmp = unescapeWhole(a.tmp[:0], b, r.Flags)
	a.call.addID(a.tmp)
}

func unescapeWhole(dst, b []byte, esc record.Flags) []byte {
	if esc&record.EscMask == record.EscNone {
		return append(dst, b...)
	}
	return unescape.Whole(dst, b, esc)
}

// name takes the call's name, and then what was held for it.
func (a *Assembler) name(r record.Record, b []byte) error {
	c := &a.call
	if c.named {
		a.stats.Strays++
		c.bad = true
		return nil
	}
	a.tmp = unescapeWhole(a.tmp[:0], b, r.Flags)
	if !a.setName(a.tmp) {
		return a.giveBack()
	}
	if r.Flags&record.InID != 0 {
		c.addID(a.tmp)
	}
	raw := c.raw
	for _, e := range c.early {
		if err := a.content(e, raw[e.Ptr:e.Ptr+e.Len]); err != nil {
			return err
		}
		if c.lost.yes {
			at := int(e.Ptr+e.Len) - c.lost.n
			if a.opt.KeepRaw {
				c.raw = raw[c.space:at:at]
			}
			return a.breakAt(raw[at:])
		}
	}
	c.early = c.early[:0]
	return nil
}

// setName resolves the name; false means that it may not be called.
func (a *Assembler) setName(name []byte) bool {
	c := &a.call
	t, ok := a.verdict(name, c.weak)
	if !ok {
		return false
	}
	c.named, c.tool = true, t
	if t == nil {
		c.info.Name = string(name)
		return true
	}
	c.info.Name, c.info.Namespace = t.def.Name, t.def.Namespace
	return true
}

// kind is what the call is when its arguments do not tell.
func (c *call) kind() event.ToolKind {
	if c.tool == nil {
		return event.Function
	}
	switch c.tool.def.Kind {
	case conv.Custom:
		return event.Custom
	case conv.ToolSearch:
		return event.ToolSearch
	}
	return event.Function
}

// start emits ToolStart, once.
func (a *Assembler) start(kind event.ToolKind) error {
	c := &a.call
	if c.started {
		return nil
	}
	if err := a.closeBlock(); err != nil {
		return err
	}
	c.started = true
	c.info.Index, c.info.Kind, c.info.ID = a.stats.Calls, kind, a.newID(c.id)
	a.stats.Calls++
	if c.raw = c.raw[c.space:]; !a.opt.KeepRaw {
		c.raw = c.raw[:0]
	}
	return a.emit(event.Event{Kind: event.ToolStart, Call: c.info})
}

// newID makes an id that no other call of the turn has.
func (a *Assembler) newID(native []byte) string {
	if !utf8.Valid(native) {
		native = nil
	}
	id := string(native)
	if a.opt.ID != nil {
		id = a.opt.ID(id)
	}
	for try := 0; ; try++ {
		if id == "" {
			id = a.plainID()
		}
		if !a.taken(id) {
			break
		}
		switch {
		case try == 0 && a.opt.ID != nil:
			id = a.opt.ID("")
		case try <= 1:
			id = a.plainID()
		default:
			id = a.plainID() + "_" + strconv.Itoa(try)
		}
	}
	switch {
	case a.stats.Calls == 0:
		a.firstID = id
		return id
	case a.ids == nil:
		a.ids = make(map[string]struct{})
	}
	a.ids[id] = struct{}{}
	return id
}

func (a *Assembler) plainID() string { return "call_" + strconv.Itoa(a.stats.Calls) }

func (a *Assembler) taken(id string) bool {
	_, later := a.ids[id]
	return later || a.stats.Calls > 0 && id == a.firstID
}

// content takes a piece of the arguments of a named call.
func (a *Assembler) content(r record.Record, b []byte) error {
	c := &a.call
	if r.Kind == record.Args {
		if c.class == keyArgs {
			a.stats.Strays++
			c.bad = true
			return nil
		}
		return a.args(r.Aux, b)
	}
	if c.class != noArgs && c.class != keyArgs {
		a.stats.Strays++
		c.bad = true
		return nil
	}
	c.class = keyArgs
	if err := a.start(c.kind()); err != nil || c.bad {
		return err
	}
	return a.param(r, b)
}

// emitArgs emits argument bytes as far as their characters are whole.
func (a *Assembler) emitArgs(b []byte) error { return a.sendArgs(a.fix.feed(b)) }

func (a *Assembler) sendArgs(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	c := &a.call
	if a.opt.Dispatch && !c.tooLong {
		if len(c.kept)+len(b) > maxDispatch {
			c.kept, c.tooLong = nil, true
		} else {
			c.kept = append(c.kept, b...)
		}
	}
	return a.emit(event.Event{Kind: event.ToolArgs, Text: b})
}

// endCall ends the open call. complete is what the parser says; cause tells why it is not.
func (a *Assembler) endCall(complete bool, cause event.Cause) error {
	c := &a.call
	a.open = false
	if c.returned {
		return nil
	}
	a.space = space{owned: true}
	if !c.named || !complete && !c.started {
		return a.giveBack()
	}
	if err := a.start(c.kind()); err != nil {
		return err
	}
	if complete {
		whole, err := a.endArgs()
		if err != nil {
			return err
		}
		complete, c.bad = whole && !c.bad, c.bad || !whole
	}
	if err := a.sendArgs(a.fix.flush()); err != nil {
		return err
	}
	end := event.Event{Kind: event.ToolEnd, Call: c.info, Complete: complete}
	if !complete {
		a.stats.Incomplete++
		if end.Cause = cause; c.bad && cause != event.CauseFault {
			end.Cause = event.CauseMalformed
		}
		if a.opt.KeepRaw {
			raw, replaced := repaired(c.raw)
			end.Text = raw
			a.fix.replaced += replaced
		}
		return a.emit(end)
	}
	if err := a.emit(end); err != nil {
		return err
	}
	a.ended = a.ended || !a.opt.Choice.Parallel
	if !a.opt.Dispatch || c.tooLong {
		return nil
	}
	info := c.info
	info.Arguments = c.kept
	return a.emit(event.Event{Kind: event.Dispatch, Call: info})
}

// endArgs writes what a complete call still lacks, and tells whether its arguments are whole.
func (a *Assembler) endArgs() (bool, error) {
	switch a.call.class {
	case rawArgs:
		return a.endCustom()
	case keyArgs:
		if a.call.kind() == event.Custom {
			return true, nil
		}
		return a.endParams()
	}
	if a.call.info.Kind == event.Custom {
		return true, nil
	}
	return a.endJSON()
}
