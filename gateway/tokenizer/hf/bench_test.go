package hf_test

import (
	"encoding/json"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/weirgate/weir/gateway/tokenizer/hf"
	"github.com/weirgate/weir/gateway/tokenizer/internal/truth"
	"github.com/weirgate/weir/gateway/tokenizer/vocab"
)

// chat returns about 200 KB of a conversation with tools, its turns between the markers of a vocabulary.
func chat(tb testing.TB, open, end string) string {
	tb.Helper()
	data, err := os.ReadFile(truth.Data(tb, "templates", "big.json"))
	if err != nil {
		tb.Fatal(err)
	}
	var big struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
			Calls   json.RawMessage `json:"tool_calls"`
		} `json:"messages"`
		Tools json.RawMessage `json:"tools"`
	}
	if err := json.Unmarshal(data, &big); err != nil {
		tb.Fatal(err)
	}
	var b strings.Builder
	b.Write(big.Tools)
	for _, m := range big.Messages {
		var text string
		if json.Unmarshal(m.Content, &text) != nil {
			text = string(m.Content)
		}
		b.WriteString(open + m.Role + "\n" + text + string(m.Calls) + end + "\n")
	}
	return b.String()
}

// markers open and close a turn in each vocabulary.
var markers = map[string][2]string{
	"qwen3": {"<|im_start|>", "<|im_end|>"}, "gptoss": {"<|start|>", "<|end|>"}, "llama3_1": {"<|start_header_id|>", "<|eot_id|>"},
	"llama2": {"<s>", "</s>"}, "gemma3": {"<start_of_turn>", "<end_of_turn>"}, "deepseek_v3": {"<｜User｜>", "<｜end▁of▁sentence｜>"},
}

// Warm: the words of the text have been seen. Nothing is remembered of segments but in the cached ones.
func BenchmarkChat200K(b *testing.B) {
	for _, name := range truth.Names() {
		b.Run(name, func(b *testing.B) {
			tok := open(b, name)
			text := chat(b, markers[name][0], markers[name][1])
			var ids []uint32
			measure := func(encode func()) func(*testing.B) {
				return func(b *testing.B) {
					b.Helper()
					encode()
					b.SetBytes(int64(len(text)))
					b.ReportAllocs()
					for b.Loop() {
						encode()
					}
					b.ReportMetric(float64(len(ids)), "tokens")
				}
			}
			b.Run("words", measure(func() { ids = tok.Encode(ids[:0], text) }))
			cache := tok.NewCache(64 << 20)
			b.Run("segments", measure(func() { ids = cache.Encode(ids[:0], text, nil) }))
			var e vocab.Encoded
			b.Run("segments with text", measure(func() {
				e.Reset()
				cache.EncodeText(&e, text, nil)
				ids = e.IDs
			}))
			b.Run("segments with text, 8 at a time", func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				b.SetParallelism((8 + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0))
				b.RunParallel(func(p *testing.PB) {
					var e vocab.Encoded
					for p.Next() {
						e.Reset()
						cache.EncodeText(&e, text, nil)
					}
				})
			})
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	for _, name := range truth.Names() {
		b.Run(name, func(b *testing.B) {
			data := truth.Vocabulary(b, name)
			spec, err := hf.Parse(data)
			if err != nil {
				b.Fatal(err)
			}
			image := vocab.AppendImage(nil, spec)
			measure := func(parse func() (*vocab.Spec, error)) func(*testing.B) {
				return func(b *testing.B) {
					b.Helper()
					for b.Loop() {
						spec, err := parse()
						if err != nil {
							b.Fatal(err)
						}
						if _, err := vocab.New(spec); err != nil {
							b.Fatal(err)
						}
					}
				}
			}
			b.Run("json", measure(func() (*vocab.Spec, error) { return hf.Parse(data) }))
			b.Run("image", measure(func() (*vocab.Spec, error) { return vocab.ReadImage(image) }))
		})
	}
}
