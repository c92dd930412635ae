package gguf_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/weirgate/weir/gateway/tokenizer/gguf"
	"github.com/weirgate/weir/gateway/tokenizer/internal/truth"
	"github.com/weirgate/weir/gateway/tokenizer/split"
	"github.com/weirgate/weir/gateway/tokenizer/vocab"
)

// writer writes the metadata of a file.
type writer struct {
	pairs int
	body  []byte
}

func (w *writer) u32(v uint32) { w.body = binary.LittleEndian.AppendUint32(w.body, v) }
func (w *writer) u64(v uint64) { w.body = binary.LittleEndian.AppendUint64(w.body, v) }

func (w *writer) text(s string) {
	w.u64(uint64(len(s)))
	w.body = append(w.body, s...)
}

func (w *writer) put(key string, value any) *writer {
	w.pairs++
	w.text(key)
	array := func(of uint32, n int) {
		w.u32(9)
		w.u32(of)
		w.u64(uint64(n))
	}
	switch v := value.(type) {
	case string:
		w.u32(8)
		w.text(v)
	case uint32:
		w.u32(4)
		w.u32(v)
	case bool:
		w.u32(7)
		w.body = append(w.body, map[bool]byte{true: 1}[v])
	case float64:
		w.u32(12)
		w.u64(math.Float64bits(v))
	case []string:
		array(8, len(v))
		for _, s := range v {
			w.text(s)
		}
	case []float32:
		array(6, len(v))
		for _, f := range v {
			w.u32(math.Float32bits(f))
		}
	case []int32:
		array(5, len(v))
		for _, i := range v {
			w.u32(uint32(i))
		}
	}
	return w
}

func (w *writer) file() []byte {
	out := []byte("GGUF\x03\x00\x00\x00")
	out = binary.LittleEndian.AppendUint64(out, 291)
	out = binary.LittleEndian.AppendUint64(out, uint64(w.pairs))
	return append(append(out, w.body...), "what follows are weights"...)
}

func read(t *testing.T, w *writer) (*gguf.File, *vocab.Tokenizer) {
	t.Helper()
	f, err := gguf.Read(bytes.NewReader(w.file()))
	if err != nil {
		t.Fatal(err)
	}
	spec, err := f.Vocabulary()
	if err != nil {
		t.Fatal(err)
	}
	tok, err := vocab.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	return f, tok
}

// byteLevel is a small vocabulary of the kind gpt2.
func byteLevel() *writer {
	return new(writer).
		put("general.architecture", "qwen2").put("general.name", "Small").put("x.unknown", []int32{1, 2, 3}).put("x.float", 1.5).
		put("tokenizer.ggml.model", "gpt2").put("tokenizer.ggml.pre", "qwen2").
		put("tokenizer.ggml.tokens", []string{"a", "b", "Ġ", "ab", "Ġab", "<end>", "<think>"}).put("tokenizer.ggml.merges", []string{"a b", "Ġ ab"}).
		put("tokenizer.ggml.token_type", []int32{1, 1, 1, 1, 1, 3, 4}).
		put("tokenizer.ggml.bos_token_id", uint32(5)).put("tokenizer.ggml.add_bos_token", true).
		put("tokenizer.chat_template", "{{ messages }}").put("tokenizer.chat_template.tool_use", "{{ tools }}")
}

func TestByteLevel(t *testing.T) {
	t.Parallel()
	f, tok := read(t, byteLevel())
	if f.Architecture != "qwen2" || f.Name != "Small" || f.ChatTemplate != "{{ messages }}" || f.Templates["tool_use"] != "{{ tools }}" {
		t.Errorf("read %+v", f)
	}
	if got, want := tok.EncodeAround(nil, "ab ab<end><think>"), []uint32{5, 3, 4, 5, 6}; !slices.Equal(got, want) {
		t.Errorf("ids %v, want %v", got, want)
	}
	if !tok.Special(5) || tok.Special(6) {
		t.Error("the control token and the user's are mixed up")
	}
	if got := string(tok.Decode(nil, []uint32{3, 4, 5}, true)); got != "ab ab" {
		t.Errorf("decoded %q", got)
	}
}

