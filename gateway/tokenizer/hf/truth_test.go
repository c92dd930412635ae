package hf_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/weirgate/weir/gateway/tokenizer/hf"
	"github.com/weirgate/weir/gateway/tokenizer/internal/truth"
	"github.com/weirgate/weir/gateway/tokenizer/internal/ucd"
	"github.com/weirgate/weir/gateway/tokenizer/vocab"
)

var cached sync.Map // name: func() (*vocab.Tokenizer, error)

// open returns the tokenizer of a real vocabulary, made once for all tests.
func open(tb testing.TB, name string) *vocab.Tokenizer {
	tb.Helper()
	data := truth.Vocabulary(tb, name)
	once, _ := cached.LoadOrStore(name, sync.OnceValues(func() (*vocab.Tokenizer, error) {
		spec, err := hf.Parse(data)
		if err != nil {
			return nil, err
		}
		return vocab.New(spec)
	}))
	tok, err := once.(func() (*vocab.Tokenizer, error))()
	if err != nil {
		tb.Fatal(err)
	}
	return tok
}

// Every document has the ids that the reference implementation gives it, with the cache and without, and
// from an image too.
func TestTruth(t *testing.T) {
	t.Parallel()
	for _, name := range truth.Names() {
		t.Run(name, func(t *testing.T) {
			tok := open(t, name)
			cache := tok.NewCache(1 << 20)
			truth.Compare(t, name, func(text string) []uint32 {
				ids := tok.Encode(nil, text)
				if !slices.Equal(cache.Encode(nil, text, nil), ids) {
					t.Errorf("the cache gives other ids for %.100q", text)
				}
				return ids
			})
		})
	}
}

func TestTruthOfImages(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"qwen3", "llama2"} {
		t.Run(name, func(t *testing.T) {
			spec, err := hf.Parse(truth.Vocabulary(t, name))
			if err != nil {
				t.Fatal(err)
			}
			if spec, err = vocab.ReadImage(vocab.AppendImage(nil, spec)); err != nil {
				t.Fatal(err)
			}
			tok, err := vocab.New(spec)
			if err != nil {
				t.Fatal(err)
			}
			truth.Compare(t, name, func(text string) []uint32 { return tok.Encode(nil, text) })
		})
	}
}

// Byte-level vocabularies lose nothing. SentencePiece's have one character for U+2581 and the blank, and
// the one that puts a blank first does so behind control tokens too.
func TestRealRoundTrip(t *testing.T) {
	t.Parallel()
	docs, nfc := truth.Corpus(t), ucd.NewNormalizer(ucd.NFC)
	for _, name := range truth.Names() {
		t.Run(name, func(t *testing.T) {
			tok := open(t, name)
			var ids []uint32
			for i, d := range docs {
				want := d.Text
				switch name {
				case "qwen3":
					want = string(nfc.Append(nil, want))
				case "gemma3", "llama2":
					want = strings.ReplaceAll(want, "▁", " ")
				}
				ids = tok.Encode(ids[:0], d.Text)
				if name == "llama2" && hasSpecial(tok, ids) {
					continue
				}
				if got := string(tok.Decode(nil, ids, false)); got != want {
					t.Fatalf("document %d (%s): %q decoded as %q", i, d.Kind, want, got)
				}
				s := tok.Stream(false)
				var out []byte
				for _, id := range ids {
					if out = s.Append(out, id); !utf8.Valid(out) {
						t.Fatalf("document %d: half a character", i)
					}
				}
				if out = s.Flush(out); string(out) != want {
					t.Fatalf("document %d (%s): %q streamed as %q", i, d.Kind, want, out)
				}
			}
		})
	}
}

func hasSpecial(tok *vocab.Tokenizer, ids []uint32) bool {
	return slices.ContainsFunc(ids, tok.Special)
}

// Prompts can be put together at control tokens, but for the vocabulary that puts a blank before each text.
func TestRealConcatenation(t *testing.T) {
	t.Parallel()
	docs := truth.Corpus(t)
	for _, name := range truth.Names() {
		t.Run(name, func(t *testing.T) {
			tok := open(t, name)
			if got := tok.Concatenates(); got != (name != "llama2") {
				t.Fatalf("concatenates: %v", got)
			}
			end := markers[name][1]
			if id, ok := tok.ID(end); !ok || !tok.Special(id) {
				t.Fatalf("%s is no control token", end)
			}
			if name == "llama2" {
				return
			}
			cache := tok.NewCache(1 << 20)
			for i := 1; i < len(docs); i += 7 {
				a, b := docs[i-1].Text, end+docs[i].Text
				want := tok.Encode(nil, a+b)
				var e vocab.Encoded
				cache.EncodeText(&e, a, nil)
				if cache.EncodeText(&e, b, nil); !slices.Equal(e.IDs, want) {
					t.Fatalf("documents %d and %d differ from both in one", i-1, i)
				}
				if whole := fmt.Sprint(want); strings.ReplaceAll(whole[1:len(whole)-1], " ", ",") != string(bytes.Join(e.Text(), nil)) {
					t.Fatalf("documents %d and %d: the text is not that of the ids", i-1, i)
				}
			}
		})
	}
}
