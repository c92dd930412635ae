package store

import (
	"context"
	"slices"
	"sync"
	"time"
	"unsafe"

	"github.com/weirgate/weir/gateway/internal/chain"
)

// Memory keeps links as long as the process runs. It copies what is put, so that what it holds is what it counts;
// what it gives out is shared and must not be changed.
//
// A link that nothing goes on from is a leaf, and only leaves are displaced, the one that was used least recently
// first. Its parent then is one, and as old. So conversations go whole, from their ends, and a branch that nobody
// went on with does not outlive the conversation it left. Only where a single conversation is more than MaxBytes does
// its newest link lose its parents.
type Memory struct {
	options Options

	mu       sync.Mutex
	closed   bool
	links    map[key]*node
	items    map[key]*entry // the newest of each id
	leaves   queue          // least recently used first
	expiring queue          // of all that expire, the next first
	clock    uint64         // uses so far
	bytes    int64
}

// key names a link or an item of an owner's.
type key struct{ owner, id string }

// node is a link's place among others. All but link and its times is guarded by the store's lock.
type node struct {
	link   *chain.Link
	bytes  int64 // what it is accounted for
	hidden bool  // deleted, and kept for its children
	used   uint64

	parent      *node // nil at the beginning, and where the parent is gone
	child       *node // the newest
	older, next *node // siblings: put before, put after

	asLeaf, asExpiring int // place in the queues, from 1; 0 is none
	entries            []entry
}

// entry is an item in the index, among those of the same id.
type entry struct {
	node         *node
	item         *chain.Item
	newer, older *entry
}

// Costs in bytes, about: a map has room for half as much again as it holds, and so has a queue.
const (
	mapCost   = (int64(unsafe.Sizeof(key{})) + 8 + 1) * 3 / 2
	nodeCost  = int64(unsafe.Sizeof(node{})) + mapCost + 2*8*3/2
	entryCost = int64(unsafe.Sizeof(entry{})) + mapCost
)

// sweepMost is how many expired links a Put removes at most, so that none waits for long. As each adds one, more than
// one is enough.
const sweepMost = 32

// NewMemory makes an empty store.
func NewMemory(o Options) *Memory {
	return &Memory{
		options:  o.withDefaults(),
		links:    map[key]*node{},
		items:    map[key]*entry{},
		leaves:   queue{less: func(a, b *node) bool { return a.used < b.used }, at: func(n *node) *int { return &n.asLeaf }},
		expiring: queue{less: func(a, b *node) bool { return a.link.Expires.Before(b.link.Expires) }, at: func(n *node) *int { return &n.asExpiring }},
	}
}

func (n *node) expired(now time.Time) bool {
	return !n.link.Expires.IsZero() && !now.Before(n.link.Expires)
}

// Stats are figures of a Memory.
type Stats struct {
	Links int   // kept, those that are kept for their children alone included
	Bytes int64 // what they take, about
}

// Stats returns the figures of this moment.
func (m *Memory) Stats() Stats {
	m.mu.Lock()
	defer m.mu.Unlock()
	return Stats{len(m.links), m.bytes}
}

// Put keeps a copy of a link. A parent that is not there, or another owner's, is none: the link's history then is not
// to be found.
func (m *Memory) Put(ctx context.Context, l *chain.Link) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	size := l.Size()
	named := 0
	for _, items := range [][]chain.Item{l.Input, l.Output} {
		for i := range items {
			if items[i].ID != "" {
				named++
			}
		}
	}
	bytes := size + nodeCost + int64(named)*entryCost
	if m.options.takes(size) != nil || m.options.MaxBytes > 0 && bytes > m.options.MaxBytes {
		return chain.ErrTooLarge
	}
	n := &node{link: l.Pack(), bytes: bytes, entries: make([]entry, 0, named)}
	now := m.options.Now()

	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return errClosed
	}
	m.sweep(now)
	k := key{n.link.Owner, n.link.ID}
	if old := m.links[k]; old != nil {
		if !old.expired(now) {
			return errExists
		}
		m.remove(old)
	}
	m.add(k, n, now)
	m.displace(n, now)
	return nil
}

func (m *Memory) add(k key, n *node, now time.Time) {
	m.clock++
	n.used = m.clock
	if p := m.links[key{k.owner, n.link.Parent}]; p != nil && n.link.Parent != "" && !p.expired(now) {
		m.adopt(p, n)
	}
	m.links[k] = n
	m.bytes += n.bytes
	m.leaves.push(n)
	if !n.link.Expires.IsZero() {
		m.expiring.push(n)
	}
	for _, items := range [][]chain.Item{n.link.Input, n.link.Output} {
		for i := range items {
			if items[i].ID != "" {
				n.entries = append(n.entries, entry{node: n, item: &items[i]})
			}
		}
	}
	for i := range n.entries {
		e := &n.entries[i]
		name := e.key()
		if e.older = m.items[name]; e.older != nil {
			e.older.newer = e
		}
		m.items[name] = e
	}
}

func (e *entry) key() key { return key{e.node.link.Owner, e.item.ID} }

