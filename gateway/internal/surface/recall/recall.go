// Package recall remembers arrays of request bodies together with what their elements were decoded to. A client sends
// its whole conversation again each turn; what it sent before is compared, which memory does fast, and not decoded.
package recall

import (
	"container/list"
	"crypto/sha256"
	"encoding/binary"
	"hash/maphash"
	"net/http"
	"sync"
)

const (
	// maxSeen is how many keys are known of which nothing is remembered yet.
	maxSeen = 4096
)

// Options of a Memory.
type Options struct {
	MaxBytes int // of all that is held, counted as about what it takes; with 0 nothing is remembered
	MinBody  int // bytes of a body that is worth it
}

// Memory holds arrays in RAM, apart for each owner and kind. When its bytes run short, what was not used for the longest
// time goes. It is safe for concurrent use; a nil Memory remembers nothing.
//
// An array is remembered when it comes the second time: most of what is sent once does not come again.
type Memory struct {
	opt  Options
	seed maphash.Seed

	mu      sync.Mutex // guards all below; nothing is compared or copied under it
	bytes   int
	entries map[Key]*list.Element
	used    list.List       // of *entry, the last used first
	seen    [maxSeen]uint64 // hashes of keys, each at a place that it gives
}

type entry struct {
	key   Key
	array any // []*Element[T], never changed
	bytes int
}

// New makes a memory.
func New(o Options) *Memory {
	return &Memory{opt: o, seed: maphash.MakeSeed(), entries: map[Key]*list.Element{}}
}

// Takes reports whether a body of so many bytes is worth looking up.
func (m *Memory) Takes(body int) bool { return m != nil && m.opt.MaxBytes > 0 && body >= m.opt.MinBody }

// Bytes is about how much is held.
func (m *Memory) Bytes() int {
	if m == nil {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.bytes
}

// Owner says by whose credentials a request came, as a digest of them.
type Owner [sha256.Size]byte

// OwnerOf is the owner of a request with these headers.
func OwnerOf(h http.Header) Owner {
	var buf [512]byte
	b := buf[:0]
	for _, name := range [...]string{"Authorization", "X-Api-Key"} {
		values := h.Values(name)
		b = binary.AppendUvarint(b, uint64(len(values)))
		for _, v := range values {
			b = append(binary.AppendUvarint(b, uint64(len(v))), v...)
		}
	}
	return sha256.Sum256(b)
}

// Key is where an array is looked up. Two that begin alike have the same one.
type Key struct {
	owner Owner
	kind  string
	first uint64
}

// Key is that of an array by what it is to its surface and the text that it begins with. That a hash stands for the text
// is safe: a key only says what to compare with.
func (m *Memory) Key(o Owner, kind string, beginning []byte) Key {
	return Key{o, kind, maphash.Bytes(m.seed, beginning)}
}

// Find returns the elements that are remembered under k; they must not be changed. again is false where k is asked for the
// first time, as far as is known: what comes under it is not worth remembering yet. One kind always has the same T.
func Find[T any](m *Memory, k Key) (array []*Element[T], again bool) {
	hash := maphash.Comparable(m.seed, k)
	m.mu.Lock()
	defer m.mu.Unlock()
	if at := m.entries[k]; at != nil {
		m.used.MoveToFront(at)
		e, _ := at.Value.(*entry)
		array, again = e.array.([]*Element[T])
		return array, again
	}
	seen := &m.seen[hash%maxSeen]
	if *seen == hash {
		return nil, true
	}
	*seen = hash
	return nil, false
}

// put remembers an array in place of what is under k.
func (m *Memory) put(k Key, array any, bytes int) {
	e := &entry{key: k, array: array, bytes: bytes}
	m.mu.Lock()
	defer m.mu.Unlock()
	if old := m.entries[k]; old != nil {
		m.remove(old)
	}
	m.entries[k] = m.used.PushFront(e)
	for m.bytes += bytes; m.bytes > m.opt.MaxBytes; {
		m.remove(m.used.Back())
	}
}

// remove forgets an array. The caller has the lock.
func (m *Memory) remove(at *list.Element) {
	e, _ := m.used.Remove(at).(*entry)
	delete(m.entries, e.key)
	m.bytes -= e.bytes
}
