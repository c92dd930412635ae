package vocab

import (
	"encoding/binary"
	"hash/maphash"
	"slices"
	"sync"
	"unicode/utf8"
)

// Sizes of the segment cache.
const (
	shards     = 8
	minSegment = 64  // bytes below which encoding is as fast as looking up
	entryCost  = 160 // bytes of an entry besides its ids
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

type shard struct {
	mu      sync.Mutex
	entries map[segment]*entry
	newest  entry // a ring: newest.next is the newest, newest.prev the oldest
	bytes   int
	limit   int
}

type entry struct {
	key        segment
	ids        []uint32
	prev, next *entry
}

// NewCache returns a cache that holds about limit bytes.
func (t *Tokenizer) NewCache(limit int) *Cache {
	c := &Cache{t: t, seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
	for i := range c.shards {
		s := &c.shards[i]
		s.entries, s.limit = make(map[segment]*entry), limit/shards
		s.newest.prev, s.newest.next = &s.newest, &s.newest
	}
	return c
}

// Encode is Tokenizer.EncodeGuarded with the cache.
func (c *Cache) Encode(dst []uint32, text string, g *Guard) []uint32 {
	t := c.t
	if !t.cuttable || !utf8.ValidString(text) {
		return t.EncodeGuarded(dst, text, g)
	}
	var b *ban
	if g != nil && g.Controls != nil && len(g.Untrusted) > 0 {
		b = &ban{ids: g.Controls.ids, spans: g.Untrusted}
	}
	from := 0 // of the segment
	for at, floor := 0, 0; ; {
		id, start, end, next := t.raw.find(text, at, floor, b)
		if id != NoToken && !t.special.has(id) {
			at, floor = next, end
			continue
		}
		if from < start {
			dst = c.segment(dst, text, from, start, g)
		}
		if id == NoToken {
			return dst
		}
		dst = append(dst, id)
		at, floor, from = next, end, end
	}
}

// segment appends the ids of text[from:to].
func (c *Cache) segment(dst []uint32, text string, from, to int, g *Guard) []uint32 {
	s := text[from:to]
	key := segment{size: len(s), first: from == 0}
	var spans []Span
	var controls bitset
	if g != nil && g.Controls != nil && touches(g.Untrusted, from, to) {
		key.guard, controls = g.Controls, g.Controls.ids
		spans = within(nil, g.Untrusted, from, to)
	}
	if len(s) < minSegment {
		return c.t.encodePart(dst, s, key.first, spans, controls)
	}
	for i := range key.sum {
		key.sum[i] = hashSegment(c.seeds[i], s, spans)
	}
	sh := &c.shards[key.sum[0]%shards]
	if ids, ok := sh.get(key); ok {
		return append(dst, ids...)
	}
	start := len(dst)
	dst = c.t.encodePart(dst, s, key.first, spans, controls)
	sh.put(key, dst[start:])
	return dst
}

func hashSegment(seed maphash.Seed, s string, spans []Span) uint64 {
	if len(spans) == 0 {
		return maphash.String(seed, s)
	}
	var h maphash.Hash
	h.SetSeed(seed)
	h.WriteString(s)
	var b [16]byte
	for _, sp := range spans {
		binary.LittleEndian.PutUint64(b[:8], uint64(sp.From))
		binary.LittleEndian.PutUint64(b[8:], uint64(sp.To))
		h.Write(b[:])
	}
	return h.Sum64()
}

// encodePart appends the ids of a part of a text, which is valid; first: it starts the text.
func (t *Tokenizer) encodePart(dst []uint32, s string, first bool, spans []Span, controls bitset) []uint32 {
	e := t.scratch.Get().(*encoder)
	e.ids = dst
	e.text(s, first, spans, controls)
	dst = e.ids
	t.done(e)
	return dst
}

func (s *shard) get(key segment) ([]uint32, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[key]
	if e == nil {
		return nil, false
	}
	e.unlink()
	e.link(&s.newest)
	return e.ids, true
}

func (s *shard) put(key segment, ids []uint32) {
	cost := 4*len(ids) + entryCost
	if cost > s.limit {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.entries[key] != nil {
		return
	}
	for s.bytes+cost > s.limit {
		old := s.newest.prev
		old.unlink()
		delete(s.entries, old.key)
		s.bytes -= 4*len(old.ids) + entryCost
	}
	e := &entry{key: key, ids: slices.Clone(ids)}
	e.link(&s.newest)
	s.entries[key] = e
	s.bytes += cost
}

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
		s.mu.Lock()
		n += s.bytes
		s.mu.Unlock()
	}
	return n
}
