package seal_test

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/weirgate/weir/gateway/internal/seal"
)

func box(tb testing.TB, keys ...seal.Key) *seal.Box {
	tb.Helper()
	if len(keys) == 0 {
		keys = []seal.Key{seal.NewKey()}
	}
	b, err := seal.NewBox(keys...)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// thought is text that deflates as well as what models think.
func thought(size int) []byte {
	words := strings.Fields("the file has a function that returns early so we should look at its callers and then run tests again before we change anything else in there")
	r := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	for b.Len() < size {
		b.WriteString(words[r.IntN(len(words))])
		if b.WriteByte(' '); r.IntN(9) == 0 {
			fmt.Fprintf(&b, "%x. ", r.Uint32())
		}
	}
	return b.Bytes()[:size]
}

func noise(size int) []byte {
	b := make([]byte, size)
	r := rand.NewChaCha8([32]byte{1})
	r.Read(b)
	return b
}

func deflated(tb testing.TB, text []byte) []byte {
	tb.Helper()
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestCompression)
	if err != nil {
		tb.Fatal(err)
	}
	w.Write(text)
	w.Close()
	return b.Bytes()
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	b := box(t)
	for _, tt := range []struct {
		name   string
		family string
		text   []byte
		most   int // length of the seal
	}{
		{"empty", "", nil, 64},
		{"short", "qwen3", []byte("so be it"), 80},
		{"not UTF-8", "f", []byte{0xff, 0, 0xfe}, 64},
		{"long family", strings.Repeat("f", 300), []byte("x"), 500},
		{"at the edge", "f", bytes.Repeat([]byte("a"), seal.DeflateOver), 1500},
		{"over the edge", "f", bytes.Repeat([]byte("a"), seal.DeflateOver+1), 100},
		{"a thought", "f", thought(8 << 10), 8 << 10},
		{"noise", "f", noise(8 << 10), 11 << 10},
		{"large", "f", bytes.Repeat([]byte("large "), seal.MaxText/6), 32 << 10},
		{"the largest", "", noise(seal.MaxText), seal.MaxText*4/3 + 100},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := b.Reasoning("a", tt.family, tt.text)
			if !strings.HasPrefix(s, "weir1.r.") || strings.ContainsAny(s, "+/=\n") || len(s) > tt.most {
				t.Fatalf("%d characters, at most %d: %.40q", len(s), tt.most, s)
			}
			got, err := b.Open("a", s)
			if err != nil || got.Kind != seal.Reasoning || got.Family != tt.family || got.Text != string(tt.text) {
				t.Errorf("got a %v of %q with %d bytes, %v", got.Kind, got.Family, len(got.Text), err)
			}
			if len(tt.text) > 1<<20 {
				return // more of these take long under the race detector
			}
			if b.Reasoning("a", tt.family, tt.text) == s {
				t.Error("two seals are the same")
			}
			s = b.Summary("a", tt.text)
			got, err = b.Open("a", s)
			if err != nil || got.Kind != seal.Summary || got.Family != "" || got.Text != string(tt.text) || !strings.HasPrefix(s, "weir1.s.") {
				t.Errorf("summary %.10q: got a %v of %q with %d bytes, %v", s, got.Kind, got.Family, len(got.Text), err)
			}
		})
	}
	if s := b.Reasoning("a", "f", noise(seal.MaxText)); s != "" {
		t.Errorf("a seal of %d characters that is too large to open", len(s))
	}
}

