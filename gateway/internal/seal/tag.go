package seal

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"
)

const (
	macSize  = 16 // of HMAC-SHA256's 32 bytes
	markSize = 3
	// Lengths in characters of base64: the MAC, and then the key's id with the family's mark.
	macChars  = 22
	nameChars = 10
)

// mac computes tags. It is used again: making one hashes two blocks.
type mac struct {
	h   hash.Hash
	buf [1 << 10]byte // of text on its way to h, which takes no strings
	sum [sha256.Size]byte
}

func newMAC(secret []byte) *mac { return &mac{h: hmac.New(sha256.New, secret)} }

// mark is short for a family, so that a tag can be checked by who does not know the family. It keeps no secret, and is
// what the MAC covers of the family.
func mark(family string) (m [markSize]byte) {
	sum := sha256.Sum256([]byte(family))
	copy(m[:], sum[:])
	return m
}

// tag returns the MAC of a text, which is valid until the next call. All but the text, at the end, has its length in
// front or one length.
func tag[T string | []byte](m *mac, tenant string, mark [markSize]byte, text T) []byte {
	m.h.Reset()
	head := append(append(m.buf[:0], prefix...), byte(Tag), '.')
	head = binary.AppendUvarint(head, uint64(len(tenant)))
	m.h.Write(head)
	write(m, tenant)
	m.h.Write(append(m.buf[:0], mark[:]...))
	write(m, text)
	return m.h.Sum(m.sum[:0])[:macSize]
}

func write[T string | []byte](m *mac, s T) {
	for len(s) > 0 {
		n := copy(m.buf[:], s)
		m.h.Write(m.buf[:n])
		s = s[n:]
	}
}

// Tag makes a short seal for a text that the client sees: it holds no copy, and vouches for the text when both come
// back. It is "weir1.t.", HMAC-SHA256 cut to 16 bytes (22 characters), and the key's id with three bytes that stand for
// the family (10 characters).
func (b *Box) Tag(tenant, family string, text []byte) string {
	k := b.keys[0]
	m := k.macs.Get().(*mac)
	defer k.macs.Put(m)
	mark := mark(family)
	sum := tag(m, tenant, mark, text)
	var name [len(k.id) + markSize]byte
	copy(name[copy(name[:], k.id[:]):], mark[:])

	var out [len(prefix) + 2 + macChars + nameChars]byte
	dst := append(append(out[:0], prefix...), byte(Tag), '.')
	dst = b.encoding.AppendEncode(dst, sum)
	return string(b.encoding.AppendEncode(dst, name[:]))
}

// Vouches reports whether a tag is one that a box with these keys made for this tenant and text, and for this family
// unless that is empty.
func (b *Box) Vouches(tenant, family, text, tagged string) bool {
	kind, encoded, err := split(tagged)
	if err != nil || kind != Tag || len(encoded) != macChars+nameChars {
		return false
	}
	var sum [macSize]byte
	var name [len(keyID{}) + markSize]byte
	// The decoder skips line ends: with one in it there are too few bytes.
	if n, err := b.encoding.Decode(sum[:], []byte(encoded[:macChars])); err != nil || n != len(sum) {
		return false
	}
	if n, err := b.encoding.Decode(name[:], []byte(encoded[macChars:])); err != nil || n != len(name) {
		return false
	}
	k := b.find(keyID(name[:len(keyID{})]))
	of := [markSize]byte(name[len(keyID{}):])
	if k == nil || family != "" && of != mark(family) {
		return false
	}
	m := k.macs.Get().(*mac)
	defer k.macs.Put(m)
	return hmac.Equal(sum[:], tag(m, tenant, of, text))
}
