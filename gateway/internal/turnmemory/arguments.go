package turnmemory

import (
	"encoding/binary"
	"hash/maphash"
	"sync"
)

// The bounds of arguments: 16 K of them are half a megabyte.
const (
	argumentShards = 64
	argumentSlots  = 256
)

// arguments remembers the values of arguments, for a conversation brings those of all its calls with every turn. It
// holds digests alone, those of texts as they came and of their values, and no pointers.
type arguments [argumentShards]argumentShard

// argumentShard is where arguments have two places to stand in, and lose them to others.
type argumentShard struct {
	mu    sync.Mutex // guards slots
	slots [argumentSlots]argument
}

type argument struct {
	text  digest
	value digest // none where the text is not JSON
	valid bool
}

// of returns the digest of the value of a text, or false where that is not JSON.
func (a *arguments) of(s *seeds, c *canonical, text string) (value digest, ok bool) {
	known := s.textOf(text)
	h := binary.LittleEndian.Uint64(known[:])
	shard, at := &a[h%argumentShards], h/argumentShards%argumentSlots
	e := shard.get(at, known)
	if e.text != known {
		e = argument{text: known}
		if b, valid := c.of(text); valid {
			e.value, e.valid = pair(maphash.Bytes(s[0], b), maphash.Bytes(s[1], b)), true
		}
		shard.put(at, h>>63, e)
	}
	return e.value, e.valid
}

// get returns what stands in one of two places, where that is of the text, or else in the other.
func (s *argumentShard) get(at uint64, text digest) argument {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.slots[at].text == text {
		return s.slots[at]
	}
	return s.slots[at^1]
}

// put puts e into the first of two places if that is free, or else into the one that other says.
func (s *argumentShard) put(at, other uint64, e argument) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.slots[at] != (argument{}) {
		at ^= other
	}
	s.slots[at] = e
}