func TestSentencePiece(t *testing.T) {
	t.Parallel()
	w := new(writer).put("tokenizer.ggml.model", "llama").
		put("tokenizer.ggml.tokens", []string{"<unk>", "<s>", "▁", "a", "b", "ab", "▁a", "unused"}).
		put("tokenizer.ggml.scores", []float32{0, 0, -3, -3, -3, -1, -2, 0}).
		put("tokenizer.ggml.token_type", []int32{2, 3, 1, 1, 1, 1, 1, 5}).
		put("tokenizer.ggml.unknown_token_id", uint32(0)).put("tokenizer.ggml.bos_token_id", uint32(1))
	_, tok := read(t, w)
	for text, want := range map[string][]uint32{"ab": {2, 5}, "a a": {6, 6}, "<s>a": {1, 6}, "x": {2, 0}} {
		if got := tok.Encode(nil, text); !slices.Equal(got, want) {
			t.Errorf("%q: ids %v, want %v", text, got, want)
		}
	}
	_, tok = read(t, w.put("tokenizer.ggml.add_space_prefix", false))
	if got, want := tok.EncodeAround(nil, "ab"), []uint32{1, 5}; !slices.Equal(got, want) {
		t.Errorf("without a blank first: ids %v, want %v", got, want)
	}
}

// The metadata that converters write for real vocabularies gives their ids.
func TestTruth(t *testing.T) {
	t.Parallel()
	for name, pre := range map[string]string{"qwen3": "qwen2", "llama3_1": "llama-bpe", "deepseek_v3": "deepseek-v3", "llama2": ""} {
		t.Run(name, func(t *testing.T) {
			_, tok := read(t, convert(t, truth.Vocabulary(t, name), pre))
			truth.Compare(t, name, func(text string) []uint32 { return tok.Encode(nil, text) })
		})
	}
}