func (m *Memory) adopt(p, n *node) {
	m.leaves.remove(p)
	n.parent, n.older = p, p.child
	if p.child != nil {
		p.child.next = n
	}
	p.child = n
}

// sweep removes some of what has expired.
func (m *Memory) sweep(now time.Time) {
	for range sweepMost {
		n := m.expiring.first()
		if n == nil || !n.expired(now) {
			return
		}
		m.remove(n)
	}
}

// displace makes room for what was put last, kept. It is small enough alone.
func (m *Memory) displace(kept *node, now time.Time) {
	for m.options.MaxBytes > 0 && m.bytes > m.options.MaxBytes {
		n := m.expiring.first()
		if n == nil || n == kept || !n.expired(now) {
			n = m.leaves.first()
		}
		if n == kept {
			n = kept.parent // all that is left leads to it
		}
		m.remove(n)
	}
}

// remove takes a link out, and then the hidden ones that were there for it alone. Its children have no parent then.
func (m *Memory) remove(n *node) {
	for n != nil {
		for c := n.child; c != nil; {
			older := c.older
			c.parent, c.older, c.next = nil, nil, nil
			c = older
		}
		n.child = nil
		m.leaves.remove(n)
		m.expiring.remove(n)
		m.unname(n)
		delete(m.links, key{n.link.Owner, n.link.ID})
		m.bytes -= n.bytes
		n = m.leave(n)
	}
}

// leave takes n from its parent's children, and returns the parent if that is to be removed too.
func (m *Memory) leave(n *node) *node {
	p := n.parent
	if p == nil {
		return nil
	}
	if n.next != nil {
		n.next.older = n.older
	} else {
		p.child = n.older
	}
	if n.older != nil {
		n.older.next = n.next
	}
	n.parent, n.older, n.next = nil, nil, nil
	p.used = max(p.used, n.used)
	switch {
	case p.child != nil:
	case p.hidden:
		return p
	default:
		m.leaves.push(p)
	}
	return nil
}

// unname takes a link's items out of the index.
func (m *Memory) unname(n *node) {
	for i := range n.entries {
		e := &n.entries[i]
		switch {
		case e.newer != nil:
			e.newer.older = e.older
		case e.older != nil:
			m.items[e.older.key()] = e.older // by its own strings, not those of the one that goes
		default:
			delete(m.items, e.key())
		}
		if e.older != nil {
			e.older.newer = e.newer
		}
	}
	less := int64(len(n.entries)) * entryCost
	n.entries = nil
	n.bytes -= less
	m.bytes -= less
}

// use finds a link that can be seen, and makes it the most recently used.
func (m *Memory) use(owner, id string) (*node, error) {
	if m.closed {
		return nil, errClosed
	}
	n := m.links[key{owner, id}]
	if n == nil || n.hidden || n.expired(m.options.Now()) {
		return nil, chain.ErrNotFound
	}
	m.touch(n)
	return n, nil
}

func (m *Memory) touch(n *node) {
	m.clock++
	n.used = m.clock
	m.leaves.fix(n)
}

// Get finds a link by id.
func (m *Memory) Get(ctx context.Context, owner, id string) (*chain.Link, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.use(owner, id)
	if err != nil {
		return nil, err
	}
	return n.link, nil
}

// History is the items of a link and its parents, as chain.Store has it.
func (m *Memory) History(ctx context.Context, owner, id string) ([]chain.Item, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	links, count, err := m.line(owner, id)
	if err != nil {
		return nil, err
	}
	out := make([]chain.Item, 0, count)
	for _, l := range slices.Backward(links) {
		out = append(append(out, l.Input...), l.Output...)
	}
	return out, nil
}

// line is a link and its parents, the newest first, and how many items they have.
func (m *Memory) line(owner, id string) (links []*chain.Link, count int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.use(owner, id)
	if err != nil {
		return nil, 0, err
	}
	now := m.options.Now()
	for ; n != nil; n = n.parent {
		if n.expired(now) || n.parent == nil && n.link.Parent != "" {
			return nil, 0, chain.ErrNotFound
		}
		links = append(links, n.link)
		count += len(n.link.Input) + len(n.link.Output)
	}
	return links, count, nil
}

// Item finds an item by its id: where several have it, the one that was put last.
func (m *Memory) Item(ctx context.Context, owner, id string) (*chain.Item, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, errClosed
	}
	now := m.options.Now()
	e := m.items[key{owner, id}]
	for e != nil && e.node.expired(now) {
		e = e.older
	}
	if e == nil {
		return nil, chain.ErrNotFound
	}
	m.touch(e.node)
	return e.item, nil
}

// Delete hides a link. What it takes is given back when nothing goes on from it any more, or when it expires.
func (m *Memory) Delete(ctx context.Context, owner, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.use(owner, id)
	if err != nil {
		return err
	}
	if n.child == nil {
		m.remove(n)
		return nil
	}
	n.hidden = true
	m.unname(n)
	return nil
}

// Close forgets everything.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	m.links, m.items, m.bytes = nil, nil, 0
	m.leaves.nodes, m.expiring.nodes = nil, nil
	return nil
}
