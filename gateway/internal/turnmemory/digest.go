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

// textOf is the digest of a text. Texts are hashed as keys of maps are, each in one go: bytes that are written to a
// maphash.Hash are hashed 128 at a time, which takes four times as long for texts of some length.
func (s *seeds) textOf(text string) digest {
	return pair(maphash.Comparable(s[0], text), maphash.Comparable(s[1], text))
}

// Tags of items. Each comes with its text, its number or its digest as one value that is hashed, so that no two
// sequences of items are the same.
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
	tagTurn
)

// item, mark and link are a tag with its text, number and digest.
type (
	item struct {
		text string
		tag  byte
	}
	mark struct {
		n   int
		tag byte
	}
	link struct {
		of  digest
		tag byte
	}
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

func (d *digester) tag(tag byte, n int) {
	m := mark{n, tag}
	maphash.WriteComparable(&d.a, m)
	maphash.WriteComparable(&d.b, m)
}

// digest adds what another digest stands for.
func (d *digester) digest(tag byte, of digest) {
	l := link{of, tag}
	maphash.WriteComparable(&d.a, l)
	maphash.WriteComparable(&d.b, l)
}

func (d *digester) item(tag byte, s string) {
	i := item{s, tag}
	maphash.WriteComparable(&d.a, i)
	maphash.WriteComparable(&d.b, i)
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