func TestOpenErrors(t *testing.T) {
	t.Parallel()
	b := box(t)
	r, s := b.Reasoning("a", "f", []byte("text")), b.Summary("a", []byte("text"))
	for _, tt := range []struct {
		name, tenant, seal string
		want               error
	}{
		{"nothing", "a", "", seal.ErrForeign},
		{"a vendor's", "a", "gAAAAABm0xyz==", seal.ErrForeign},
		{"another version", "a", "weir2" + r[5:], seal.ErrForeign},
		{"a prefix of ours", "a", "weir1", seal.ErrForeign},
		{"no kind", "a", "weir1.", seal.ErrInvalid},
		{"no dot", "a", "weir1.rr", seal.ErrInvalid},
		{"no bytes", "a", "weir1.r.", seal.ErrInvalid},
		{"an unknown kind", "a", "weir1.x" + r[7:], seal.ErrInvalid},
		{"reasoning as a summary", "a", "weir1.s" + r[7:], seal.ErrInvalid},
		{"a summary as reasoning", "a", "weir1.r" + s[7:], seal.ErrInvalid},
		{"reasoning as a tag", "a", "weir1.t" + r[7:], seal.ErrInvalid},
		{"a tag", "a", b.Tag("a", "f", []byte("text")), seal.ErrInvalid},
		{"another tenant", "b", r, seal.ErrInvalid},
		{"a longer tenant", "aa", r, seal.ErrInvalid},
		{"no tenant", "", r, seal.ErrInvalid},
		{"another key", "a", box(t).Reasoning("a", "f", []byte("text")), seal.ErrInvalid},
		{"a line end in it", "a", r[:20] + "\n" + r[20:], seal.ErrInvalid},
		{"a line end behind it", "a", r + "\r\n", seal.ErrInvalid},
		{"padding", "a", r + "=", seal.ErrInvalid},
		{"the key's id alone", "a", r[:13], seal.ErrInvalid},
		{"far too long", "a", "weir1.r." + strings.Repeat("A", 6<<20), seal.ErrInvalid},
	} {
		got, err := b.Open(tt.tenant, tt.seal)
		if !errors.Is(err, tt.want) || got != (seal.Opened{}) {
			t.Errorf("%s: got %+v, %v, want %v", tt.name, got, err, tt.want)
		}
	}
}

// TestTampering changes every character of seals to each of some others, and cuts them everywhere.
func TestTampering(t *testing.T) {
	t.Parallel()
	b := box(t, seal.NewKey(), seal.NewKey())
	tag := b.Tag("a", "f", []byte("text"))
	for name, s := range map[string]string{
		"reasoning": b.Reasoning("a", "f", []byte("text")),
		"deflated":  b.Reasoning("a", "f", bytes.Repeat([]byte("text"), 1000)),
		"summary":   b.Summary("a", []byte("texts")),
		"tag":       tag,
	} {
		opens := func(s string) bool {
			_, err := b.Open("a", s)
			return err == nil || b.Vouches("a", "", "text", s)
		}
		if !opens(s) {
			t.Fatalf("%s: it does not open", name)
		}
		for i := range s {
			// The next letters of the alphabet differ in the lowest bits, which the last character may not use.
			for _, c := range []byte{'A', 'B', 'C', 'D', 'E', 'Q', 'g', 'w', '-', '_', '\n', '=', 0, s[i] + 1, s[i] - 1, s[i] ^ 0x20, s[i] ^ 0x80} {
				if c != s[i] && opens(s[:i]+string([]byte{c})+s[i+1:]) {
					t.Errorf("%s: opens with %q in place of %q at %d", name, c, s[i], i)
				}
			}
			if opens(s[:i]) || opens(s[:i]+s[i+1:]) || opens(s[:i]+"A"+s[i:]) {
				t.Errorf("%s: opens with a character less or more at %d", name, i)
			}
		}
	}
}

func TestKeyRotation(t *testing.T) {
	t.Parallel()
	older, old, now := seal.NewKey(), seal.NewKey(), seal.NewKey()
	first, second, third := box(t, older), box(t, old, older), box(t, now, old)
	text := []byte("text")
	for _, tt := range []struct {
		name     string
		made, by *seal.Box
		ok       bool
	}{
		{"its own", third, third, true},
		{"one key back", second, third, true},
		{"two keys back", first, third, false},
		{"the middle opens the first", first, second, true},
		{"an old box and a new key", third, second, false},
	} {
		_, err := tt.by.Open("a", tt.made.Reasoning("a", "f", text))
		_, err2 := tt.by.Open("a", tt.made.Summary("a", text))
		vouched := tt.by.Vouches("a", "f", "text", tt.made.Tag("a", "f", text))
		if (err == nil) != tt.ok || (err2 == nil) != tt.ok || vouched != tt.ok || !tt.ok && !errors.Is(err, seal.ErrInvalid) {
			t.Errorf("%s: got %v, %v, %v, want %v", tt.name, err, err2, vouched, tt.ok)
		}
	}
}

