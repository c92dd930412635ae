package hf_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/weirgate/weir/gateway/tokenizer/hf"
	"github.com/weirgate/weir/gateway/tokenizer/split"
	"github.com/weirgate/weir/gateway/tokenizer/vocab"
)

// small is a byte-level vocabulary with everything that is usual.
const small = `{
	"version": "1.0", "truncation": null, "padding": null,
	"added_tokens": [{"id": 6, "content": "<end>", "single_word": false, "lstrip": false, "rstrip": true, "normalized": false, "special": true}],
	"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}]},
	"pre_tokenizer": {"type": "Sequence", "pretokenizers": [
		{"type": "Split", "pattern": {"Regex": " ?\\p{L}+|\\s+"}, "behavior": "Isolated", "invert": false},
		{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}]},
	"post_processor": {"type": "Sequence", "processors": [{"type": "ByteLevel"}, {"type": "TemplateProcessing",
		"single": [{"SpecialToken": {"id": "<end>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}], "pair": [],
		"special_tokens": {"<end>": {"id": "<end>", "ids": [6], "tokens": ["<end>"]}}}]},
	"decoder": {"type": "ByteLevel"},
	"model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null, "end_of_word_suffix": null,
		"fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
		"vocab": {"a": 0, "b": 1, "Ġ": 2, "ab": 3, "Ġab": 4, "<ｘ>": 5}, "merges": ["a b", ["Ġ", "ab"]]}
}`

func parse(t *testing.T, data string) *vocab.Tokenizer {
	t.Helper()
	spec, err := hf.Parse([]byte(data))
	if err != nil {
		t.Fatal(err)
	}
	tok, err := vocab.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func TestParse(t *testing.T) {
	t.Parallel()
	for name, merges := range map[string]string{"pairs": `[["a", "b"], ["Ġ", "ab"]]`, "texts": `["a b", "Ġ ab"]`} {
		t.Run(name, func(t *testing.T) {
			tok := parse(t, strings.Replace(small, `["a b", ["Ġ", "ab"]]`, merges, 1))
			if got, want := tok.EncodeAround(nil, "ab ab<end> b"), []uint32{6, 3, 4, 6, 1}; !slices.Equal(got, want) {
				t.Errorf("ids %v, want %v", got, want)
			}
			if got := string(tok.Decode(nil, []uint32{3, 4, 5, 6}, false)); got != "ab ab<ｘ><end>" {
				t.Errorf("decoded %q", got)
			}
			if got := string(tok.Decode(nil, []uint32{3, 6, 4}, true)); got != "ab ab" {
				t.Errorf("decoded %q without control tokens", got)
			}
		})
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	pairs := strings.Replace(small, `["a b", ["Ġ", "ab"]]`, `["a b", "Ġ ab"]`, 1)
	for _, c := range []struct {
		name, old, by string
		want          error
		says          string
	}{
		{"no JSON", `{`, `[`, hf.ErrMalformed, ""},
		{"normalizer", `"NFC"`, `"Precompiled"`, hf.ErrUnsupported, `normalizer[0] of type "Precompiled"`},
		{"pre-tokenizer", `"Split"`, `"UnicodeScripts"`, hf.ErrUnsupported, `pre_tokenizer[0] of type "UnicodeScripts"`},
		{"decoder", `"decoder": {"type": "ByteLevel"}`, `"decoder": {"type": "CTC"}`, hf.ErrUnsupported, `decoder of type "CTC"`},
		{"post-processor", `[{"type": "ByteLevel"}, {"type": "Temp`, `[{"type": "Other"}, {"type": "Temp`, hf.ErrUnsupported, `post_processor[0] of type "Other"`},
		{"model", `"BPE"`, `"WordLevel"`, hf.ErrUnsupported, `model of type "WordLevel"`},
		{"behavior", `"Isolated"`, `"Sometimes"`, hf.ErrUnsupported, `"Sometimes"`},
		{"dropout", `"dropout": null`, `"dropout": 0.1`, hf.ErrUnsupported, "dropout"},
		{"suffix", `"end_of_word_suffix": null`, `"end_of_word_suffix": "</w>"`, hf.ErrUnsupported, "end_of_word_suffix"},
		{"pattern", `\\p{L}+`, `(?<=a)`, split.ErrUnsupported, "this kind of group"},
		{"merge of no token", `"Ġ ab"`, `"b b"`, hf.ErrMalformed, "merges[1]"},
		{"merge of three", `"Ġ ab"`, `"Ġ a b"`, hf.ErrMalformed, "merges[1]"},
		{"unknown token", `"unk_token": null`, `"unk_token": "?"`, hf.ErrMalformed, `"?"`},
		{"id twice", `"b": 1`, `"b": 0`, hf.ErrMalformed, "id 0 twice"},
		{"id too high", `"b": 1`, `"b": 99999999`, hf.ErrMalformed, "id 99999999"},
		{"added id too high", `"id": 6`, `"id": 99999999`, hf.ErrMalformed, "added_tokens[0]"},
		{"bytes on one way only", `"decoder": {"type": "ByteLevel"}`, `"decoder": {"type": "Fuse"}`, hf.ErrUnsupported, "ByteLevel"},
		{"template of a pair", `"Sequence": {"id": "A"`, `"Sequence": {"id": "B"`, hf.ErrMalformed, "single[1]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.Contains(pairs, c.old) {
				t.Fatalf("the file has no %s", c.old)
			}
			spec, err := hf.Parse([]byte(strings.Replace(pairs, c.old, c.by, 1)))
			if err == nil {
				_, err = vocab.New(spec)
			}
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v, want %v that says %s", err, c.want, c.says)
			}
		})
	}
}

