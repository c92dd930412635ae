package jsonscan_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/weirgate/weir/abi/jsonscan"
)

var docs = []string{
	`{}`, `[]`, `null`, `true`, `0`, `-1.5e+10`, `"a\u00e9\n"`, ` {"a": [1, {"b": "}]"}], "c": null} `,
	`{"a":1,}`, `[1,]`, `01`, `-`, `1.`, `1e`, `"\x"`, `{"a" 1}`, `{"a":}`, `tru`, `nul l`, `"`, ``, `}`, `[}`, `{]`, `1 2`, `"\ud83d\ude00"`, `[[[[]]]]`, `{"a":{"b":{}}}`, "\"\x01\"", `.5`, `+1`, `1.0E-2`, `-0`, `-01`,
}

// TestValidAgainstStandard holds the machine to encoding/json, over every two-piece split.
func TestValidAgainstStandard(t *testing.T) {
	for _, d := range docs {
		if got, want := jsonscan.Valid([]byte(d)), json.Valid([]byte(d)); got != want {
			t.Errorf("Valid(%q) = %v, want %v", d, got, want)
		}
		checkSplits(t, []byte(d))
	}
}

func checkSplits(t *testing.T, d []byte) {
	t.Helper()
	var whole jsonscan.Machine
	n, s := whole.Feed(d)
	for cut := 0; cut <= len(d); cut++ {
		var m jsonscan.Machine
		a, st := m.Feed(d[:cut])
		if st == jsonscan.More {
			var b int
			b, st = m.Feed(d[cut:])
			a += b
		}
		if a != n || st != s || m.End() != whole.End() {
			t.Fatalf("%q cut at %d: %d %v, whole %d %v", d, cut, a, st, n, s)
		}
	}
}

