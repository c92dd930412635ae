package kit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/guesttest"
	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/abi/record"
)

// together is how many streams take turns.
const together = 8

// interleaved is L8: streams that take turns on the same instances give what each gives alone.
func (k *laws) interleaved(cases []guesttest.Case) {
	if k.parser.Sticky() {
		return
	}
	for from := 0; from < len(cases); from += together {
		streams := k.openTurns(cases[from:min(from+together, len(cases))], uint64(from))
		for busy := true; busy; {
			busy = false
			for _, t := range streams {
				busy = t.step() || busy
			}
		}
		for _, t := range streams {
			if f := t.stream.Fault(); f != nil {
				k.fault("L8", f, t.c, nil)
				return
			}
			alone, _, ok := k.run("L8", nil, t.c, guesttest.Whole)
			if !ok {
				return
			}
			k.runs["L8"]++
			if text := differ(t.seen.pieces, alone.pieces); text != "" {
				k.fail("L8", t.c, nil, fmt.Sprintf("between %d other streams: %s%s", len(streams)-1, text, outside("L8")))
			}
		}
	}
}

// openTurns begins a stream for each case that has no spans.
func (k *laws) openTurns(cases []guesttest.Case, seed uint64) []*turns {
	var streams []*turns
	for _, c := range cases {
		if c.Raw || len(c.Spans) > 0 {
			continue
		}
		if !c.Start.Tools && c.Want == "" {
			c.Start = guest.Start{Tools: true}
		}
		t := &turns{c: c, seen: &observer{guest: k.parser, accept: c.Accept}, cut: guesttest.Random(seed)(len(c.Input))}
		var err error
		if t.stream, err = host.Open(t.seen, verdict(c.Accept), c.Start.Append(nil)); err != nil {
			k.blame("L8", err, c, nil)
			return nil
		}
		streams = append(streams, t)
	}
	return streams
}

// turns is a stream that is fed piece by piece.
type turns struct {
	c      guesttest.Case
	seen   *observer
	stream *host.Stream
	cut    []int
	at     int
	over   bool
}

// step feeds one piece, or finishes; false when it is over.
func (t *turns) step() bool {
	if t.over {
		return false
	}
	if len(t.cut) == 0 {
		why := t.c.Why
		if why == abi.WhyUnknown {
			why = abi.WhyStop
		}
		_ = t.stream.Finish(why) // the sink has no errors
		t.over = true
		return false
	}
	_ = t.stream.Feed([]byte(t.c.Input[t.at:t.at+t.cut[0]]), nil, false)
	t.at += t.cut[0]
	t.cut = t.cut[1:]
	return true
}

// Bounds of L4.
const (
	linearSize  = 32 << 10
	linearBound = 2.2 // times the work for twice the input
	linearAgain = 3   // times that a measurement beyond the bound is done again
)

// linear is L4, measured in instructions: twice the input takes about twice as many. Without a meter there is
// nothing to see.
func (k *laws) linear(cases []guesttest.Case) {
	texts := []long{{"text", "", "a plain word "}, {"openers", "", "<["}, {"characters", "", "→😀"}}
	for _, c := range cases {
		// A block or a call that is left open, and then goes on for long.
		if i := strings.LastIndexAny(c.Input, "{\""); i > 0 && len(c.Spans) == 0 && len(texts) < k.effort.long {
			texts = append(texts, long{"behind " + c.Name, c.Input[:i+1], `word \" <`})
		}
	}
	for _, l := range texts {
		once, twice := k.fuel(l, linearSize), k.fuel(l, 2*linearSize)
		// A collector of garbage may have run in one of the two: what comes again is the parser's own.
		for n := 0; n < linearAgain && beyond(once, twice) && !k.tired(); n++ {
			once, twice = min(once, k.fuel(l, linearSize)), min(twice, k.fuel(l, 2*linearSize))
		}
		if once <= 0 || twice <= 0 {
			continue
		}
		k.runs["L4"]++
		if beyond(once, twice) {
			k.fail("L4", l.asCase(), nil, fmt.Sprintf("%d bytes take %d instructions, twice as many bytes %.2f times that; at most %.1f", linearSize, once, float64(twice)/float64(once), linearBound))
			return
		}
	}
}

// beyond says that twice the input took too much more than the input once; 0 is a fault, which tells for itself.
func beyond(once, twice int64) bool { return once > 0 && float64(twice) > linearBound*float64(once) }

// long is an input of any length: a prefix, and then a unit over and over.
type long struct{ name, prefix, unit string }

func (l long) asCase() guesttest.Case {
	return guesttest.Case{Name: "long " + l.name, Input: l.prefix + l.unit + l.unit + ".."}
}

// fuel is what l takes with n bytes behind the prefix, in pieces of 16 bytes; 0 after a fault.
func (k *laws) fuel(l long, n int) int64 {
	g, closeStream, err := k.stream()
	if err != nil {
		return 0
	}
	defer closeStream()
	s, err := host.Open(g, discard{}, guest.Start{Tools: true}.Append(nil))
	if err != nil {
		return 0
	}
	text := []byte(l.prefix + strings.Repeat(l.unit, n/len(l.unit)))
	before := k.peaks.total
	for len(text) > 0 && s.Fault() == nil {
		m := min(16, len(text))
		_ = s.Feed(text[:m], nil, false)
		text = text[m:]
	}
	_ = s.Finish(abi.WhyStop)
	if f := s.Fault(); f != nil {
		k.fault("L4", f, l.asCase(), nil)
		return 0
	}
	return k.peaks.total - before
}

// verdict drops records and accepts the names of a case.
type verdict []string

func (v verdict) Accept(recs []record.Record, in []byte) bool {
	name := recs[len(recs)-1]
	return v == nil || slices.Contains(v, string(in[name.Ptr:name.Ptr+name.Len]))
}

func (verdict) Record(record.Record, []byte) error { return nil }
