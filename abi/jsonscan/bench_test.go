package jsonscan_test

import (
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/jsonscan"
)

func BenchmarkMachine(b *testing.B) {
	for _, c := range []struct{ name, before, text string }{
		{"members", "", `{"path": "notes.md", "depth": 12, "tags": ["a", "b"], "deep": {"x": null, "y": [1.5, true]}}`},
		{"prose", `"`, strings.Repeat("the river falls over a low wall, ", 16)},
		{"escapes", `"`, strings.Repeat(`func f() {\n\treturn \"a\"\n}\n`, 16)},
		{"token", `"`, " river"},
	} {
		b.Run(c.name, func(b *testing.B) {
			var start jsonscan.Machine
			start.Feed([]byte(c.before))
			text := []byte(c.text)
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				m := start
				if _, s := m.Feed(text); s == jsonscan.Bad {
					b.Fatal("bad")
				}
			}
		})
	}
}

func BenchmarkText(b *testing.B) {
	for _, c := range []struct{ name, text string }{
		{"prose", strings.Repeat("the river falls over a low wall, ", 100)},
		{"code", strings.Repeat(`func f() {\n\treturn \"a\"\n}\n`, 100)},
		{"unicode", strings.Repeat(`\u6cb3\u6d41 \ud83d\ude00`, 100)},
		{"token", `\n river`},
	} {
		b.Run(c.name, func(b *testing.B) {
			doc := []byte(`{"text": "` + c.text + `", "index": 0}`)
			var buf []byte
			b.SetBytes(int64(len(doc)))
			for b.Loop() {
				r := jsonscan.NewReader(doc)
				err := r.Object(func([]byte) (err error) {
					if r.Peek() != jsonscan.String {
						_, err = r.Raw()
						return err
					}
					buf, err = r.Text(buf[:0])
					return err
				})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
