package vocab

import (
	"encoding/binary"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

// Sizes of the segment cache.
const (
	shards     = 16
	minSegment = 64  // bytes below which encoding is as fast as looking up
	entryCost  = 208 // bytes of an entry besides its ids and their text
)

// Cache remembers the ids of segments, which are what stands between two special tokens: the long common
// start of two prompts, and all messages of a conversation, are encoded once. It is safe for concurrent
// use.
type Cache struct {
	t      *Tokenizer
	seeds  [2]maphash.Seed
	shards [shards]shard
}

// segment is a text, by 128 bits of hash with seeds that nobody knows, and what else decides its ids.
type segment struct {
	sum   [2]uint64
	size  int
	first bool
	guard *Controls // nil: nothing untrusted touches it
}

// shard is a part of the cache. Looking up shares its lock and writes nothing that two calls for the same
// segments would fight over.
type shard struct {
	mu      sync.RWMutex
	entries map[segment]*entry // guarded by mu
	ring    entry              // guarded by mu: ring.next is the newest, ring.prev the oldest
	bytes   int                // guarded by mu
	limit   int
	_       [64]byte // the next shard's lock lies in another cache line
}

// entry is a segment that was encoded. Its ids and text do not change, once there.
type entry struct {
	key        segment
	ids        []uint32
	text       []byte      // the ids in decimal, a comma before each; nil until somebody wanted it
	used       atomic.Bool // since it was last looked at for eviction
	prev, next *entry
}

// NewCache returns a cache that holds about limit bytes.
func (t *Tokenizer) NewCache(limit int) *Cache {
	c := &Cache{t: t, seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
	for i := range c.shards {
		s := &c.shards[i]
		s.entries, s.limit = make(map[segment]*entry), limit/shards
		s.ring.prev, s.ring.next = &s.ring, &s.ring
	}
	return c
}

// Encode is Tokenizer.EncodeGuarded with the cache.
func (c *Cache) Encode(dst []uint32, text string, g *Guard) []uint32 {
	out := Encoded{IDs: dst}
	c.encode(&out, text, g, false)
	return out.IDs
}

// EncodeText appends the ids of text to dst, as Tokenizer.EncodeGuarded does, and their decimal text. What
// is cached is not formatted again.
func (c *Cache) EncodeText(dst *Encoded, text string, g *Guard) { c.encode(dst, text, g, true) }

func (c *Cache) encode(dst *Encoded, text string, g *Guard, written bool) {
	t := c.t
	if !t.cuttable || !utf8.ValidString(text) {
		from := len(dst.IDs)
		dst.IDs = t.EncodeGuarded(dst.IDs, text, g)
		if written {
			dst.write(t, dst.IDs[from:])
		}
		return
	}
	w := walk{c: c, e: t.scratch.Get().(*encoder), text: text, written: written}
	if g != nil && g.Controls != nil && len(g.Untrusted) > 0 {
		w.controls, w.untrusted = g.Controls, g.Untrusted
		w.ban = ban{ids: g.Controls.ids, spans: g.Untrusted}
	}
	from := 0 // of the segment
	for {
		id, start, end := w.special()
		if from < start {
			w.segment(dst, from, start)
		}
		if id == NoToken {
			break
		}
		dst.IDs = append(dst.IDs, id)
		if written {
			dst.write(t, dst.IDs[len(dst.IDs)-1:])
		}
		from = end
	}
	t.done(w.e)
}

// walk is one call on its way through a text.
type walk struct {
	c       *Cache
	e       *encoder
	text    string
	written bool // the text of the ids is wanted too

	controls  *Controls // nil: no guard
	untrusted []Span    // not yet passed
	ban       ban

	at, floor int // where the search for special tokens goes on
}

// special returns the next special token, NoToken at the end of the text.
func (w *walk) special() (id uint32, start, end int) {
	t := w.c.t
	if w.controls != nil && t.apart {
		return w.trusted()
	}
	var b *ban
	if w.controls != nil {
		b = &w.ban
	}
	for {
		id, start, end, next := t.raw.find(w.text, w.at, w.floor, b)
		if w.at, w.floor = next, end; id == NoToken || t.special.has(id) {
			return id, start, end
		}
	}
}

// trusted is special where it is enough to look at the bytes that are trusted: no special token has one that is not,
// and nothing else hides one. Most stretches of such bytes are quotes of a template, thousands in a long prompt, and
// too short for any.
func (w *walk) trusted() (id uint32, start, end int) {
	t := w.c.t
	for {
		to := len(w.text)
		if len(w.ban.spans) > 0 {
			to = min(to, w.ban.spans[0].From)
		}
		for last := to - t.shortest + 1; w.at < last; {
			i := t.raw.trie.candidate(w.text[:last], w.at)
			if w.at = i; i == last {
				break
			}
			id, n := t.raw.trie.match(w.text, i, &w.ban)
			if w.at += max(n, 1); n > 0 && t.special.has(id) {
				return id, i, i + n
			}
		}
		if len(w.ban.spans) == 0 {
			return NoToken, len(w.text), len(w.text)
		}
		w.at, w.ban.spans = max(w.at, w.ban.spans[0].To), w.ban.spans[1:]
	}
}

// segment appends the ids of text[from:to].
func (w *walk) segment(dst *Encoded, from, to int) {
	s := w.text[from:to]
	key := segment{size: len(s), first: from == 0}
	var spans []Span
	if w.controls != nil {
		w.untrusted = w.untrusted[first(w.untrusted, from):]
		if touches(w.untrusted, from, to) {
			key.guard = w.controls
			spans = within(w.e.spans[:0], w.untrusted, from, to)
			w.e.spans = spans
		}
	}
	start := len(dst.IDs)
	var sh *shard
	if len(s) >= minSegment {
		key.sum = w.hash(s, spans)
		sh = &w.c.shards[key.sum[0]%shards]
		if ids, text, ok := sh.get(key); ok {
			dst.IDs = append(dst.IDs, ids...)
			switch {
			case !w.written:
			case text != nil:
				dst.lend(text)
			default:
				w.e.bytes = w.c.t.appendIDs(w.e.bytes[:0], ids)
				text = slices.Clone(w.e.bytes)
				dst.lend(text)
				sh.put(key, ids, text)
			}
			return
		}
	}
	w.e.ids = dst.IDs
	w.e.text(s, key.first, spans, key.guard)
	dst.IDs, w.e.ids = w.e.ids, nil
	if w.written {
		dst.write(w.c.t, dst.IDs[start:])
	}
	if sh != nil {
		// Most of a prompt that nobody sends again would pay for a text that nobody reads: it is kept on second sight.
		sh.put(key, dst.IDs[start:], nil)
	}
}

// hash is that of a segment and the untrusted spans in it.
func (w *walk) hash(s string, spans []Span) (sum [2]uint64) {
	for i, seed := range w.c.seeds {
		sum[i] = maphash.String(seed, s)
	}
	if len(spans) == 0 {
		return sum
	}
	b := w.e.bytes[:0]
	for _, n := range sum {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	for _, sp := range spans {
		b = binary.LittleEndian.AppendUint64(b, uint64(sp.From)<<32|uint64(sp.To)) // a segment has less than 4 GiB
	}
	w.e.bytes = b
	for i, seed := range w.c.seeds {
		sum[i] = maphash.Bytes(seed, b)
	}
	return sum
}

func (s *shard) get(key segment) (ids []uint32, text []byte, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	e := s.entries[key]
	if e == nil {
		return nil, nil, false
	}
	if !e.used.Load() {
		e.used.Store(true)
	}
	return e.ids, e.text, true
}

// put enters a copy of ids and their text, or the text of ids that are there without it. It is empty where nobody
// wants it, else it must not change any more.
func (s *shard) put(key segment, ids []uint32, text []byte) {
	if 4*len(ids)+len(text)+entryCost > s.limit {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[key]
	switch {
	case e == nil:
		e = &entry{key: key, ids: slices.Clone(ids), text: text}
		e.link(&s.ring)
		s.entries[key] = e
		s.bytes += e.cost()
	case e.text == nil && len(text) > 0:
		s.bytes -= e.cost()
		e.text = text
		s.bytes += e.cost()
	}
	s.evict(e)
}

// evict drops what is oldest and was not used since it was last looked at, but for one, until the rest
// fits.
func (s *shard) evict(but *entry) {
	for s.bytes > s.limit {
		e := s.ring.prev
		e.unlink()
		if e == but || e.used.Swap(false) {
			e.link(&s.ring)
			continue
		}
		delete(s.entries, e.key)
		s.bytes -= e.cost()
	}
}

func (e *entry) cost() int { return 4*len(e.ids) + len(e.text) + entryCost }

func (e *entry) unlink() { e.prev.next, e.next.prev = e.next, e.prev }

func (e *entry) link(ring *entry) {
	e.prev, e.next = ring, ring.next
	e.prev.next, e.next.prev = e, e
}

// Bytes returns about how many bytes the cache holds.
func (c *Cache) Bytes() int {
	n := 0
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.RLock()
		n += s.bytes
		s.mu.RUnlock()
	}
	return n
}
