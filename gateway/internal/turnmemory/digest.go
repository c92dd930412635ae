package turnmemory

import (
	"encoding/binary"
	"hash/maphash"
	"strings"
	"unicode"

	"github.com/weirgate/weir/abi/conv"
)

// digest is what two hashes of 64 bits, each with a seed of its own, say of the same bytes.
type digest [16]byte

// seeds are drawn anew for every Memory.
type seeds [2]maphash.Seed

func newSeeds() seeds { return seeds{maphash.MakeSeed(), maphash.MakeSeed()} }

// chain is the digest of three.
func (s *seeds) chain(a, b, c digest) digest {
	var all [3 * len(a)]byte
	copy(all[:], a[:])
	copy(all[len(a):], b[:])
	copy(all[2*len(a):], c[:])
	return pair(maphash.Bytes(s[0], all[:]), maphash.Bytes(s[1], all[:]))
}

func pair(a, b uint64) (d digest) {
	binary.LittleEndian.PutUint64(d[:], a)
	binary.LittleEndian.PutUint64(d[8:], b)
	return d
}

// Tags of items. Each is written with a length, so that no two sequences of items are the same bytes.
const (
	tagRole byte = 1 + iota
	tagName
	tagText
	tagReference
	tagMedia
	tagResult
	tagEnd
	tagCall
	tagArguments
	tagMalformed
	tagInput
)

// digester hashes items. The zero value has to be seeded.
type digester struct{ a, b maphash.Hash }

func (d *digester) seed(s *seeds) {
	d.a.SetSeed(s[0])
	d.b.SetSeed(s[1])
}

func (d *digester) reset() {
	d.a.Reset()
	d.b.Reset()
}

// sum is the digest of all so far, which may go on.
func (d *digester) sum() digest { return pair(d.a.Sum64(), d.b.Sum64()) }

// write and text add bytes. A hash takes everything (package maphash).
func (d *digester) write(b []byte) {
	_, _ = d.a.Write(b)
	_, _ = d.b.Write(b)
}

func (d *digester) text(s string) {
	_, _ = d.a.WriteString(s)
	_, _ = d.b.WriteString(s)
}

func (d *digester) tag(tag byte, n int) {
	var head [9]byte
	head[0] = tag
	binary.LittleEndian.PutUint64(head[1:], uint64(n))
	d.write(head[:])
}

func (d *digester) item(tag byte, s string) {
	d.tag(tag, len(s))
	d.text(s)
}

// part adds a part of a message or result.
func (d *digester) part(p *conv.Part) {
	switch {
	case p.Kind == conv.Text:
		d.item(tagText, p.Text)
	case p.Kind == conv.Reference:
		d.item(tagReference, p.Text)
	case p.Kind == conv.MediaPart && p.Media != nil:
		d.media(p.Media)
	}
}

// media adds media. A data URL is the same as its type and data.
func (d *digester) media(m *conv.Media) {
	mime, url, data := m.MIME, m.URL, m.Data
	if rest, ok := strings.CutPrefix(url, "data:"); ok {
		if head, body, ok := strings.Cut(rest, ","); ok {
			if kind, ok := strings.CutSuffix(head, ";base64"); ok {
				mime, url, data = kind, "", body
			}
		}
	}
	for _, s := range [...]string{m.Type, mime, url, data} {
		d.item(tagMedia, s)
	}
}

// isSpace is what any of the languages that clients are written in trims.
func isSpace(r rune) bool {
	return unicode.IsSpace(r) || r == '\ufeff' || r >= 0x1c && r <= 0x1f
}
