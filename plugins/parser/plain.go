package parser

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/abi/record"
	"github.com/weirgate/weir/plugins/internal/grammar"
	"github.com/weirgate/weir/plugins/internal/match"
	"github.com/weirgate/weir/plugins/parser/think"
)

// lane is how input is read that changes nothing: content of an open block, or of an argument, in which no
// byte may mean something. Most feeds are of that kind. What they cost in a guest is branches and calls, so
// Feed reads a delta by the word and falls from top to bottom where nothing is in the way. All else is read
// the general way, which must come to the same.
type lane struct {
	stops match.Stops // bytes that may mean something
	set   *match.Set  // of markers that stops begin; nil where stops may be more
	under uint        // inputs must be shorter; 0 where nothing can be read
	blank byte        // an input needs a look at its end if its last byte is less
	space uint64      // a bit for each of those that is held where it ends the input
	most  int         // so many of them
	lines bool        // blanks at the end of what is delivered count for grammar.Common
	kind  record.Kind
	aux   uint32
}

// Lanes by index.
const (
	laneNone  = iota
	laneText  // content in a stream without calls
	laneProse // in one with calls, where a backtick means something
	laneCode  // behind a backtick, where a newline does too
	laneThink // the first of three more, for reasoning
	_
	_
	laneString // in a string of JSON arguments
	laneJSON   // elsewhere in them: general reads it
	laneRaw

	lanes = 16 // a power of two, so that an index needs no check
)

// makeLanes makes the lanes of a configuration.
func (p *Program) makeLanes() (l [lanes]lane) {
	const spaces = 1<<' ' | 1<<'\n' | 1<<'\t' | 1<<'\r'
	const unbounded = math.MaxInt32
	content := func(at int, set *match.Set, more ...byte) {
		stops, ok := set.Stops(more...)
		if !ok {
			return
		}
		if len(more) > 0 {
			set = nil
		}
		for i, kind := range [...]record.Kind{record.Text, record.Reasoning} {
			l[at+i*(laneThink-laneText)] = lane{
				stops: stops, set: set, under: unbounded, blank: ' ' + 1, space: spaces, most: abi.MaxSpace, kind: kind,
			}
		}
	}
	content(laneText, p.byText[0])
	content(laneProse, p.byText[1])
	content(laneCode, p.byText[1], '\n')
	stops, _ := match.NewStops(' ', '"', '\\')
	l[laneString] = lane{stops: stops, under: unbounded, kind: record.Args, aux: record.ArgsJSON}
	if p.grammar == nil || p.grammar.Tags() == nil {
		return l
	}
	set := p.grammar.Tags()
	if stops, ok := set.Stops(); ok {
		l[laneRaw] = lane{
			stops: stops, set: set, under: unbounded, blank: ' ' + 1, space: 1 << '\n', most: 1, lines: true,
			kind: record.Value, aux: record.ValueSchema,
		}
	}
	return l
}

// lane is the lane of the next input.
func (p *Program) lane() uint8 {
	w := &p.window
	if w.mode == calling && !w.mute {
		switch p.grammar.Plain(&w.call) {
		case grammar.JSON:
			return jsonLane(w)
		case grammar.Raw:
			return laneRaw
		}
		return laneNone
	}
	// What delivering content changes must be as if some had been delivered.
	at, last := uint8(laneText), think.Content
	if w.think.In {
		at, last = laneThink, think.Reasoning
	}
	if w.mode != scanning || w.fresh || w.broken || w.think.Edge || w.think.Newlines > 0 || w.think.Last != last {
		return laneNone
	}
	switch {
	case w.tools && w.code:
		at += laneCode - laneText
	case w.tools:
		at += laneProse - laneText
	}
	return at
}

