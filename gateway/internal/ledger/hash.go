package ledger

import (
	"encoding/binary"
	"hash/maphash"
)

// A prompt is compared in blocks of 256 bytes: 64 ids of four bytes, or text.
const (
	blockBytes = 256
	idBytes    = 4
	blockIDs   = blockBytes / idBytes
)

// units is what of a prompt is compared: its ids as bytes, else its text.
type units struct {
	ids  []uint32
	text string // counts when there are no ids
}

// width is the bytes of a unit.
func (u units) width() int {
	if len(u.ids) > 0 {
		return idBytes
	}
	return 1
}

// size is the length in bytes.
func (u units) size() int {
	if len(u.ids) > 0 {
		return len(u.ids) * idBytes
	}
	return len(u.text)
}

// block puts block i into dst. It must be whole.
func (u units) block(i int, dst *[blockBytes]byte) {
	if len(u.ids) == 0 {
		copy(dst[:], u.text[i*blockBytes:])
		return
	}
	ids := (*[blockIDs]uint32)(u.ids[i*blockIDs:])
	for j := 0; j < blockIDs; j += 2 {
		binary.LittleEndian.PutUint64(dst[j*idBytes:j*idBytes+8], uint64(ids[j])|uint64(ids[j+1])<<32)
	}
}

// equal reports whether block i, which must be whole, is b. It is most of the cost of a prompt that is
// known, hence two ids at a time and no way out in between.
func (u units) equal(i int, b *[blockBytes]byte) bool {
	if len(u.ids) == 0 {
		return u.text[i*blockBytes:(i+1)*blockBytes] == string(b[:])
	}
	ids := (*[blockIDs]uint32)(u.ids[i*blockIDs:])
	var differ uint64
	for j := 0; j < blockIDs; j += 2 {
		differ |= binary.LittleEndian.Uint64(b[j*idBytes:j*idBytes+8]) ^ (uint64(ids[j]) | uint64(ids[j+1])<<32)
	}
	return differ == 0
}

// tail appends what comes after the first n whole blocks, whole blocks included.
func (u units) tail(dst []byte, n int) []byte {
	if len(u.ids) == 0 {
		return append(dst, u.text[n*blockBytes:]...)
	}
	var b [blockBytes]byte
	whole := len(u.ids) / blockIDs
	for ; n < whole; n++ {
		u.block(n, &b)
		dst = append(dst, b[:]...)
	}
	for _, id := range u.ids[n*blockIDs:] {
		dst = binary.LittleEndian.AppendUint32(dst, id)
	}
	return dst
}

// chain hashes blocks, each with the hash of all before it.
type chain struct {
	seed maphash.Seed
	buf  [8 + blockBytes]byte
}

// next is the hash of the block in c.block(), which follows what prev is the hash of.
func (c *chain) next(prev uint64) uint64 {
	binary.LittleEndian.PutUint64(c.buf[:], prev)
	return maphash.Bytes(c.seed, c.buf[:])
}

func (c *chain) block() *[blockBytes]byte { return (*[blockBytes]byte)(c.buf[8:]) }

// sum hashes a text. It is never 0, which stands for no hash.
func sum(seed maphash.Seed, s string) uint64 { return max(1, maphash.String(seed, s)) }
