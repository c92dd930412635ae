package prompt

import (
	"hash/maphash"
	"sync"

	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/gateway/jinja"
)

// argCache keeps decoded arguments of calls: a conversation brings those of all its turns each time. It keeps
// what was asked for twice, in two generations: what is used moves from the old one to the young one, and when
// that is full, the old one goes.
type argCache struct {
	seeds [2]maphash.Seed

	mu         sync.Mutex
	young, old map[argKey]argEntry
	size       int // of the young
}

type argKey [2]uint64

type argEntry struct {
	v    jinja.Value // undefined: seen once
	size int
}

// Bounds of a generation and of an entry, in bytes that entries are counted for: a decoded text takes a
// multiple of its own.
const (
	maxArgs     = 8 << 20
	maxArg      = maxArgs / 16
	argOverhead = 512
	argFactor   = 4
)

func (c *argCache) init() {
	c.seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	c.young = map[argKey]argEntry{}
}

// object is a JSON object as a template takes it, with org for the origin of its strings; ok is false where it is
// none.
func (c *argCache) object(m *jinja.Maker, text string, org jinja.Origin) (v jinja.Value, ok bool) {
	key := c.key(text)
	e, seen := c.get(key)
	if !e.v.IsUndefined() {
		return m.From(e.v, org), true
	}
	if jsonscan.TypeOf([]byte(text)) != jsonscan.Object {
		return v, false
	}
	v, err := jinja.FromJSON([]byte(text), org)
	if err != nil {
		return v, false
	}
	if e.size = argOverhead; seen {
		e = argEntry{v.Kept(), argOverhead + argFactor*len(text)}
	}
	c.put(key, e)
	return v, true
}

// key is a digest of a text. Its seeds are the process's own, so nobody can choose texts that collide.
func (c *argCache) key(text string) argKey {
	return argKey{maphash.String(c.seeds[0], text), maphash.String(c.seeds[1], text)}
}

func (c *argCache) get(key argKey) (argEntry, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.young[key]
	if !ok {
		if e, ok = c.old[key]; ok {
			c.add(key, e)
		}
	}
	return e, ok
}

func (c *argCache) put(key argKey, e argEntry) {
	if e.size > maxArg {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.size -= c.young[key].size
	c.add(key, e)
}

func (c *argCache) add(key argKey, e argEntry) {
	if c.size += e.size; c.size > maxArgs {
		c.old, c.young, c.size = c.young, map[argKey]argEntry{}, e.size
	}
	c.young[key] = e
}
