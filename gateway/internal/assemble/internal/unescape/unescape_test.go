package unescape_test

import (
	"testing"

	"github.com/weirgate/weir/abi/record"
	"github.com/weirgate/weir/gateway/internal/assemble/internal/unescape"
)

var cases = []struct {
	name     string
	esc      record.Flags
	in, want string
}{
	{"none", record.EscNone, `a\n&amp;`, `a\n&amp;`},
	{"json", record.EscJSON, `a\n\"\\\/\u00e9`, "a\n\"\\/é"},
	{"json pair", record.EscJSON, `\ud83d\ude00!`, "😀!"},
	{"json lone high", record.EscJSON, `\ud83dx`, "\ufffdx"},
	{"json lone high before an escape", record.EscJSON, `\ud83d\n`, "\ufffd\n"},
	{"json lone high before a letter escape", record.EscJSON, `\ud83d\u0041`, "\ufffdA"},
	{"json lone low", record.EscJSON, `\ude00`, "\ufffd"},
	{"json high at the end", record.EscJSON, `\ud83d`, "\ufffd"},
	{"json high and half a low at the end", record.EscJSON, `\ud83d\ude`, "\ufffd\\ude"},
	{"json unknown", record.EscJSON, `\d+`, `\d+`},
	{"json cut", record.EscJSON, `\u12`, `\u12`},
	{"json backslash at the end", record.EscJSON, `a\`, `a\`},
	{"python", record.EscPython, `\'\"\x41\u00e9\U0001F600\a\v`, "'\"Aé😀\a\v"},
	{"python octal", record.EscPython, `\0\101\1018\7`, "\x00AA8\a"},
	{"python joined line", record.EscPython, "a\\\nb", "ab"},
	{"python unknown", record.EscPython, `\d\N{DASH}`, `\d\N{DASH}`},
	{"python bad rune", record.EscPython, `\UFFFFFFFF`, "\ufffd"},
	{"python cut", record.EscPython, `\x4`, `\x4`},
	{"xml", record.EscXML, `&lt;a&gt; &amp;amp; &quot;&apos; &#65;&#x1F600;`, `<a> &amp; "' A😀`},
	{"xml unknown", record.EscXML, `a && b &nbsp; &; &#; &#x; &#0; &#x110000; &abcdefghijklmnop;`, `a && b &nbsp; &; &#; &#x; &#0; &#x110000; &abcdefghijklmnop;`},
	{"xml cut", record.EscXML, `a &am`, `a &am`},
}

func pieces(esc record.Flags, in string, size int) string {
	var d unescape.Decoder
	d.Reset(esc)
	var out []byte
	for len(in) > 0 {
		n := min(size, len(in))
		out = d.Append(out, []byte(in[:n]))
		in = in[n:]
	}
	return string(d.Flush(out))
}

func TestDecode(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for _, size := range []int{1 << 20, 1, 2, 3, 5, 7, 11} {
				if got := pieces(c.esc, c.in, size); got != c.want {
					t.Errorf("pieces of %d: %q, want %q", size, got, c.want)
				}
			}
		})
	}
}

func FuzzPieces(f *testing.F) {
	for _, c := range cases {
		f.Add(uint8(c.esc), c.in, uint8(3))
	}
	f.Fuzz(func(t *testing.T, esc uint8, in string, size uint8) {
		e := record.Flags(esc) & record.EscMask
		whole := string(unescape.Whole(nil, []byte(in), e))
		if got := pieces(e, in, int(size%16)+1); got != whole {
			t.Fatalf("pieces of %d of %q: %q, whole %q", size%16+1, in, got, whole)
		}
	})
}
