package openai

import (
	"bytes"

	"github.com/weirgate/weir/engines"
)

// maxIDs bounds the ids of one delta: a delta of 4 KB has fewer, but a server may send ids without text
// for as long as it likes.
const maxIDs = 16 << 10

// sampled gathers the ids of a delta.
type sampled struct {
	ids     []uint32
	unknown bool // some of the delta's tokens came without ids
}

func (s *sampled) reset() { s.ids, s.unknown = s.ids[:0], false }

// forget is reset for another stream.
func (s *sampled) forget() {
	if s.reset(); cap(s.ids) > maxIDs {
		s.ids = nil
	}
}

func (s *sampled) add(id uint32) {
	if len(s.ids) == maxIDs {
		s.unknown = true
		return
	}
	s.ids = append(s.ids, id)
}

// told returns the delta's ids if all of them are known.
func (s *sampled) told() []uint32 {
	if s.unknown || len(s.ids) == 0 {
		return nil
	}
	return s.ids
}

// stopKind is what a chunk says of the stop that matched.
type stopKind uint8

const (
	stopUnsaid stopKind = iota
	stopNull            // vLLM: the model's own end token, whose text it keeps to itself
	stopToken           // a token of that id
	stopText            // a stop string
)

// ending is the id of the token that ended the turn, which is none of its text. It is held back from the
// delta's ids: where more ids follow, it was none after all.
type ending struct {
	held bool
	id   uint32
}

// readIDs reads the ids of a chunk.
func (d *decoder) readIDs() error {
	raw, err := d.r.Raw()
	if err != nil {
		return err
	}
	d.layout.noteIDs(len(raw), d.r.Offset())
	if !d.takeIDs(raw[1 : len(raw)-1]) {
		d.plain = false
		d.a.sampled.unknown = true
	}
	return nil
}

// takeIDs takes the elements of a list of ids, and reports whether they are nothing else.
func (d *decoder) takeIDs(list []byte) bool {
	for len(list) > 0 {
		n := 0
		for n < len(list) && list[n] != ',' {
			n++
		}
		id, ok := number(bytes.TrimSpace(list[:n]))
		if !ok {
			return false
		}
		d.take(uint32(id))
		list = list[min(n+1, len(list)):]
	}
	return true
}

func (d *decoder) take(id uint32) {
	d.tokens++
	if d.end.held {
		d.end.held = false
		d.a.sampled.add(d.end.id)
	}
	d.a.sampled.add(id)
	if i, known := d.e.ids[id]; known {
		d.waiting = append(d.waiting, i)
	}
}

// settle judges the ids of a chunk once it was read.
func (d *decoder) settle(a *accum) {
	d.sampled += d.tokens
	if d.tokens == 0 && len(a.text) > d.from || d.fresh && d.sampled > 0 && d.usage.Output != d.sampled {
		a.sampled.unknown = true
	}
	last := len(a.sampled.ids) - 1
	if !d.ended || d.tokens == 0 || last < 0 || d.finish.Reason != engines.ReasonStop {
		return
	}
	id := a.sampled.ids[last]
	at, special := d.e.ids[id]
	hidden := special && len(d.waiting) > 0 && d.waiting[len(d.waiting)-1] == at
	switch {
	case d.stopped == stopText && (!hidden || d.special[at].Text != d.finish.Stop):
		// The ids go on to the end of a text that was cut before the stop string.
		a.sampled.unknown = true
	case d.stopped == stopToken && d.stopID != id, d.stopped == stopUnsaid && !hidden, special && !hidden:
	default:
		d.end = ending{held: true, id: id}
		a.sampled.ids = a.sampled.ids[:last]
	}
}
