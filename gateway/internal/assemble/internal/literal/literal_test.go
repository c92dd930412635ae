package literal_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/gateway/internal/assemble/internal/literal"
)

var good = []struct{ name, in, want string }{
	{"object", `{"a": 1, "b": [true, null]}`, `{"a": 1, "b": [true, null]}`},
	{"space around", " \n[1]\t ", `[1]`},
	{"space inside", "{ \"a\" :\n1 , \"b\":2 }", "{ \"a\" :\n1 , \"b\":2 }"},
	{"digits", `[9223372036854775807, 1.50, 1e400, -0]`, `[9223372036854775807, 1.50, 1e400, -0]`},
	{"json escapes", `["\u00e9\n\/\"\ud83d"]`, `["\u00e9\n\/\"\ud83d"]`},
	{"single quotes", `{'a': 'it"s', 'b': 'don\'t'}`, `{"a": "it\"s", "b": "don't"}`},
	{"words", `[True, False, None]`, `[true, false, null]`},
	{"not finite", `[NaN, -Infinity, Infinity]`, `["NaN", "-Infinity", "Infinity"]`},
	{"trailing commas", `{"a": [1, 2, ], }`, `{"a": [1, 2]}`},
	{"tuple", `(1, (2,), ())`, `[1, [2], []]`},
	{"keys", `{1: 2, True: 3, None: 4}`, `{"1": 2, "true": 3, "null": 4}`},
	{"python escapes", `['\x41\U0001F600\0\a', "\d\101", 'a\
b']`, `["A😀\u0000\u0007", "\\dA", "ab"]`},
	{"raw control", "['a\nb\tc']", `["a\nb\tc"]`},
	{"python numbers", `[+1, .5, 5., -.5e3, 1.e2]`, `[1, 0.5, 5.0, -0.5e3, 1.0e2]`},
	{"scalar", ` 12 `, `12`},
	{"string", `"a"`, `"a"`},
	{"other quote", `["it's", 'a"']`, `["it's", "a\""]`},
	{"markers", `{"a": "</parameter>{[\"}"}`, `{"a": "</parameter>{[\"}"}`},
	{"empty", `{}`, `{}`},
	{"much space", `[1,` + strings.Repeat(" ", 5000) + `2]`, `[1,` + strings.Repeat(" ", 5000) + `2]`},
	{"utf-8", `['é😀']`, `["é😀"]`},
}

var bad = []string{``, ` `, `{`, `[1`, `[1 2]`, `[,]`, `[1,,2]`, `{1}`, `{"a"}`, `{"a" 1}`, `{a: 1}`, `{"a": b}`, `[1}`, `(1]`, `{"a": 1} x`, `{1, 2}`, `set()`, `"a`, `"\u12g4"`, `'\xzz'`, `1_000`, `0x10`, `007`, `--1`, `.`, `# no`, `'''a'''`, `]`, `[` + strings.Repeat(" ", 2) + `,`, strings.Repeat("[", 300), strings.Repeat("1", 5000), "[1," + strings.Repeat(" ", 5000) + "]", "\x00"}

func translate(in string, size int) (string, jsonscan.Status) {
	var m literal.Machine
	var out []byte
	for len(in) > 0 {
		n := min(size, len(in))
		out, _ = m.Append(out, []byte(in[:n]))
		in = in[n:]
	}
	out, s := m.End(out)
	return string(out), s
}

func TestGood(t *testing.T) {
	for _, c := range good {
		t.Run(c.name, func(t *testing.T) {
			for _, size := range []int{1 << 20, 1, 2, 3, 7} {
				got, s := translate(c.in, size)
				if s != jsonscan.Done || got != c.want {
					t.Errorf("pieces of %d: %v %s, want %s", size, s, got, c.want)
				}
				if !json.Valid([]byte(got)) {
					t.Errorf("%s is not JSON", got)
				}
			}
		})
	}
}

func TestBad(t *testing.T) {
	for _, in := range bad {
		for _, size := range []int{1 << 20, 1, 3} {
			if got, s := translate(in, size); s != jsonscan.Bad {
				t.Errorf("%.40q in pieces of %d gave %v %.40q", in, size, s, got)
			}
		}
	}
}

// TestStreams checks that nothing decided is held: all but an open token, escape or comma is out.
func TestStreams(t *testing.T) {
	in := `{"path": "a.txt", "lines": ["one", "two"]}`
	var m literal.Machine
	var out []byte
	for i := range len(in) {
		out, _ = m.Append(out, []byte{in[i]})
		if lag := i + 1 - len(out); lag > 2 {
			t.Fatalf("after %q only %q is out", in[:i+1], out)
		}
	}
}

func FuzzPieces(f *testing.F) {
	for _, c := range good {
		f.Add(c.in, uint8(1))
	}
	for _, in := range bad {
		f.Add(in, uint8(2))
	}
	f.Fuzz(func(t *testing.T, in string, size uint8) {
		whole, s := translate(in, 1<<20)
		got, gs := translate(in, int(size%16)+1)
		if got != whole || gs != s {
			t.Fatalf("%q in pieces of %d: %v %q, whole %v %q", in, size%16+1, gs, got, s, whole)
		}
		if s == jsonscan.Done && !jsonscan.Valid([]byte(whole)) {
			t.Fatalf("%q became %q", in, whole)
		}
		if jsonscan.Valid([]byte(in)) && (s != jsonscan.Done || whole != string(bytes.Trim([]byte(in), " \t\r\n"))) && len(in) < 1000 {
			t.Fatalf("%q is JSON but became %v %q", in, s, whole)
		}
	})
}

func BenchmarkString(b *testing.B) {
	var m literal.Machine
	dst, _ := m.Append(nil, []byte(`{"content": "`))
	b.ReportAllocs()
	for b.Loop() {
		dst, _ = m.Append(dst[:0], []byte("if a < b"))
	}
}
