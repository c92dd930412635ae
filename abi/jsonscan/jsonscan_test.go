package jsonscan_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

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