// convert writes the metadata for a tokenizer.json; pre is empty for SentencePiece, whose scores are in the
// order of the merges.
func convert(t *testing.T, data []byte, pre string) *writer {
	t.Helper()
	var f struct {
		Added []struct {
			ID      int    `json:"id"`
			Content string `json:"content"`
			Special bool   `json:"special"`
		} `json:"added_tokens"`
		Model struct {
			Vocab  map[string]int    `json:"vocab"`
			Merges []json.RawMessage `json:"merges"`
		} `json:"model"`
	}
	if err := json.Unmarshal(data, &f); err != nil {
		t.Fatal(err)
	}
	n := len(f.Model.Vocab)
	for _, a := range f.Added {
		n = max(n, a.ID+1)
	}
	tokens, types, scores := make([]string, n), make([]int32, n), make([]float32, n)
	for i := range types {
		types[i] = 5
	}
	for text, id := range f.Model.Vocab {
		tokens[id], types[id] = text, 1
		if pre == "" && strings.HasPrefix(text, "<0x") {
			types[id] = 6
		}
	}
	for _, a := range f.Added {
		tokens[a.ID], types[a.ID] = a.Content, map[bool]int32{true: 3, false: 4}[a.Special]
	}
	w := new(writer).put("tokenizer.ggml.tokens", tokens).put("tokenizer.ggml.token_type", types)
	merges := make([]string, len(f.Model.Merges))
	for i, raw := range f.Model.Merges {
		var pair []string
		if json.Unmarshal(raw, &pair) == nil {
			merges[i] = strings.Join(pair, " ")
		} else if err := json.Unmarshal(raw, &merges[i]); err != nil {
			t.Fatal(err)
		}
	}
	if pre == "" {
		for i, m := range slices.Backward(merges) {
			scores[f.Model.Vocab[strings.Replace(m, " ", "", 1)]] = float32(-i)
		}
		return w.put("tokenizer.ggml.model", "llama").put("tokenizer.ggml.scores", scores).put("tokenizer.ggml.unknown_token_id", uint32(0))
	}
	return w.put("tokenizer.ggml.model", "gpt2").put("tokenizer.ggml.pre", pre).put("tokenizer.ggml.merges", merges)
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	good := byteLevel().file()
	huge := slices.Clone(good)
	binary.LittleEndian.PutUint64(huge[24:], 1<<60) // the length of the first key
	many := slices.Clone(good)
	binary.LittleEndian.PutUint64(many[16:], 1<<40)
	for name, file := range map[string][]byte{
		"empty": nil, "no magic": []byte("GGML\x03\x00\x00\x00"), "version": []byte("GGUF\x09\x00\x00\x00"), "cut": good[:len(good)/2],
		"huge key": huge, "many pairs": many, "type": new(writer).put("general.name", uint32(1)).file(),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := gguf.Read(bytes.NewReader(file)); !errors.Is(err, gguf.ErrMalformed) {
				t.Errorf("error %v, want one of ErrMalformed", err)
			}
		})
	}
	tokens := []string{"a", "b"}
	for name, c := range map[string]struct {
		w    *writer
		want error
	}{
		"no vocabulary": {new(writer).put("tokenizer.ggml.model", "none"), gguf.ErrNoVocabulary},
		"model":         {new(writer).put("tokenizer.ggml.model", "rwkv").put("tokenizer.ggml.tokens", tokens), gguf.ErrUnsupported},
		"pre-tokenizer": {new(writer).put("tokenizer.ggml.model", "gpt2").put("tokenizer.ggml.pre", "x").put("tokenizer.ggml.tokens", tokens), gguf.ErrUnsupported},
		"types":         {new(writer).put("tokenizer.ggml.model", "gpt2").put("tokenizer.ggml.tokens", tokens).put("tokenizer.ggml.token_type", []int32{1}), gguf.ErrMalformed},
		"scores":        {new(writer).put("tokenizer.ggml.model", "llama").put("tokenizer.ggml.tokens", tokens), gguf.ErrMalformed},
		"merges": {new(writer).put("tokenizer.ggml.model", "gpt2").put("tokenizer.ggml.pre", "gpt-2").put("tokenizer.ggml.tokens", tokens).
			put("tokenizer.ggml.merges", []string{"a b"}), gguf.ErrMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := gguf.Read(bytes.NewReader(c.w.file()))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.Vocabulary(); !errors.Is(err, c.want) {
				t.Errorf("error %v, want one of %v", err, c.want)
			}
		})
	}
}

// The weights, which may be many GB, are not read.
func TestStopsBeforeWeights(t *testing.T) {
	t.Parallel()
	r := &counter{r: io.MultiReader(bytes.NewReader(byteLevel().file()), zeros{})}
	if _, err := gguf.Read(r); err != nil {
		t.Fatal(err)
	}
	if r.n > 1<<20 {
		t.Errorf("%d bytes read", r.n)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

type counter struct {
	r io.Reader
	n int
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += n
	return n, err
}

func FuzzRead(f *testing.F) {
	f.Add(byteLevel().file())
	f.Add(new(writer).put("tokenizer.ggml.model", "llama").put("tokenizer.ggml.tokens", []string{"a"}).put("tokenizer.ggml.scores", []float32{1}).file())
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := gguf.Read(bytes.NewReader(data))
		if err != nil {
			if !errors.Is(err, gguf.ErrMalformed) {
				t.Fatal(err)
			}
			return
		}
		spec, err := file.Vocabulary()
		if err != nil {
			return
		}
		tok, err := vocab.New(spec)
		if err != nil {
			if !errors.Is(err, vocab.ErrVocabulary) && !errors.Is(err, split.ErrUnsupported) {
				t.Fatal(err)
			}
			return
		}
		tok.Decode(nil, tok.Encode(nil, "ab <end>\xff"), true)
	})
}
