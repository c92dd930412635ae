package shadow

import (
	"bytes"

	"github.com/weirgate/weir/abi/event"
)

// side is who gave an event.
type side uint8

const (
	first  side = iota // the parser whose events are sent
	second             // the shadow
)

// Bounds of what waits for the other side.
const (
	maxPending = 64 << 10 // bytes, each event counted with eventCost beside its own
	eventCost  = 32
	minCompact = 4 << 10 // bytes or events used up before the rest is moved down
)

// verdict is what an event came to.
type verdict uint8

const (
	agree   verdict = iota // or nothing is known yet
	differ                 // found is set
	surplus                // more waits than may
)

// waiting is an event that the other side has not given yet, or a piece of adjacent deltas. Its bytes stand
// in the comparer.
type waiting struct {
	kind event.Kind
	at   int // offset in the stream that its first byte came from
	n    int // bytes
}

// comparer compares two streams of events as far as both have come. Deltas that adjoin are one event, so
// that it does not matter how either side cut them. Memory is bounded by what one side is ahead.
type comparer struct {
	ahead   side // whose events wait
	queue   []waiting
	head    int // of queue: the first that waits
	bytes   []byte
	off     int        // of bytes: where those of the first begin
	matched int        // events that agree, a run of deltas from its first byte on
	run     event.Kind // of the deltas that were matched last; 0 after another event
	found   Difference // where they differ
}

func isDelta(k event.Kind) bool {
	return k == event.ReasoningDelta || k == event.TextDelta || k == event.ToolArgs
}

func (c *comparer) empty() bool { return c.head == len(c.queue) }

// add takes the next event of a side, with its text if it is a delta, else with its attributes.
func (c *comparer) add(from side, kind event.Kind, at int, b []byte) verdict {
	delta := isDelta(kind)
	for c.ahead != from && !c.empty() {
		w := &c.queue[c.head]
		other := c.bytes[c.off : c.off+w.n]
		if w.kind != kind || !delta && !bytes.Equal(other, b) {
			return c.differ(from, kind, at, b, 0)
		}
		if !delta {
			c.matched, c.run = c.matched+1, 0
			c.take(w.n)
			return agree
		}
		n := min(len(b), len(other))
		same := common(b[:n], other[:n])
		if same > 0 && c.run != kind {
			c.matched, c.run = c.matched+1, kind
		}
		if same < n {
			return c.differ(from, kind, at, b, same)
		}
		c.take(n)
		if b, at = b[n:], at+n; len(b) == 0 {
			return agree
		}
	}
	return c.wait(from, kind, at, b)
}

// take uses up n bytes of the first event that waits, and the event with its last one.
func (c *comparer) take(n int) {
	w := &c.queue[c.head]
	w.at, w.n, c.off = w.at+n, w.n-n, c.off+n
	if w.n > 0 {
		return
	}
	if c.head++; c.empty() {
		c.queue, c.head, c.bytes, c.off = c.queue[:0], 0, c.bytes[:0], 0
	}
}

// wait keeps an event until the other side has come as far.
func (c *comparer) wait(from side, kind event.Kind, at int, b []byte) verdict {
	if len(c.bytes)-c.off+len(b)+eventCost*(len(c.queue)-c.head+1) > maxPending {
		return surplus
	}
	c.ahead = from
	if c.off > minCompact && c.off > len(c.bytes)/2 {
		c.bytes, c.off = c.bytes[:copy(c.bytes, c.bytes[c.off:])], 0
	}
	if c.head > minCompact && c.head > len(c.queue)/2 {
		c.queue, c.head = c.queue[:copy(c.queue, c.queue[c.head:])], 0
	}
	c.bytes = append(c.bytes, b...)
	if n := len(c.queue); n > c.head && isDelta(kind) {
		if w := &c.queue[n-1]; w.kind == kind && w.at+w.n == at {
			w.n += len(b)
			return agree
		}
	}
	c.queue = append(c.queue, waiting{kind: kind, at: at, n: len(b)})
	return agree
}

// differ notes that an event is not the one that waits; same is how many of its bytes agree.
func (c *comparer) differ(from side, kind event.Kind, at int, b []byte, same int) verdict {
	w := c.queue[c.head]
	came, waited := place(kind, at, b, same), place(w.kind, w.at, c.bytes[c.off:c.off+w.n], same)
	c.found.Event = c.matched
	if c.run != 0 && (kind == c.run || w.kind == c.run) {
		c.found.Event--
	}
	if c.found.First, c.found.Second = came, waited; from == second {
		c.found.First, c.found.Second = waited, came
	}
	return differ
}

func place(kind event.Kind, at int, b []byte, same int) Place {
	p := Place{Kind: kind, At: at + same}
	if isDelta(kind) {
		p.Text = bytes.Clone(b[same:min(len(b), same+maxText)])
		return p
	}
	if n := bytes.IndexByte(b, separator); n >= 0 {
		text := b[n+1:]
		b, p.Text = b[:n], bytes.Clone(text[:min(len(text), maxText)])
	}
	p.Detail = string(b)
	return p
}

// common is the length of what two strings begin with alike.
func common(a, b []byte) int {
	if bytes.Equal(a, b) {
		return len(a)
	}
	n := 0
	for a[n] == b[n] {
		n++
	}
	return n
}

// separator stands between the attributes of an event, and first before what the conversation gave. It
// occurs in no text, which is UTF-8.
const separator = 0xff

// attributes appends what an event that is no delta is compared by. Ids are made up by either side, and
// indexes follow from the order.
func attributes(dst []byte, e *event.Event) []byte {
	switch e.Kind {
	case event.TextStart:
		return append(dst, e.Phase.String()...)
	case event.ReasoningEnd:
		return append(append(dst, separator), e.Seal...)
	case event.ToolStart:
		dst = append(append(dst, e.Call.Kind.String()...), separator)
		if dst = append(dst, e.Call.Name...); e.Call.Namespace != "" {
			dst = append(append(dst, separator), e.Call.Namespace...)
		}
		return dst
	case event.ToolEnd:
		if e.Complete {
			return append(dst, "complete"...)
		}
		return append(dst, e.Cause...)
	case event.Finish:
		return append(append(append(dst, e.Reason...), separator), e.StopSequence...)
	}
	return dst
}
