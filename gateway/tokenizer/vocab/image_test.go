package vocab_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/weirgate/weir/gateway/tokenizer/vocab"
)

// fullSpec uses every field.
func fullSpec() *vocab.Spec {
	s := bytesSpec()
	s.Scores = []float64{1.5, -2, 0}
	s.Literal, s.Unknown, s.Continuing, s.MaxWord = []uint32{1, 2}, 5, "##", 7
	s.ByteFallback, s.FuseUnknown, s.IgnoreMerges = true, true, true
	s.Added = append(s.Added, vocab.Added{ID: 400, Text: "x", SingleWord: true, LeftStrip: true, RightStrip: true, Normalized: true})
	s.Normalize = []vocab.Step{{Kind: vocab.Replace, Text: "a", With: "b", Regex: true, Fancy: true}}
	s.Cut = append(s.Cut, vocab.Step{Kind: vocab.Metaspace, Text: "▁", Scheme: vocab.First, Flag: true, Behavior: vocab.Next, Invert: true})
	s.Decode = append(s.Decode, vocab.Step{Kind: vocab.Strip, Text: " ", Start: 1, Stop: 2})
	s.Before, s.After = []uint32{3}, []uint32{4, 5}
	return s
}

func TestImage(t *testing.T) {
	t.Parallel()
	s := fullSpec()
	image := vocab.AppendImage([]byte("before"), s)[len("before"):]
	got, err := vocab.ReadImage(image)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, s) {
		t.Errorf("read %+v, want %+v", got, s)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		bad := slices.Clone(image)
		bad[rng.IntN(len(bad))] ^= byte(1 + rng.IntN(255))
		if _, err := vocab.ReadImage(bad); !errors.Is(err, vocab.ErrVocabulary) {
			t.Fatalf("damaged: error %v, want one of ErrVocabulary", err)
		}
	}
	for n := range len(image) {
		if _, err := vocab.ReadImage(image[:n]); !errors.Is(err, vocab.ErrVocabulary) {
			t.Fatalf("cut to %d bytes: error %v, want one of ErrVocabulary", n, err)
		}
	}
}

// sealed is content with a checksum that fits.
func sealed(content []byte) []byte {
	return binary.LittleEndian.AppendUint32(content, crc32.Checksum(content, crc32.MakeTable(crc32.Castagnoli)))
}

func TestImageOfAnotherVersion(t *testing.T) {
	t.Parallel()
	image := vocab.AppendImage(nil, bytesSpec())
	body := slices.Clone(image[:len(image)-4])
	body[4]++
	if _, err := vocab.ReadImage(sealed(body)); !errors.Is(err, vocab.ErrVocabulary) {
		t.Errorf("error %v, want one of ErrVocabulary", err)
	}
}

// FuzzImage seals what it is given, so that the fields behind the checksum are reached.
func FuzzImage(f *testing.F) {
	for _, s := range []*vocab.Spec{bytesSpec(), fullSpec(), {Unknown: vocab.NoToken}} {
		image := vocab.AppendImage(nil, s)
		f.Add(image[:len(image)-4])
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		s, err := vocab.ReadImage(sealed(bytes.Clone(content)))
		if err != nil {
			if !errors.Is(err, vocab.ErrVocabulary) {
				t.Fatal(err)
			}
			return
		}
		tok, err := vocab.New(s)
		if err != nil {
			return
		}
		ids := tok.Encode(nil, "ab <|start|>漢\xff")
		tok.Decode(nil, ids, true)
	})
}
