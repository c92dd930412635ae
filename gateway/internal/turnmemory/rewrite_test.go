package turnmemory_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"unicode/utf8"
)

// rewrite reads JSON into values and writes it again, as a client does that keeps arguments as an object.
// It is empty where that says something else, or nothing.
func rewrite(s string) string {
	var v any
	if !utf8.ValidString(s) || json.Unmarshal([]byte(s), &v) != nil {
		return ""
	}
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}

// spaced puts white space between all tokens and writes every character of strings as an escape.
func spaced(s string) string {
	var out bytes.Buffer
	if json.Indent(&out, []byte(s), " ", "\t") != nil {
		return s
	}
	return strings.ReplaceAll(out.String(), "é", `\u00e9`)
}

// arguments makes an object at random.
func arguments(r *rand.Rand) string {
	var b bytes.Buffer
	b.WriteByte('{')
	for i := range r.IntN(4) {
		if i > 0 {
			b.WriteString([...]string{",", ", ", ",\n"}[r.IntN(3)])
		}
		b.WriteString(`"` + string(rune('a'+r.IntN(26))) + string(rune('a'+i)) + `":` + [...]string{"", " "}[r.IntN(2)])
		b.WriteString([...]string{
			`1`, `1.50`, `-2e3`, `true`, `null`, `"plain"`, `"é\n\"quoted\" \/ \\"`, `[1,"x",{}]`, `{"z":1,"y":[]}`, `""`, `123456789012`,
		}[r.IntN(11)])
	}
	b.WriteByte('}')
	return b.String()
}
