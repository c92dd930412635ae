package vocab

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
)

// ImageVersion is part of every image, and changes when what an image holds does.
const ImageVersion = 1

const imageMagic = "WVOC"

// castagnoli has instructions of its own on most machines.
func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// AppendImage appends s in a form that is read some ten times faster than the files that vocabularies
// come in: "WVOC", then the version and the fields of Spec in order as unsigned varints, texts with their
// length before them, scores as float64; then the Castagnoli CRC of all that, little-endian.
func AppendImage(dst []byte, s *Spec) []byte {
	from := len(dst)
	w := imageWriter{append(dst, imageMagic...)}
	w.number(ImageVersion)
	w.number(int(s.Model))
	w.number(len(s.Tokens))
	for _, t := range s.Tokens {
		w.number(len(t))
	}
	for _, t := range s.Tokens {
		w.b = append(w.b, t...)
	}
	w.number(len(s.Scores))
	for _, f := range s.Scores {
		w.b = binary.LittleEndian.AppendUint64(w.b, math.Float64bits(f))
	}
	w.number(len(s.Merges))
	last := uint32(0)
	for _, m := range s.Merges {
		w.number(int(m.Left))
		w.number(int(m.Right))
		w.number(int(m.ID))
		w.b = binary.AppendVarint(w.b, int64(m.Rank)-int64(last))
		last = m.Rank
	}
	w.flags(s.ByteLevel, s.ByteFallback, s.FuseUnknown, s.IgnoreMerges)
	w.ids(s.Literal)
	w.number(int(s.Unknown))
	w.text(s.Continuing)
	w.number(max(s.MaxWord, 0))
	w.number(len(s.Added))
	for _, a := range s.Added {
		w.number(int(a.ID))
		w.text(a.Text)
		w.flags(a.Special, a.SingleWord, a.LeftStrip, a.RightStrip, a.Normalized)
	}
	for _, steps := range [][]Step{s.Normalize, s.Cut, s.Decode} {
		w.number(len(steps))
		for _, p := range steps {
			w.number(int(p.Kind))
			w.text(p.Text)
			w.text(p.With)
			w.flags(p.Regex, p.Fancy, p.Invert, p.Flag)
			w.number(int(p.Behavior))
			w.number(int(p.Scheme))
			w.number(max(p.Start, 0))
			w.number(max(p.Stop, 0))
		}
	}
	w.ids(s.Before)
	w.ids(s.After)
	return binary.LittleEndian.AppendUint32(w.b, checksum(w.b[from:]))
}

type imageWriter struct{ b []byte }

func (w *imageWriter) number(n int) { w.b = binary.AppendUvarint(w.b, uint64(n)) }

func (w *imageWriter) text(s string) {
	w.number(len(s))
	w.b = append(w.b, s...)
}

func (w *imageWriter) flags(flags ...bool) {
	bits := 0
	for i, f := range flags {
		if f {
			bits |= 1 << i
		}
	}
	w.number(bits)
}

func (w *imageWriter) ids(ids []uint32) {
	w.number(len(ids))
	for _, id := range ids {
		w.number(int(id))
	}
}