func TestNestedSequences(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"type": "Sequence", "normalizers": [`, 50) + `{"type": "NFC"}` + strings.Repeat(`]}`, 50)
	if _, err := hf.Parse([]byte(`{"normalizer": ` + deep + `}`)); !errors.Is(err, hf.ErrMalformed) {
		t.Errorf("error %v, want one of ErrMalformed", err)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	class, added, err := hf.Config([]byte(`{"tokenizer_class": "C", "added_tokens_decoder": {"10": {"content": "b", "rstrip": true}, "9": {"content": "a", "special": true}}}`))
	want := []vocab.Added{{ID: 9, Text: "a", Special: true}, {ID: 10, Text: "b", RightStrip: true}}
	if err != nil || class != "C" || !slices.Equal(added, want) {
		t.Errorf("class %q, tokens %v, error %v, want C and %v", class, added, err, want)
	}
	for _, data := range []string{`[]`, `{"added_tokens_decoder": {"x": {"content": "a"}}}`, `{"added_tokens_decoder": {"1": {}}}`} {
		if _, _, err := hf.Config([]byte(data)); !errors.Is(err, hf.ErrMalformed) {
			t.Errorf("%s: error %v, want one of ErrMalformed", data, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(small))
	f.Add([]byte(strings.Replace(small, `["a b", ["Ġ", "ab"]]`, `["a b", "Ġ ab"]`, 1)))
	f.Add([]byte(`{"model": {"type": "Unigram", "unk_id": 0, "vocab": [["?", 0], ["a", -1.5]], "byte_fallback": true},
		"pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first"}, "decoder": {"type": "Metaspace", "replacement": "▁"}}`))
	f.Add([]byte(`{"model": {"type": "WordPiece", "unk_token": "?", "vocab": {"?": 0, "a": 1, "##b": 2}}, "normalizer": {"type": "BertNormalizer"},
		"pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": {"type": "BertProcessing", "sep": ["?", 0], "cls": ["?", 0]}, "decoder": {"type": "WordPiece", "prefix": "##"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		spec, err := hf.Parse(data)
		if err != nil {
			if !errors.Is(err, hf.ErrMalformed) && !errors.Is(err, hf.ErrUnsupported) {
				t.Fatal(err)
			}
			return
		}
		tok, err := vocab.New(spec)
		if err != nil {
			return
		}
		ids := tok.EncodeAround(nil, "ab a<end> b\xff漢")
		tok.Decode(nil, ids, true)
		tok.Decode(nil, ids, false)
	})
}
