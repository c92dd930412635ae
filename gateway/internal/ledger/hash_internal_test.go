package ledger

import (
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"testing"
)

// randomUnits are n units, as ids or as text.
func randomUnits(r *rand.Rand, n int, text bool) units {
	if text {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte('a' + r.IntN(26))
		}
		return units{text: string(b)}
	}
	ids := make([]uint32, n)
	for i := range ids {
		ids[i] = r.Uint32() >> 14
	}
	return units{ids: ids}
}

// TestChain wants a hash to depend on every bit of its block and of those before it, and on their order, and
// nothing else: not on how often extend was called for them.
func TestChain(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	c := newChain(maphash.MakeSeed())
	const blocks = 3
	for _, text := range []bool{false, true} {
		n := blocks * blockIDs
		if text {
			n = blocks * blockBytes
		}
		u := randomUnits(r, n, text)
		want := c.extend(nil, u)
		if len(want) != blocks {
			t.Fatalf("%d hashes", len(want))
		}
		if got := c.extend(c.extend(nil, u.cut(0, blockBytes)), u.cut(blockBytes, u.size())); !slices.Equal(got, want) {
			t.Errorf("in two steps %x, in one %x", got, want)
		}
		if got := c.extend(nil, u.cut(blockBytes, u.size())); got[0] == want[1] || got[1] == want[2] {
			t.Error("what stands before a block does not count")
		}
		for bit := range 8 * u.size() {
			got := c.extend(nil, flipped(u, bit))
			for i := range got {
				if same := got[i] == want[i]; same != (i < bit/8/blockBytes) {
					t.Fatalf("bit %d, block %d: the same hash is %v", bit, i, same)
				}
			}
		}
		turned := u.cut(4, 256).and(u.cut(0, 4)).and(u.cut(256, u.size()))
		if got := c.extend(nil, turned); got[0] == want[0] {
			t.Error("the order of units does not count")
		}
		if other := newChain(maphash.MakeSeed()).extend(nil, u); other[0] == want[0] {
			t.Error("the seed does not count")
		}
	}
}

// flipped is u with one bit turned.
func flipped(u units, bit int) units {
	if len(u.ids) > 0 {
		ids := slices.Clone(u.ids)
		ids[bit/32] ^= 1 << (bit % 32)
		return units{ids: ids}
	}
	text := []byte(u.text)
	text[bit/8] ^= 1 << (bit % 8)
	return units{text: string(text)}
}

// BenchmarkChain is of 61,000 ids, and of as many bytes as a prompt of so many has.
func BenchmarkChain(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	c := newChain(maphash.MakeSeed())
	for _, text := range []bool{false, true} {
		name, u := "ids", randomUnits(r, 61_000, false)
		if text {
			name, u = "text", randomUnits(r, 201_000, true)
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(u.size()))
			hashes := make([]uint64, 0, u.size()/blockBytes)
			for b.Loop() {
				hashes = c.extend(hashes[:0], u)
			}
		})
	}
}