// ReadImage reads what AppendImage wrote. Its errors wrap ErrVocabulary; what it allocates is bounded by
// the length of the image. New still checks what the image says.
func ReadImage(image []byte) (*Spec, error) {
	n := len(image) - 4
	if n < len(imageMagic) || string(image[:len(imageMagic)]) != imageMagic || checksum(image[:n]) != binary.LittleEndian.Uint32(image[n:]) {
		return nil, fmt.Errorf("%w: %d bytes that are no image, or are damaged", ErrVocabulary, len(image))
	}
	r := imageReader{rest: string(image[len(imageMagic):n])}
	if v := r.number(math.MaxUint32); v != ImageVersion {
		return nil, fmt.Errorf("%w: an image of version %d, want %d", ErrVocabulary, v, ImageVersion)
	}
	s := &Spec{Model: Model(r.number(math.MaxUint8))}
	s.Tokens = r.tokens()
	s.Scores = make([]float64, r.count(8))
	for i := range s.Scores {
		s.Scores[i] = r.float()
	}
	s.Merges = make([]Merge, r.count(4))
	last := int64(0)
	for i := range s.Merges {
		s.Merges[i] = Merge{Left: r.id(), Right: r.id(), ID: r.id()}
		last += r.signed()
		s.Merges[i].Rank = uint32(last)
	}
	r.flags(&s.ByteLevel, &s.ByteFallback, &s.FuseUnknown, &s.IgnoreMerges)
	s.Literal = r.ids()
	s.Unknown = r.id()
	s.Continuing = r.text()
	s.MaxWord = int(r.number(math.MaxInt32))
	s.Added = make([]Added, r.count(3))
	for i := range s.Added {
		a := &s.Added[i]
		a.ID, a.Text = r.id(), r.text()
		r.flags(&a.Special, &a.SingleWord, &a.LeftStrip, &a.RightStrip, &a.Normalized)
	}
	s.Normalize, s.Cut, s.Decode = r.steps(), r.steps(), r.steps()
	s.Before, s.After = r.ids(), r.ids()
	if r.bad || r.rest != "" {
		return nil, fmt.Errorf("%w: image is malformed %d bytes before its end", ErrVocabulary, len(r.rest))
	}
	return s, nil
}

// imageReader reads until something is bad; from then on it reads zeros.
type imageReader struct {
	rest string
	bad  bool
}

func (r *imageReader) number(limit uint64) uint64 {
	v, shift := uint64(0), 0
	for i := 0; i < len(r.rest) && shift < 64; i++ {
		c := r.rest[i]
		v |= uint64(c&0x7f) << shift
		shift += 7
		if c < 0x80 {
			if r.bad || v > limit {
				break
			}
			r.rest = r.rest[i+1:]
			return v
		}
	}
	r.bad = true
	return 0
}

func (r *imageReader) signed() int64 {
	v := r.number(math.MaxUint64)
	return int64(v>>1) ^ -int64(v&1)
}

// count reads the number of things of at least size bytes each: no more than the bytes left can hold.
func (r *imageReader) count(size int) int { return int(r.number(uint64(len(r.rest) / size))) }

func (r *imageReader) id() uint32 { return uint32(r.number(math.MaxUint32)) }

func (r *imageReader) ids() []uint32 {
	ids := make([]uint32, r.count(1))
	for i := range ids {
		ids[i] = r.id()
	}
	return ids
}

func (r *imageReader) take(n int) string {
	if r.bad || n > len(r.rest) {
		r.bad = true
		return ""
	}
	s := r.rest[:n]
	r.rest = r.rest[n:]
	return s
}

func (r *imageReader) text() string { return r.take(r.count(1)) }

func (r *imageReader) float() float64 {
	b := r.take(8)
	if len(b) < 8 {
		return 0
	}
	return math.Float64frombits(binary.LittleEndian.Uint64([]byte(b)))
}

// tokens reads the lengths of all tokens and then their bytes.
func (r *imageReader) tokens() []string {
	sizes := make([]int, r.count(1))
	for i := range sizes {
		sizes[i] = int(r.number(maxAllBytes))
	}
	tokens := make([]string, len(sizes))
	for i, n := range sizes {
		tokens[i] = r.take(n)
	}
	return tokens
}

func (r *imageReader) flags(to ...*bool) {
	bits := r.number(1<<len(to) - 1)
	for i, f := range to {
		*f = bits>>i&1 != 0
	}
}

func (r *imageReader) steps() []Step {
	steps := make([]Step, r.count(8))
	for i := range steps {
		s := &steps[i]
		s.Kind = Kind(r.number(math.MaxUint8))
		s.Text, s.With = r.text(), r.text()
		r.flags(&s.Regex, &s.Fancy, &s.Invert, &s.Flag)
		s.Behavior, s.Scheme = Behavior(r.number(math.MaxUint8)), Scheme(r.number(math.MaxUint8))
		s.Start, s.Stop = int(r.number(math.MaxInt32)), int(r.number(math.MaxInt32))
	}
	return steps
}
