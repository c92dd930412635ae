package tokenizer_test

import (
	"strings"
	"testing"

	"github.com/weirgate/weir/gateway/tokenizer"
)

// fill repeats text up to about n bytes.
func fill(text string, n int) string { return strings.Repeat(text, n/len(text)+1)[:n] }

func BenchmarkEncode(b *testing.B) {
	tok := load(b)
	chat := "<|im_start|>user\n" + texts["prose"] + "\n" + texts["code"] + "<|im_end|>\n<|im_start|>assistant\n<think>\nLet me look at the file first.\n</think>\n\n<tool_call>\n" +
		texts["json"] + "\n</tool_call><|im_end|>\n<|im_start|>user\n<tool_response>\nlatency_p99 = 41.07ms, throughput_qps = 1843\n</tool_response><|im_end|>\n"
	for _, c := range []struct{ name, text string }{
		{"chat200K", fill(chat, 200_000)},
		{"scripts200K", fill(texts["scripts"], 200_000)},
		{"letter1M", fill("a", 1_000_000)},
		{"letters1M", fill("qzxjvkqw", 1_000_000)},
		{"blank1M", fill(" ", 1_000_000)},
		{"angle1M", fill("<", 1_000_000)},
		{"marker1M", fill("<|im_start|", 1_000_000)},
		{"bytes1M", fill("\xff\xfe\x80", 1_000_000)},
	} {
		b.Run(c.name, func(b *testing.B) {
			var ids []uint32
			b.SetBytes(int64(len(c.text)))
			b.ReportAllocs()
			for b.Loop() {
				ids = tok.Encode(ids[:0], c.text)
			}
			b.ReportMetric(float64(len(ids)), "tokens")
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	image := load(b).AppendImage(nil)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tokenizer.Load(image); err != nil {
			b.Fatal(err)
		}
	}
}
