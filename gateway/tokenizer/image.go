package tokenizer

import (
	"encoding/binary"
	"fmt"
)

const (
	imageMagic = "WTK1"
	maxImage   = 32 << 20
)

// AppendImage appends the tokenizer as Load reads it: "WTK1", the number of merges and their pairs, the
// number of special tokens, each as its length and bytes; all numbers as unsigned varints.
func (t *Tokenizer) AppendImage(dst []byte) []byte {
	dst = append(dst, imageMagic...)
	dst = binary.AppendUvarint(dst, uint64(len(t.merges)))
	for _, p := range t.merges {
		dst = binary.AppendUvarint(dst, uint64(p.Left))
		dst = binary.AppendUvarint(dst, uint64(p.Right))
	}
	dst = binary.AppendUvarint(dst, uint64(len(t.specials)))
	for _, s := range t.specials {
		dst = binary.AppendUvarint(dst, uint64(len(s.Text)))
		dst = append(dst, s.Text...)
	}
	return dst
}

// Load reads what AppendImage wrote. Its errors wrap ErrVocabulary; what it allocates is bounded by the
// length of the image and the limits of this package.
func Load(image []byte) (*Tokenizer, error) {
	if len(image) > maxImage || len(image) < len(imageMagic) || string(image[:len(imageMagic)]) != imageMagic {
		return nil, fmt.Errorf("%w: %d bytes that are no tokenizer image", ErrVocabulary, len(image))
	}
	r := imageReader{rest: image[len(imageMagic):]}
	merges := make([]Pair, r.count(2, MaxMerges))
	for i := range merges {
		merges[i] = Pair{Left: r.id(), Right: r.id()}
	}
	specials := make([]string, r.count(2, MaxSpecials))
	for i := range specials {
		specials[i] = r.text()
	}
	if r.bad || len(r.rest) > 0 {
		return nil, fmt.Errorf("%w: image is malformed %d bytes before its end", ErrVocabulary, len(r.rest))
	}
	return New(merges, specials)
}

// imageReader reads varints until one is bad; from then on it reads zeros.
type imageReader struct {
	rest []byte
	bad  bool
}

func (r *imageReader) number(limit uint64) uint64 {
	v, n := binary.Uvarint(r.rest)
	if r.bad || n <= 0 || v > limit {
		r.bad = true
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// count reads the number of things of at least size bytes each: no more than the bytes left can hold.
func (r *imageReader) count(size, limit int) int {
	return int(r.number(uint64(min(limit, len(r.rest)/size))))
}

func (r *imageReader) id() uint32 { return uint32(r.number(firstMerge + MaxMerges)) }

func (r *imageReader) text() string {
	n := r.count(1, MaxToken)
	if r.bad || n > len(r.rest) {
		r.bad = true
		return ""
	}
	s := string(r.rest[:n])
	r.rest = r.rest[n:]
	return s
}
