package kit

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Sample is a piece of model output.
type Sample struct {
	Name string
	Text string
}

// markup are pieces that formats in use are made of; a parser meets most of them as garbage.
var markup = [...]string{
	"<", ">", "<<", ">>", "[", "]", "{", "}", "\"", "\\", "\\\"", "'", "`", "|", ":", ",", "=", "/", "\n", "\r\n", " ", "\t", "a", "0",
	"<think>", "</think>", "<tool_call>", "</tool_call>", "<function=f>", "</function>", "<parameter=a>", "</parameter>",
	"<|channel|>analysis<|message|>", "<|end|>", "[TOOL_CALLS]", "[ARGS]", "```json\n", "```", "<arg_key>", "</arg_key>", "[call:f {", "}]",
	`{"name": "f", "arguments": {"a": 1}}`, `{"name": "f", "arguments": {"a": "<think>"}}`, `{"a": [1, {"b": "}\"]"}]}`, "null", "true", "-1.5e3",
	"é", "→", "😀", "\xe2\x82", "\xff", "\x00", "\u2028", "<｜tool▁calls▁begin｜>", "Hello, world. ",
}

// generic is the corpus for a parser of whose formats nothing is known.
func generic() []Sample {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	return []Sample{
		{"empty", ""},
		{"one byte", "a"},
		{"prose", "The quick brown fox jumps over the lazy dog. 1 < 2, a[0] > b, {not json}.\n\nSecond paragraph.\n"},
		{"characters of 1 to 4 bytes", "aé→😀 naïve Ωmega 漢字 👩\u200d👩\u200d👧 z"},
		{"no UTF-8", "a\xffb\xe2\x82c\xf0\x9f\x98d\xc0\x80"},
		{"every byte", string(every)},
		{"spaces", strings.Repeat(" ", 100) + "\n" + strings.Repeat("\t\n ", 50) + "x"},
		{"think", "<think>\nhm, a < b\n</think>\n\nDone."},
		{"JSON call", "a<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"</tool_call>\", \"b\": [1, {}]}}\n</tool_call>b"},
		{"XML call", "<tool_call><function=f><parameter=a>\n1 < 2\n</parameter></function></tool_call>"},
		{"cut call", "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"b"},
		{"fenced", "```json\n{\"name\": \"f\", \"arguments\": {}}\n```\n"},
		{"brackets", "[call:f {\"a\": 1}][call:g {\"b\": \"]}\"}]<<x>>[call:f {"},
		{"long header", "[call:" + strings.Repeat("n", 700) + " {}]<tool_call>{\"name\": \"" + strings.Repeat("n", 700) + "\"}"},
		{"markup run", strings.Repeat("<", 300) + strings.Repeat("[", 300) + strings.Repeat("{\"", 150)},
		{"closers", "]]>>}}</think></tool_call>]})|>"},
		{"long prose", strings.Repeat("All work and no play makes Jack a dull boy. ", 60)},
	}
}

// dictionary are the pieces that inputs are made of: markup, what a sample has, and what the module has in
// its data that looks like markup.
func dictionary(wasm []byte, samples []Sample) []string {
	out := slices.Clone(markup[:])
	const most = 128
	from := -1
	for i := 0; i <= len(wasm) && len(out) < len(markup)+most; i++ {
		if i < len(wasm) && wasm[i] >= ' ' && wasm[i] < 0x7f {
			if from < 0 {
				from = i
			}
			continue
		}
		if from >= 0 && i-from >= 2 && i-from <= 32 && strings.ContainsAny(string(wasm[from:i]), "<>[]{}|`:=") {
			out = append(out, string(wasm[from:i]))
		}
		from = -1
	}
	for _, s := range samples {
		for piece := range strings.FieldsSeq(s.Text) {
			if len(piece) <= 64 && len(out) < len(markup)+2*most {
				out = append(out, piece)
			}
		}
	}
	return out
}

// made are n inputs put together at random, the same ones for the same dictionary and samples: words of the
// dictionary, and samples that were damaged.
func made(n int, words []string, samples []Sample) []Sample {
	r := rand.New(rand.NewPCG(1, uint64(len(words))))
	out := make([]Sample, 0, n)
	for k := range n {
		var b []byte
		if k%2 == 1 && len(samples) > 0 {
			b = damage([]byte(samples[r.IntN(len(samples))].Text), words, r)
		} else {
			for range 2 + r.IntN(24) {
				b = append(b, words[r.IntN(len(words))]...)
			}
		}
		out = append(out, Sample{Name: fmt.Sprintf("random %d", k+1), Text: string(b[:min(len(b), 1000)])})
	}
	return out
}

// damage cuts, doubles, overwrites or inserts.
func damage(b []byte, words []string, r *rand.Rand) []byte {
	for range 1 + r.IntN(3) {
		i, j := r.IntN(len(b)+1), r.IntN(len(b)+1)
		i, j = min(i, j), max(i, j)
		switch r.IntN(4) {
		case 0:
			b = b[:j]
		case 1:
			b = slices.Concat(b[:j], b[i:j], b[j:])
		case 2:
			b = slices.Concat(b[:i], b[j:])
		default:
			b = slices.Concat(b[:i], []byte(words[r.IntN(len(words))]), b[i:])
		}
		b = b[:min(len(b), 4000)]
	}
	return b
}
