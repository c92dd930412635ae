package hf_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/weirgate/weir/gateway/tokenizer/hf"
	"github.com/weirgate/weir/gateway/tokenizer/vocab"
)

// testCase is a text and what the reference implementation makes of it.
type testCase struct {
	text           string
	ids, around    []uint32
	decoded, shown string // with and without control tokens
}

func (c *testCase) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&c.text, &c.ids, &c.around, &c.decoded, &c.shown})
}

// Each component does what it does in the reference implementation.
func TestPipelines(t *testing.T) {
	t.Parallel()
	f, err := os.Open("testdata/pipelines.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for n := 0; lines.Scan(); n++ {
		var p struct {
			Kind      string          `json:"kind"`
			Tokenizer json.RawMessage `json:"tokenizer"`
			Cases     []testCase      `json:"cases"`
		}
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			t.Fatal(err)
		}
		t.Run(fmt.Sprintf("%d %s", n, p.Kind), func(t *testing.T) {
			spec, err := hf.Parse(p.Tokenizer)
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
			for _, c := range p.Cases {
				if got := tok.Encode(nil, c.text); !slices.Equal(got, c.ids) {
					t.Errorf("%q: ids %v, want %v", c.text, got, c.ids)
				}
				if got := tok.EncodeAround(nil, c.text); !slices.Equal(got, c.around) {
					t.Errorf("%q: ids with those around %v, want %v", c.text, got, c.around)
				}
				if got := string(tok.Decode(nil, c.ids, false)); got != c.decoded {
					t.Errorf("%q decoded as %q, want %q", c.text, got, c.decoded)
				}
				if got := string(tok.Decode(nil, c.ids, true)); got != c.shown {
					t.Errorf("%q shown as %q, want %q", c.text, got, c.shown)
				}
			}
		})
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}
