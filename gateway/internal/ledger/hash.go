package ledger

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"
)

// blockBytes and blockWords are the size of a block, blockIDs its ids.
const (
	blockBytes = 256
	blockWords = blockBytes / 8
	blockIDs   = blockBytes / idBytes
)

// chain hashes blocks, each with the hash of all before it. A block's words of eight bytes go through NH
// (Black, Halevi, Krawczyk, Krovetz, Rogaway: UMAC, CRYPTO '99) with words of 64 bits: sums of words and secret
// keys, multiplied in pairs and added up in 128 bits. One multiplication for four ids is less work than the general
// hash of hash/maphash, to which ids would have to be handed as bytes.
type chain struct {
	seed      maphash.Seed // of texts
	keys      [blockWords]uint64
	prev, end [2]uint64
}

// newChain derives the keys from a seed.
func newChain(seed maphash.Seed) *chain {
	c := &chain{seed: seed}
	for i := range c.keys {
		c.keys[i] = maphash.Comparable(seed, i)
	}
	for i := range 2 {
		c.prev[i], c.end[i] = maphash.Comparable(seed, blockWords+i), maphash.Comparable(seed, blockWords+2+i)
	}
	return c
}

// extend appends the hashes of the whole blocks of u, which follow those that hashes are of.
func (c *chain) extend(hashes []uint64, u units) []uint64 {
	prev := uint64(0)
	if n := len(hashes); n > 0 {
		prev = hashes[n-1]
	}
	if len(u.ids) > 0 {
		for ids := u.ids; len(ids) >= blockIDs; ids = ids[blockIDs:] {
			prev = c.idBlock(prev, (*[blockIDs]uint32)(ids))
			hashes = append(hashes, prev)
		}
		return hashes
	}
	for text := []byte(u.text); len(text) >= blockBytes; text = text[blockBytes:] { // not copied: nothing writes to it
		prev = c.textBlock(prev, (*[blockBytes]byte)(text))
		hashes = append(hashes, prev)
	}
	return hashes
}

// idBlock is the hash of b, which follows what prev is the hash of.
func (c *chain) idBlock(prev uint64, b *[blockIDs]uint32) uint64 {
	s := sum128{}.add(prev+c.prev[0], c.prev[1])
	for i := 0; i < blockWords; i += 2 {
		w := (*[4]uint32)(b[2*i:])
		s = s.add((uint64(w[0])|uint64(w[1])<<32)+c.keys[i], (uint64(w[2])|uint64(w[3])<<32)+c.keys[i+1])
	}
	return s.fold(&c.end)
}

// textBlock is idBlock for a block of text.
func (c *chain) textBlock(prev uint64, b *[blockBytes]byte) uint64 {
	s := sum128{}.add(prev+c.prev[0], c.prev[1])
	for i := 0; i < blockWords; i += 2 {
		w := (*[16]byte)(b[8*i:])
		s = s.add(binary.LittleEndian.Uint64(w[:8])+c.keys[i], binary.LittleEndian.Uint64(w[8:])+c.keys[i+1])
	}
	return s.fold(&c.end)
}

// sum128 is a sum of products, modulo 2^128.
type sum128 struct{ hi, lo uint64 }

func (s sum128) add(x, y uint64) sum128 {
	hi, lo := bits.Mul64(x, y)
	lo, carry := bits.Add64(s.lo, lo, 0)
	hi, _ = bits.Add64(s.hi, hi, carry)
	return sum128{hi, lo}
}

// fold makes one word of the sum.
func (s sum128) fold(keys *[2]uint64) uint64 {
	hi, lo := bits.Mul64(s.hi^keys[0], s.lo^keys[1])
	return hi ^ lo
}

// sum hashes a text. It is never 0, which stands for no hash.
func sum(seed maphash.Seed, s string) uint64 { return max(1, maphash.String(seed, s)) }
