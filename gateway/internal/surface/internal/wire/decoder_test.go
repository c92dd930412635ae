package wire_test

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/surface/internal/wire"
)

func decoder(t *testing.T, doc string) *wire.Decoder {
	t.Helper()
	d := new(wire.Decoder)
	if err := d.Read([]byte(doc)); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestInt(t *testing.T) {
	for in, want := range map[string]string{
		"7": "7", "-0": "0", "7.0": "7", "1e2": "100", "9007199254740993": "9007199254740993",
		"1.5": "expected an integer, got 1.5", "1e30": "expected an integer, got 1e30", "-11": "expected an integer from -10 to", "null": "expected an integer, got null",
		`"7"`: "expected an integer, got string", strings.Repeat("9", 400): "expected an integer, got " + strings.Repeat("9", 32),
		"01": "the body is not JSON", "-": "the body is not JSON", "x": "the body is not JSON",
	} {
		d := decoder(t, in)
		n, err := d.Int(-10, 1<<60)
		if err == nil {
			err = d.End()
		}
		got := strconv.FormatInt(n, 10)
		if err != nil {
			got = fault.From(err).Public
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

// TestTaggedOrder reads the same members in every order, with the same result.
func TestTaggedOrder(t *testing.T) {
	members := []string{`"type":"k"`, `"a":"x\ny"`, `"b":{"c":["q",null]}`}
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		doc := "{"
		for i, m := range order {
			doc += strings.Repeat(",", min(i, 1)) + members[m]
		}
		doc += "}"
		d := decoder(t, doc)
		var a, c, path string
		kind, err := d.Tagged("type", func(kind, key []byte) (err error) {
			if string(kind) != "k" {
				t.Errorf("%s: %s read as %q", doc, key, kind)
			}
			if string(key) == "a" {
				a, err = d.String()
				return err
			}
			return d.Object(func([]byte) error {
				return d.Array(func(i int) (err error) {
					if i > 0 {
						return d.Skip()
					}
					path = d.Path("m")
					c, err = d.String()
					return err
				})
			})
		})
		if err != nil || d.End() != nil || string(kind) != "k" || a != "x\ny" || c != "q" || path != "b.c[0].m" {
			t.Errorf("%s: %q %q %q %q, %v", doc, kind, a, c, path, err)
		}
	}
}

func TestIgnoredIsBounded(t *testing.T) {
	d := decoder(t, `{}`)
	for i := range 1000 {
		d.Ignore(strconv.Itoa(i % 100))
	}
	if n := len(d.Ignored()); n != 32 {
		t.Errorf("%d names", n)
	}
}

func TestSession(t *testing.T) {
	for _, tt := range []struct {
		name   string
		header []string
		want   string
	}{
		{"nothing", nil, "key"},
		{"agent without a session", []string{"X-Claude-Code-Agent-Id", "a"}, "key"},
		{"the most exact one", []string{"X-Claude-Code-Session-Id", "s", "X-Claude-Code-Agent-Id", "a", "X-Session-Id", "o"}, "s/a"},
		{"thread", []string{"Thread-Id", "t", "X-Session-Id", "o"}, "t"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := http.Header{}
			for i := 0; i < len(tt.header); i += 2 {
				h.Set(tt.header[i], tt.header[i+1])
			}
			if got := wire.Session(h, "key"); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestUsage(t *testing.T) {
	start := event.Usage{Input: 10, Estimate: true}
	if got := wire.Usage(start, event.Usage{Output: 3, Cached: 12}); got != (event.Usage{Input: 10, Cached: 10, Output: 3, Estimate: true}) {
		t.Errorf("%+v", got)
	}
	if got := wire.Usage(start, event.Usage{Input: 12, Cached: 4}); got != (event.Usage{Input: 12, Cached: 4}) {
		t.Errorf("%+v", got)
	}
}

// TestTextsAreTheirOwn reads texts of all lengths, most of which share memory: none changes when others are
// read, or when the body does.
func TestTextsAreTheirOwn(t *testing.T) {
	var doc, want []string
	for n := range 620 {
		if n >= 600 {
			n *= 120 // some share memory with none, and not all fit into a piece
		}
		s := strings.Repeat(string(rune('a'+n%26)), n)
		want = append(want, s, s+"\n", "assistant")
		doc = append(doc, `"`+s+`"`, `"`+s+`\n"`, `"assistant"`)
	}
	body := []byte("[" + strings.Join(doc, ",") + "]")
	d := new(wire.Decoder)
	if err := d.Read(body); err != nil {
		t.Fatal(err)
	}
	var got []string
	err := d.Array(func(i int) error {
		read := d.String
		if i%2 == 1 {
			read = d.Word
		}
		s, err := read()
		got = append(got, s)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	clear(body)
	if !slices.Equal(got, want) {
		t.Error("the texts are not those of the body")
	}
}

// TestDeepPath goes deeper than any schema: the place is named as far as it is known.
func TestDeepPath(t *testing.T) {
	d := decoder(t, strings.Repeat(`{"a":`, 40)+`1`+strings.Repeat(`}`, 40))
	var read func([]byte) error
	deep := 0
	read = func([]byte) error {
		if deep++; deep == 40 {
			_, err := d.Bool()
			return err
		}
		return d.Object(read)
	}
	f := fault.From(d.Object(read))
	if want := strings.Repeat("a.", 15) + "a"; f.Param != want || f.Public != "expected true or false, got number" {
		t.Errorf("%q: %s", f.Param, f.Public)
	}
}

// TestSlab takes lists of all lengths: none has room that another has, and none is lost.
func TestSlab(t *testing.T) {
	var slab wire.Slab[int]
	var lists [][]int
	for i := range 300 {
		list := slab.Take(i % 90)
		for k := range list {
			if list[k] != 0 {
				t.Fatalf("list %d was given out twice", i)
			}
			list[k] = i
		}
		lists = append(lists, list, slab.Keep(list))
		_ = append(list, -1) // must not reach the next one
		if p := slab.One(i); *p != i {
			t.Fatalf("one is %d, want %d", *p, i)
		}
	}
	for at, list := range lists {
		i := at / 2
		if len(list) != i%90 || slices.ContainsFunc(list, func(n int) bool { return n != i }) {
			t.Errorf("list %d: %v", i, list)
		}
	}
	if slab.Keep(nil) != nil {
		t.Error("a copy of nothing is not nil")
	}
}

func TestRawObjects(t *testing.T) {
	for in, want := range map[string]string{
		` [ {"a": 1} , {} ] `: `[ {"a": 1} , {} ]`,
		`[]`:                  `[]`,
		`[{},1]`:              "expected an object, got number",
		`[{}`:                 "the body is not JSON: byte 3: expected ',' or ']'",
		`{}`:                  "expected an array of objects, got object",
	} {
		d := decoder(t, in)
		raw, err := d.RawObjects()
		got := string(raw)
		if err == nil {
			err = d.End()
		}
		if err != nil {
			got = fault.From(err).Public
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}
