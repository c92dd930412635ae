// Package turnmemory remembers what models wrote, so that a conversation that comes back is rendered with
// the bytes and tokens that the engine has in its cache.
//
// A turn is kept under a Key, which stands for the conversation up to the turn and the turn itself as any
// client sends it back: Keys finds the turns of a request, KeyOf names the one that was just written.
package turnmemory

import (
	"container/list"
	"slices"
	"strings"
	"sync"
)

// Turn is what a model wrote in one turn.
type Turn struct {
	Before    string   // of the prompt: from the last byte of the message before to where the model began
	Text      string   // raw, markers included, without the token that ended it
	IDs       []uint32 // of Text as sampled; nil when not known
	Reasoning string   // all of it, for clients that do not send it back
}

// overhead is about what an entry takes beside the turn's own bytes.
const overhead = 320

func (t *Turn) size() int {
	return overhead + len(t.Before) + len(t.Text) + 4*len(t.IDs) + len(t.Reasoning)
}

// Memory holds turns in RAM, apart for each tenant and model. It is safe for concurrent use; a nil Memory
// remembers nothing.
//
// All tenants share its bytes. When they run short, the turn goes that was not used for the longest time
// of the tenant that holds the most, so that no tenant can push out what others use.
type Memory struct {
	max       int
	seeds     seeds
	arguments *arguments // of the calls of all tenants, as digests

	mu      sync.Mutex // guards all below
	bytes   int
	tenants map[string]*shelf
}

// shelf is what one tenant holds.
type shelf struct {
	bytes int
	turns map[place]*list.Element // of *entry
	used  list.List               // the last used first
}

type place struct {
	model string
	key   Key
}

type entry struct {
	place
	turn Turn
}

// New makes a memory of at most maxBytes, counted as about what is held; arguments are apart. With 0 it remembers nothing.
func New(maxBytes int) *Memory {
	m := &Memory{max: maxBytes, seeds: newSeeds(), tenants: map[string]*shelf{}}
	if maxBytes > 0 {
		m.arguments = new(arguments)
	}
	return m
}

// Put remembers a turn, in place of one that has the same key. It keeps a copy. A turn that is larger than
// the memory and the zero Key are passed over.
func (m *Memory) Put(tenant, model string, k Key, t *Turn) {
	size := t.size()
	if m == nil || size > m.max || k == (Key{}) {
		return
	}
	// Copies hold no more than themselves: what is given is mostly cut from a whole prompt.
	e := &entry{place{model, k}, Turn{strings.Clone(t.Before), strings.Clone(t.Text), slices.Clone(t.IDs), strings.Clone(t.Reasoning)}}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.tenants[tenant]
	if s == nil {
		s = &shelf{turns: map[place]*list.Element{}}
		m.tenants[tenant] = s
	}
	if old := s.turns[e.place]; old != nil {
		m.remove(s, old)
	}
	s.turns[e.place] = s.used.PushFront(e)
	s.bytes += size
	m.bytes += size
	for m.bytes > m.max {
		name, most := m.largest()
		m.remove(most, most.used.Back())
		if most.bytes == 0 {
			delete(m.tenants, name)
		}
	}
}

// largest finds the tenant that holds the most. There are as many as the configuration has.
func (m *Memory) largest() (name string, most *shelf) {
	for n, s := range m.tenants {
		if most == nil || s.bytes > most.bytes || s.bytes == most.bytes && n < name {
			name, most = n, s
		}
	}
	return name, most
}

// remove forgets a turn. The caller has the lock.
func (m *Memory) remove(s *shelf, at *list.Element) {
	e, _ := s.used.Remove(at).(*entry)
	delete(s.turns, e.place)
	size := e.turn.size()
	s.bytes -= size
	m.bytes -= size
}

// Get returns a remembered turn, or nil. It must not be changed.
func (m *Memory) Get(tenant, model string, k Key) *Turn {
	if m == nil || k == (Key{}) {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.tenants[tenant]
	if s == nil {
		return nil
	}
	at := s.turns[place{model, k}]
	if at == nil {
		return nil
	}
	s.used.MoveToFront(at)
	e, _ := at.Value.(*entry)
	return &e.turn
}

// Bytes is about how much is held.
func (m *Memory) Bytes() int {
	if m == nil {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.bytes
}