// Feed implements guest.Program.
func (p *Program) Feed(in *guest.Input, out *guest.Out) {
	w, b := &p.window, in.Bytes
	n := len(b)
	l := &p.lanes[w.lane%lanes]
	// A word is read beyond the end of the input, where only the memory's end matters.
	if uint(n-1) >= l.under || cap(b) < 8 || in.Flags|uint32(len(in.Spans)) != 0 {
		p.general(in, out)
		return
	}
	var stops uint64
	if n > 8 {
		stops = l.search(b)
	} else {
		stops = l.stops.Marks(binary.LittleEndian.Uint64(b[:8])) << (uint(64-8*n) % 64)
	}
	if stops != 0 {
		p.stopped(l, stops, in, out)
		return
	}
	if b[n-1] < l.blank {
		p.ending(l, in, out)
		return
	}
	w.deliver(l, b[n-1], n, out)
}

// deliver emits n bytes, of which c is the last one and no blank, and holds none.
func (w *window) deliver(l *lane, c byte, n int, out *guest.Out) {
	w.last, w.scanned, w.call.Line = c, 0, false
	out.Emit(l.kind, 0, l.aux, n)
}

// search is not 0 if b, of more than a word, has a stop.
func (l *lane) search(b []byte) uint64 {
	for i := 0; i < len(b)-8; i += 8 {
		if m := l.stops.Marks(binary.LittleEndian.Uint64(b[i:])); m != 0 {
			return m
		}
	}
	return l.stops.Marks(binary.LittleEndian.Uint64(b[len(b)-8:])) // some bytes for the second time
}

// stopped is the rest of Feed for input with stops. In a delta they are looked at, since many mean nothing
// after all: escapes in a string, and "<" in code.
func (p *Program) stopped(l *lane, stops uint64, in *guest.Input, out *guest.Out) {
	b := in.Bytes
	n := len(b)
	if n > 8 {
		p.general(in, out)
		return
	}
	for stops >>= uint(64-8*n) % 64; stops != 0; stops &= stops - 1 {
		i := bits.TrailingZeros64(stops) / 8
		switch {
		case i+1 >= n:
		case l.set != nil && !l.set.Begins(b[i], b[i+1]):
			continue
		case l.kind == record.Args && b[i] == '\\' && jsonscan.IsEscape(b[i+1]):
			stops &^= 0x80 << uint(8*i+8)
			continue
		}
		p.general(in, out)
		return
	}
	if c := b[n-1]; c >= l.blank {
		p.window.deliver(l, c, n, out)
	} else {
		p.ending(l, in, out)
	}
}

// ending is the rest of Feed for input that ends in white space.
func (p *Program) ending(l *lane, in *guest.Input, out *guest.Out) {
	w, b := &p.window, in.Bytes
	n := len(b)
	for n > 0 && len(b)-n < l.most && b[n-1] <= ' ' && l.space>>b[n-1]&1 != 0 {
		n--
	}
	if n > 0 {
		w.last = b[n-1]
		w.call.Line = l.lines && grammar.Line(b[:n], w.call.Line)
		out.Emit(l.kind, 0, l.aux, n)
	}
	w.scanned = uint16(len(b) - n)
}

// general reads what no lane does. JSON that goes on is still dealt with here; what is behind it is not.
func (p *Program) general(in *guest.Input, out *guest.Out) {
	w := &p.window
	if (w.lane == laneString || w.lane == laneJSON) && in.Flags|uint32(len(in.Spans)) == 0 {
		n, status := w.call.JSON.Feed(in.Bytes)
		if n > 0 {
			w.last = in.Bytes[n-1]
			out.Emit(record.Args, 0, record.ArgsJSON, n)
		}
		if status == jsonscan.More {
			w.lane = jsonLane(w)
			return
		}
		if status == jsonscan.Done {
			p.grammar.Whole(&w.call)
		}
	}
	p.run(in, in.Flags&abi.FlagBoundary != 0, false, out)
}

func jsonLane(w *window) uint8 {
	if w.call.JSON.Plain() {
		return laneString
	}
	return laneJSON
}