// TestBombs seals what this side never makes, with the right key.
func TestBombs(t *testing.T) {
	t.Parallel()
	b := box(t)
	zeros := make([]byte, seal.MaxText)
	var open bytes.Buffer
	w, err := flate.NewWriter(&open, flate.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	w.Write(zeros)
	w.Flush()
	for _, tt := range []struct {
		name    string
		payload []byte
		ok      bool
	}{
		{"deflated", seal.Frame(seal.FormDeflated, "f", seal.MaxText, deflated(t, zeros)), true},
		{"more than it says", seal.Frame(seal.FormDeflated, "f", 100, deflated(t, zeros)), false},
		{"one byte more than it says", seal.Frame(seal.FormDeflated, "f", seal.MaxText-1, deflated(t, zeros)), false},
		{"less than it says", seal.Frame(seal.FormDeflated, "f", seal.MaxText, deflated(t, zeros[1:])), false},
		{"over the limit", seal.Frame(seal.FormDeflated, "f", seal.MaxText+1, deflated(t, make([]byte, seal.MaxText+1))), false},
		{"far over the limit", seal.Frame(seal.FormDeflated, "f", 1<<63, deflated(t, zeros)), false},
		{"not deflated", seal.Frame(seal.FormDeflated, "f", 100, noise(100)), false},
		{"cut", seal.Frame(seal.FormDeflated, "f", seal.MaxText, deflated(t, zeros)[:100]), false},
		{"all of the text and no end", seal.Frame(seal.FormDeflated, "f", seal.MaxText, open.Bytes()), false},
		{"plain", seal.Frame(seal.FormPlain, "f", 4, []byte("text")), true},
		{"plain and short", seal.Frame(seal.FormPlain, "f", 5, []byte("text")), false},
		{"plain and long", seal.Frame(seal.FormPlain, "f", 3, []byte("text")), false},
		{"an unknown form", seal.Frame(2, "f", 4, []byte("text")), false},
		{"empty", nil, false},
		{"a form alone", []byte{0}, false},
		{"a family that is not there", []byte{0, 200, 1, 'f'}, false},
		{"a family of 2^63", append([]byte{0}, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1), false},
		{"a number over 64 bits", append([]byte{0}, bytes.Repeat([]byte{0xff}, 12)...), false},
		{"no size", []byte{0, 1, 'f'}, false},
	} {
		if _, err := b.Open("a", b.SealPayload(seal.Reasoning, "a", tt.payload)); (err == nil) != tt.ok || err != nil && !errors.Is(err, seal.ErrInvalid) {
			t.Errorf("%s: got %v", tt.name, err)
		}
	}
}

func TestTag(t *testing.T) {
	t.Parallel()
	key := seal.NewKey()
	b := box(t, key)
	tag := b.Tag("a", "f", []byte("text"))
	if !strings.HasPrefix(tag, "weir1.t.") || len(tag) != 40 || tag != box(t, key).Tag("a", "f", []byte("text")) {
		t.Errorf("got %q", tag)
	}
	long := string(thought(5000))
	sum := sha256.Sum256([]byte("f"))
	mark := string(sum[:3]) // what stands between tenant and text in what is hashed
	for _, tt := range []struct {
		name, tenant, family, text, tag string
		want                            bool
	}{
		{"as made", "a", "f", "text", tag, true},
		{"whatever family", "a", "", "text", tag, true},
		{"another family", "a", "g", "text", tag, false},
		{"another tenant", "b", "f", "text", tag, false},
		{"another text", "a", "f", "texts", tag, false},
		{"no text", "a", "f", "", tag, false},
		{"tenant and text moved", "at", "f", "ext", tag, false},
		{"tenant and text moved over the mark", "a" + mark + "te", "f", "xt", b.Tag("a", "f", []byte("te"+mark+"xt")), false},
		{"no tag", "a", "f", "text", "", false},
		{"a seal", "a", "f", "text", b.Reasoning("a", "f", []byte("text")), false},
		{"another key's", "a", "f", "text", box(t).Tag("a", "f", []byte("text")), false},
		{"long", "a", "f", long, b.Tag("a", "f", []byte(long)), true},
		{"long and changed at the end", "a", "f", long[:4999] + "~", b.Tag("a", "f", []byte(long)), false},
		{"empty", "", "", "", b.Tag("", "", nil), true},
	} {
		if got := b.Vouches(tt.tenant, tt.family, tt.text, tt.tag); got != tt.want {
			t.Errorf("%s: got %v", tt.name, got)
		}
	}
}

func TestConcurrency(t *testing.T) {
	t.Parallel()
	b := box(t)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			tenant, text := fmt.Sprint("tenant", i), thought(500*i)
			for range 50 {
				got, err := b.Open(tenant, b.Reasoning(tenant, "f", text))
				if err != nil || got.Text != string(text) {
					t.Errorf("%s: got %d bytes, %v", tenant, len(got.Text), err)
				}
				if !b.Vouches(tenant, "f", string(text), b.Tag(tenant, "f", text)) {
					t.Errorf("%s: the tag does not vouch", tenant)
				}
			}
		})
	}
	group.Wait()
}

