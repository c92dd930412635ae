package ledger

import (
	"hash/maphash"
	"strings"
)

// maxTail bounds the bytes that are kept of what follows a prompt's last part. More than a generation
// prompt has never been seen there; of a longer tail nothing is known.
const maxTail = 1 << 10

// maxOrdinal bounds what is kept of a part's numbers.
const maxOrdinal = 1<<31 - 1

// part is what is kept of a Part.
type part struct {
	canonical uint64 // of what the conversation holds
	rendered  uint64 // of the bytes in the prompt; 0 when there are none
	gap       uint64 // of the template's bytes before it; 0 when unknown
	name      string
	start     uint32
	end       uint32
	message   uint32
	part      uint32
	kind      Kind
	flags     Flags
}

const partBytes = 64 // of a part in memory

func (p *part) empty() bool { return p.rendered == 0 }

func (p *part) is(q *Part) bool {
	return p.kind == q.Kind && p.message == ordinal(q.Message) && p.part == ordinal(q.Part)
}

func ordinal(n int) uint32 { return uint32(max(0, min(n, maxOrdinal))) }

// digest is what is kept of the parts of a text.
type digest struct {
	parts  []part
	tail   string // what follows the last part, a copy
	closed bool   // tail is known
}

// digestOf reads the parts of text. before is what the template had put in front of it: the tail of a
// prompt, for its answer; base is added to the ranges.
func digestOf(seed maphash.Seed, text string, given []Part, before string, base int) digest {
	d := digest{parts: make([]part, 0, len(given)+spareParts)}
	var p part
	at := 0 // end of the last part with bytes
	for len(given) > 0 {
		if given[0].Kind == Template {
			given = given[1:]
			continue
		}
		start, end, n := p.join(given)
		given = given[n:]
		switch {
		case end <= start: // not in the prompt
			d.parts = append(d.parts, p)
			continue
		case text == "":
			p.rendered = p.canonical
		case start < at || end > len(text):
			continue
		default:
			p.rendered = sum(seed, text[start:end])
			gap := text[at:start]
			if before != "" {
				gap, before = before+gap, ""
			}
			p.gap, at = sum(seed, gap), end
		}
		if p.canonical == 0 {
			p.canonical = p.rendered
		}
		if p.empty() { // neither text nor hash: nothing can be told by it
			continue
		}
		p.start, p.end = ordinal(base+start), ordinal(base+end)
		d.parts = append(d.parts, p)
	}
	if tail := text[at:]; len(tail) <= maxTail {
		d.tail, d.closed = strings.Clone(tail), true
	}
	return d
}

// join makes p of the first of given, which is none of the template's, and those after it that are runs of the same
// part, with the template's between them. It returns their range and how many it took.
func (p *part) join(given []Part) (start, end, n int) {
	g := &given[0]
	*p = part{canonical: g.Canonical, name: g.Name, message: ordinal(g.Message), part: ordinal(g.Part), kind: g.Kind, flags: g.Flags}
	start, end, n = g.Start, g.End, 1
	if end <= start {
		return start, end, n
	}
	for ; n < len(given); n++ {
		g := &given[n]
		if g.Kind == Template {
			continue
		}
		if g.End <= g.Start || !p.is(g) {
			break
		}
		end = max(end, g.End)
		p.flags |= g.Flags
		if p.canonical == 0 {
			p.canonical = g.Canonical
		}
	}
	return start, end, n
}
