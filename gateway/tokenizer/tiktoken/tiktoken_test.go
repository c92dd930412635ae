package tiktoken_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weirgate/weir/gateway/tokenizer/hf"
	"github.com/weirgate/weir/gateway/tokenizer/internal/truth"
	"github.com/weirgate/weir/gateway/tokenizer/split"
	"github.com/weirgate/weir/gateway/tokenizer/tiktoken"
	"github.com/weirgate/weir/gateway/tokenizer/vocab"
)

func line(token string, rank int) string {
	return fmt.Sprintf("%s %d\n", base64.StdEncoding.EncodeToString([]byte(token)), rank)
}

// The ranks of two vocabularies, written as a rank file, give the ids that their merges give.
func TestTruth(t *testing.T) {
	t.Parallel()
	for name, pattern := range map[string]string{"gptoss": tiktoken.O200K, "llama3_1": tiktoken.CL100K} {
		t.Run(name, func(t *testing.T) {
			from, err := hf.Parse(truth.Vocabulary(t, name))
			if err != nil {
				t.Fatal(err)
			}
			literal := make(map[uint32]bool)
			for _, id := range from.Literal {
				literal[id] = true
			}
			var file strings.Builder
			for id, token := range from.Tokens {
				if !literal[uint32(id)] {
					file.WriteString(line(token, id))
				}
			}
			spec, err := tiktoken.Parse([]byte(file.String()), pattern, from.Added)
			if err != nil {
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

func TestParse(t *testing.T) {
	t.Parallel()
	var file strings.Builder
	for i := range 256 {
		file.WriteString(line(string([]byte{byte(i)}), i))
	}
	file.WriteString("\n" + line("ab", 256) + line("bc", 257) + line("abc", 258) + line(" a", 300))
	spec, err := tiktoken.Parse([]byte(file.String()), tiktoken.CL100K, []vocab.Added{{ID: 301, Text: "<|end|>", Special: true}})
	if err != nil {
		t.Fatal(err)
	}
	tok, err := vocab.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]uint32{
		"abc": {258}, "abcx": {258, 'x'}, "bcab": {257, 256}, " a<|end|>": {300, 301}, "漢": {0xe6, 0xbc, 0xa2},
	} {
		got := tok.Encode(nil, text)
		if !slices.Equal(got, want) {
			t.Errorf("%q: ids %v, want %v", text, got, want)
		}
		if back := string(tok.Decode(nil, got, false)); back != text {
			t.Errorf("%q decoded as %q", text, back)
		}
	}
}

func TestPatternsCompile(t *testing.T) {
	t.Parallel()
	for name, pattern := range map[string]string{"GPT2": tiktoken.GPT2, "CL100K": tiktoken.CL100K, "O200K": tiktoken.O200K, "Kimi": tiktoken.Kimi} {
		if p, err := split.Compile(pattern, split.Fancy); err != nil || !p.Fast() {
			t.Errorf("%s: %v, or no scanner of its own", name, err)
		}
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]string{
		"no rank":           "YQ==",
		"no base64":         "!!! 1",
		"empty token":       " 1",
		"rank is no number": "YQ== x",
		"rank too high":     "YQ== 99999999",
		"negative rank":     "YQ== -1",
		"token twice":       "YQ== 1\nYQ== 2",
		"rank twice":        "YQ== 1\nYg== 1",
		"long token":        line(strings.Repeat("x", 2000), 1),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := tiktoken.Parse([]byte(file), tiktoken.GPT2, nil); !errors.Is(err, tiktoken.ErrMalformed) {
				t.Errorf("error %v, want one of ErrMalformed", err)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(line("a", 0) + line("b", 1) + line("ab", 2)))
	f.Add([]byte("YQ== 1\r\n\r\nYg== 7"))
	f.Fuzz(func(t *testing.T, file []byte) {
		spec, err := tiktoken.Parse(file, tiktoken.GPT2, nil)
		if err != nil {
			if !errors.Is(err, tiktoken.ErrMalformed) {
				t.Fatal(err)
			}
			return
		}
		tok, err := vocab.New(spec)
		if err != nil {
			return
		}
		tok.Decode(nil, tok.Encode(nil, "ab aab\xff"), true)
	})
}