func TestQuoteRoundTrip(t *testing.T) {
	for _, s := range []string{"", "plain", "a\"b\\c\n\r\t\b\f\x00\x1f", "é😀", "\xff\xfe", "</script>"} {
		q := jsonscan.AppendString(nil, s)
		var want string
		if err := json.Unmarshal(q, &want); err != nil {
			t.Fatalf("%q: %v", q, err)
		}
		got, err := jsonscan.AppendUnquoted(nil, q)
		if err != nil || string(got) != want {
			t.Errorf("%q: got %q, %v, want %q", s, got, err, want)
		}
	}
	for _, bad := range []string{`"a`, `a`, `"\q"`, `"\u12"`, `"a"b"`} {
		if _, err := jsonscan.AppendUnquoted(nil, []byte(bad)); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestReader(t *testing.T) {
	doc := []byte(`{"a": [1, "x\ty", {"n": 1.50}], "b\u0020c": {"z":1,"a":2}}`)
	r := jsonscan.NewReader(doc)
	var got []string
	err := r.Object(func(key []byte) error {
		k := string(key)
		raw, err := r.Raw()
		got = append(got, k+"="+string(raw))
		return err
	})
	if err != nil || r.End() != nil {
		t.Fatal(err)
	}
	want := []string{`a=[1, "x\ty", {"n": 1.50}]`, `b c={"z":1,"a":2}`}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestMember(t *testing.T) {
	r := jsonscan.NewReader([]byte(` { "a" : { } , "b\u0020c" : {"d": [{}, {"e": 1}]}, "f": 2 } `))
	if err := r.OpenObject(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for {
		key, ok, err := r.Member()
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		k := string(key)
		raw, err := r.Raw()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, k+"="+string(raw))
	}
	want := []string{`a={ }`, `b c={"d": [{}, {"e": 1}]}`, `f=2`}
	if !slices.Equal(got, want) || r.End() != nil {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestReaderErrorsNameThePlace(t *testing.T) {
	for doc, want := range map[string]string{
		`{"a" 1}`: "byte 5: expected ':'",
		`{"a":1`:  "byte 6: expected ',' or '}'",
		`{"a":"x`: "byte 7: expected the end of a string",
		`{"a":x}`: "byte 5: expected a value",
		`[1 2]`:   "byte 3: expected ',' or ']'",
		`{1:2}`:   "byte 1: expected a member name",
	} {
		_, err := jsonscan.NewReader([]byte(doc)).Raw()
		if err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", doc, err, want)
		}
	}
	deep := bytes.Repeat([]byte("["), 100000)
	if _, err := jsonscan.NewReader(deep).Raw(); err == nil {
		t.Error("100,000 open arrays were accepted")
	}
}

// plainText is the text of the string that begins at from, escape by escape, and where it ends.
func plainText(doc []byte, from int) (text []byte, end int, want string) {
	wrong := false
	for i := from + 1; i < len(doc); {
		switch doc[i] {
		case '"':
			if wrong {
				return nil, from, "a string with valid escapes"
			}
			return text, i + 1, ""
		case '\\':
			n, r := jsonscan.Escape(doc[i:])
			if n <= 0 {
				wrong, n = true, 2
			}
			if m, low := jsonscan.Escape(doc[min(i+n, len(doc)):]); n == 6 && m == 6 && utf16.IsSurrogate(r) {
				if both := utf16.DecodeRune(r, low); both != utf8.RuneError {
					r, n = both, 12
				}
			}
			text = utf8.AppendRune(text, r)
			i += n
		default:
			text = append(text, doc[i])
			i++
		}
	}
	return nil, len(doc), "the end of a string"
}

// checkText holds all ways to read a string to plainText, with room for some of the text.
func checkText(t *testing.T, doc []byte, room int) {
	t.Helper()
	text, end, want := plainText(doc, 0)
	r := jsonscan.NewReader(doc)
	got, err := r.Text(append(make([]byte, 0, room+2), "> "...))
	if want != "" {
		wanted := &jsonscan.Error{Offset: end, Want: want}
		if err == nil || err.Error() != wanted.Error() {
			t.Fatalf("%q: got %v, want %v", doc, err, wanted)
		}
		if _, err := jsonscan.AppendUnquoted(nil, doc); err == nil {
			t.Fatalf("%q: AppendUnquoted took it", doc)
		}
		return
	}
	if err != nil || string(got) != "> "+string(text) || r.Offset() != end {
		t.Fatalf("%q: got %q up to %d, %v, want %q up to %d", doc, got, r.Offset(), err, text, end)
	}
	raw, err := jsonscan.NewReader(doc).Raw()
	if err != nil || len(raw) != end {
		t.Fatalf("%q: raw %q, %v", doc, raw, err)
	}
	r = jsonscan.NewReader(doc)
	part, escaped, err := r.Unquote(make([]byte, 0, room))
	if err != nil || !bytes.Equal(part, text) || escaped != bytes.Contains(raw, []byte{'\\'}) || r.Offset() != end || !bytes.Equal(r.Since(0), raw) {
		t.Fatalf("%q: Unquote gave %q, %v, %v", doc, part, escaped, err)
	}
	if got, err = jsonscan.AppendUnquoted(make([]byte, 0, room), raw); err != nil || !bytes.Equal(got, text) {
		t.Fatalf("%q: AppendUnquoted gave %q, %v", doc, got, err)
	}
}

// TestTextAtEachPlace puts everything that ends a run of text behind runs of all lengths up to some words, with
// all amounts of room.
func TestTextAtEachPlace(t *testing.T) {
	const run = "# the river ] falls over é"
	for n := range len(run) + 1 {
		for _, special := range []string{`\n`, `\"`, `\\`, `\u00e9`, `\ud83d\ude00`, `\ud83d`, `\ude00\n`, `\ud83d\u0041`, `\x`, `\u12`, `\`, "\x01\x00", `\n\n\t`} {
			for _, after := range []string{`"`, `" `, ``, run + `"`, run + `\n"` + run, run + run + `\"" ]}`} {
				for _, room := range []int{0, 1, 7, 8, 9, 20, 100} {
					checkText(t, []byte(`"`+run[:n]+special+after), room)
				}
			}
		}
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{`a`, `a\nb"`, `\u00e9\ud83d\ude00"`, `\ud83d\`, `#"]\\\"`, "\x00\xff\xc3\\t\""} {
		f.Add([]byte(s), byte(3))
	}
	f.Fuzz(func(t *testing.T, in []byte, room byte) { checkText(t, append([]byte{'"'}, in...), int(room)) })
}

func FuzzMachine(f *testing.F) {
	for _, d := range docs {
		f.Add([]byte(d))
	}
	f.Fuzz(func(t *testing.T, d []byte) {
		if len(d) > 2000 {
			return
		}
		checkSplits(t, d)
		if got, want := jsonscan.Valid(d), json.Valid(d); got != want && bytes.Count(d, []byte("["))+bytes.Count(d, []byte("{")) < jsonscan.MaxDepth {
			t.Fatalf("Valid(%q) = %v, encoding/json says %v", d, got, want)
		}
		// The reader is laxer than JSON only in raw control characters and escapes it did not look at.
		r := jsonscan.NewReader(d)
		if _, err := r.Raw(); err != nil && json.Valid(d) && bytes.Count(d, []byte("["))+bytes.Count(d, []byte("{")) < jsonscan.MaxDepth {
			t.Fatalf("Reader refuses valid %q: %v", d, err)
		}
	})
}

func TestPass(t *testing.T) {
	for _, c := range []struct {
		doc, value string
		want       int // where the reader stands
	}{
		{` {"a":1}, 2`, `{"a":1}`, 8}, {`{"a":1}`, `{"a":2}`, 0}, {`{"a":1}`, `{"a":1}}`, 0}, {`"ab"`, `"ab"`, 4}, {``, `{}`, 0}, {`[] `, `[]`, 2},
	} {
		r := jsonscan.NewReader([]byte(c.doc))
		if ok := r.Pass([]byte(c.value)); ok != (c.want > 0) || r.Offset() != c.want {
			t.Errorf("%s in %s: %v, at %d", c.value, c.doc, ok, r.Offset())
		}
	}
}
