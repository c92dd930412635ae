package ledger

import (
	"container/list"
	"slices"
	"strings"
	"sync"
)

// session holds the last prompts of a key.
type session struct {
	key Key
	cap int // prompts kept

	mu      sync.Mutex
	entries []*entry // oldest first; guarded by mu
	held    memory   // what entries take; guarded by mu
	last    uint64   // id of the last entry; guarded by mu

	// Guarded by the ledger's mu.
	elem    *list.Element
	cold    bool   // has no units, and stands in the list of those
	gone    bool   // evicted
	charged memory // what the ledger counts for it
}

// memory is bytes in use.
type memory struct{ units, rest int }

func (m memory) minus(o memory) memory { return memory{m.units - o.units, m.rest - o.rest} }
func (m memory) plus(o memory) memory  { return memory{m.units + o.units, m.rest + o.rest} }

// match is how much of a prompt an entry has.
type match struct {
	e      *entry // nil: nothing to compare with
	blocks int
	bytes  int // whole units
	exact  bool
}

// enter makes u, which has these hashes, an entry that is not yet kept: it compares with those that are there, and
// returns the best match. maxUnits bounds the bytes of units that are kept of it.
func (s *session) enter(u units, hashes []uint64, maxUnits int) (*entry, match) {
	e := &entry{width: u.width(), size: u.size(), prompt: u.size(), hashes: hashes}
	best := s.best(u, hashes)
	if best.e != nil {
		e.runs = best.e.share(best.blocks)
	}
	if shared := covered(e.runs); u.size()-shared <= maxUnits {
		s.grow(e, units{}.and(u.cut(shared, u.size())))
	} else {
		s.held.units -= release(e.runs)
		e.runs = nil
	}
	return e, best
}

// grow appends data to the units of e. The runs before it must be whole blocks.
func (s *session) grow(e *entry, data units) {
	n := data.size()
	if n == 0 {
		return
	}
	e.runs = append(e.runs, run{&segment{units: data, refs: 1}, n})
	s.held.units += n
}

// best finds the entry with the most of u, the newest of equals. One that begins with fewer blocks than the best so
// far has less of u, whatever follows them, and one that has as many must have the unit behind all that the best has.
// Most are told by that, for which little of them is looked at: they were last used many requests ago, and each look
// waits for memory.
func (s *session) best(u units, hashes []uint64) match {
	var best match
	for _, e := range slices.Backward(s.entries) {
		if best.e == nil {
			best = e.match(u, hashes, 0)
			continue
		}
		if e.width != u.width() || !e.begins(best.blocks, hashes) ||
			e.commonHashes(hashes, best.blocks) == best.blocks && !e.sameAt(best.bytes, u) {
			continue
		}
		if m := e.match(u, hashes, best.blocks); m.bytes > best.bytes {
			best = m
		}
	}
	return best
}

// match compares e with u, of which known blocks are known to be the same.
func (e *entry) match(u units, hashes []uint64, known int) match {
	m := match{e: e, exact: true}
	if e.width != u.width() {
		return m
	}
	m.blocks = e.commonHashes(hashes, known)
	m.bytes, m.exact = e.within(m.blocks, u)
	m.bytes += m.blocks * blockBytes
	return m
}

// keep adds e, which will take the place of old if that is not nil, and drops the oldest when there are too many.
func (s *session) keep(e, old *entry) {
	s.last++
	e.id = s.last
	if old != nil {
		e.replaces = old.id
	}
	s.held.rest += e.rest()
	if len(s.entries) >= s.cap {
		s.drop(0)
	}
	s.entries = append(s.entries, e)
}

func (s *session) drop(i int) {
	e := s.entries[i]
	s.held.units -= release(e.runs)
	s.held.rest -= e.rest()
	s.entries = slices.Delete(s.entries, i, i+1)
}

// forget drops the entry id, before it took another's place.
func (s *session) forget(id uint64) {
	if i := slices.IndexFunc(s.entries, func(e *entry) bool { return e.id == id }); i >= 0 {
		s.drop(i)
	}
}

// settle has e take the place of the entry that it makes needless.
func (s *session) settle(e *entry) {
	if old := e.replaces; old != 0 {
		e.replaces = 0
		s.forget(old)
	}
}

// strip gives up the units of all entries and returns what that frees. Their hashes still tell blocks.
func (s *session) strip() (freed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.entries {
		e.runs = nil
	}
	freed, s.held.units = s.held.units, 0
	return freed
}

// answer appends a to the entry id.
func (s *session) answer(id uint64, a *Answer, c *chain, maxUnits int) {
	i := slices.IndexFunc(s.entries, func(e *entry) bool { return e.id == id })
	if i < 0 {
		return
	}
	s.settle(s.entries[i])
	i = slices.IndexFunc(s.entries, func(e *entry) bool { return e.id == id })
	u := units{ids: a.IDs, text: a.Text}
	if u.size() == 0 || u.size() > maxUnits {
		return
	}
	e := s.entries[i]
	if e.answered || e.width != u.width() || e.runs == nil {
		return
	}
	s.held.rest -= e.rest()
	e.answered = true
	data := s.openBlock(e).and(u)
	e.size += u.size()
	s.grow(e, data)
	e.hashes = c.extend(e.hashes, data)
	d := digestOf(c.seed, a.Text, a.Parts, e.tail, e.length)
	for i := range d.parts {
		p := &d.parts[i]
		p.name = strings.Clone(p.name)
		e.names += len(p.name)
	}
	if first := slices.IndexFunc(d.parts, func(p part) bool { return !p.empty() }); first < 0 {
		d.tail, d.closed = e.tail+d.tail, e.closed && d.closed
	} else if !e.closed {
		d.parts[first].gap = 0
	}
	e.parts = append(e.parts, d.parts...)
	e.tail, e.closed = d.tail, d.closed
	e.length += len(a.Text)
	s.held.rest += e.rest()
}

// openBlock takes the block that is not whole off the end of e's runs and returns it.
func (s *session) openBlock(e *entry) units {
	n := e.size % blockBytes
	if n == 0 {
		return units{}
	}
	last := &e.runs[len(e.runs)-1]
	block := last.seg.cut(last.n-n, last.n)
	if last.n -= n; last.n == 0 {
		s.held.units -= release(e.runs[len(e.runs)-1:])
		e.runs = e.runs[:len(e.runs)-1]
	}
	return block
}

// takeNames makes the names of e's parts strings of their own, those of old where they are the same: a
// name is a piece of a whole request, which must not live as long.
func (e *entry) takeNames(old *entry) {
	last := "" // calls of one tool come one after the other
	for i := range e.parts {
		p := &e.parts[i]
		switch {
		case p.name == "":
			continue
		case p.name == last:
			p.name = last
		case old != nil && i < len(old.parts) && old.parts[i].name == p.name:
			p.name = old.parts[i].name
		default:
			p.name = strings.Clone(p.name)
		}
		last = p.name
		e.names += len(p.name)
	}
}