func TestNewBoxErrors(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string][]seal.Key{"no key": nil, "an empty key": {seal.NewKey(), {}}} {
		if b, err := seal.NewBox(keys...); err == nil {
			t.Errorf("%s: got %v", name, b)
		}
	}
	key := seal.NewKey()
	box(t, key, key)
}

// FuzzOpen opens anything, and then anything that was sealed with the right key.
func FuzzOpen(f *testing.F) {
	key, err := seal.ParseKey(strings.Repeat("0123456789abcdef", 4))
	if err != nil {
		f.Fatal(err)
	}
	b := box(f, key)
	for _, s := range []string{
		"", "weir1.r.", "weir1.r.AAAAAAAA", b.Reasoning("a", "f", []byte("text")), b.Summary("a", thought(2000)), b.Tag("a", "f", []byte("text")),
		string(seal.Frame(seal.FormPlain, "f", 4, []byte("text"))), string(seal.Frame(seal.FormDeflated, "f", 4, deflated(f, []byte("text")))),
	} {
		f.Add("a", s)
	}
	f.Fuzz(func(t *testing.T, tenant, s string) {
		got, err := b.Open(tenant, s)
		switch {
		case err == nil && len(got.Text) <= seal.MaxText:
			if tenant != "a" {
				t.Errorf("%q opens for %q", s, tenant)
			}
		case errors.Is(err, seal.ErrForeign) == strings.HasPrefix(s, "weir1."), errors.Is(err, seal.ErrInvalid) != strings.HasPrefix(s, "weir1."):
			t.Errorf("%q: got %v", s, err)
		}
		if b.Vouches(tenant, "", tenant, s) {
			t.Errorf("%q vouches", s)
		}
		if family, text, ok := b.Unpack([]byte(s)); ok && len(family)+len(text) > seal.MaxText+len(s) {
			t.Errorf("a family of %d bytes and a text of %d", len(family), len(text))
		}
		got, err = b.Open(tenant, b.Reasoning(tenant, s, []byte(s+tenant)))
		if err != nil || got.Family != s || got.Text != s+tenant {
			t.Errorf("got %+v, %v", got, err)
		}
		if !b.Vouches(tenant, s, s, b.Tag(tenant, s, []byte(s))) {
			t.Error("a tag does not vouch")
		}
	})
}

func BenchmarkReasoning8K(b *testing.B) {
	x, text := box(b), thought(8<<10)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		x.Reasoning("tenant", "qwen3", text)
	}
}

func BenchmarkOpen8K(b *testing.B) {
	x, text := box(b), thought(8<<10)
	s := x.Reasoning("tenant", "qwen3", text)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := x.Open("tenant", s); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(s)), "chars")
}

func BenchmarkTag8K(b *testing.B) {
	x, text := box(b), thought(8<<10)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		x.Tag("tenant", "qwen3", text)
	}
}
