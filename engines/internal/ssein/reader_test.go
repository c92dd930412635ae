package ssein_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/weirgate/weir/engines/internal/ssein"
)

// all reads every event of src as text.
func all(src io.Reader, limit int) (string, error) {
	r := ssein.New(src, limit)
	var b strings.Builder
	for {
		e, err := r.Next()
		if err != nil {
			return b.String(), err
		}
		fmt.Fprintf(&b, "[%s|%s|%s]", e.Name, e.Data, e.ID)
	}
}

// pieces gives its parts one a read.
type pieces [][]byte

func (p *pieces) Read(b []byte) (int, error) {
	if len(*p) == 0 {
		return 0, io.EOF
	}
	n := copy(b, (*p)[0])
	if (*p)[0] = (*p)[0][n:]; len((*p)[0]) == 0 {
		*p = (*p)[1:]
	}
	return n, nil
}

var streams = []struct{ name, in, want string }{
	{"one", "data: a\n\n", "[|a|]"},
	{"no space", "data:a\n\n", "[|a|]"},
	{"two spaces", "data:  a\n\n", "[| a|]"},
	{"crlf", "data: a\r\n\r\ndata: b\r\n\r\n", "[|a|][|b|]"},
	{"cr", "data: a\r\rdata: b\r\r", "[|a|][|b|]"},
	{"mixed ends", "data: a\r\n\ndata: b\n\r\n", "[|a|][|b|]"},
	{"joined lines", "data: a\ndata:b\ndata\ndata: c\n\n", "[|a\nb\n\nc|]"},
	{"empty data", "data\n\ndata:\n\n", "[||][||]"},
	{"name and id", "event: x\nid: 7\ndata: a\n\ndata: b\n\n", "[x|a|7][|b|7]"},
	{"id with nul is ignored", "id: 1\ndata: a\n\nid: 2\x00\ndata: b\n\n", "[|a|1][|b|1]"},
	{"id reset", "id: 1\ndata: a\n\nid\ndata: b\n\n", "[|a|1][|b|]"},
	{"comments and retry", ": hi\n\nretry: 5\ndata: a\n:x\n\n", "[|a|]"},
	{"event without data", "event: x\n\ndata: a\n\n", "[|a|]"},
	{"byte order mark", "\xef\xbb\xbfdata: a\n\n", "[|a|]"},
	{"mark twice", "\xef\xbb\xbf\xef\xbb\xbfdata: a\n\ndata: b\n\n", "[|b|]"},
	{"unknown field", "foo: 1\nDATA: 2\ndata : 3\ndata: a\n\n", "[|a|]"},
	{"cut line is dropped", "data: a\n\ndata: b", "[|a|]"},
	{"cut event is dropped", "data: a\n\ndata: b\n", "[|a|]"},
	{"data after event name", "event: a\nevent: b\ndata: x\n\n", "[b|x|]"},
	{"only ends", "\r\n\n\r\r\n\ndata: a\n\n", "[|a|]"},
	{"empty", "", ""},
}

func TestEvents(t *testing.T) {
	for _, s := range streams {
		t.Run(s.name, func(t *testing.T) {
			for name, src := range map[string]io.Reader{
				"whole":    strings.NewReader(s.in),
				"byte":     iotest.OneByteReader(strings.NewReader(s.in)),
				"data+EOF": iotest.DataErrReader(strings.NewReader(s.in)),
			} {
				got, err := all(src, 0)
				if got != s.want || err != io.EOF {
					t.Errorf("%s: got %q, %v, want %q", name, got, err, s.want)
				}
			}
		})
	}
}

func TestLongEventsAndLimit(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	in := "data: " + long + "\ndata: y\n\ndata: z\n\n"
	got, err := all(iotest.HalfReader(strings.NewReader(in)), 0)
	if want := "[|" + long + "\ny|][|z|]"; got != want || err != io.EOF {
		t.Errorf("long event: %d bytes, %v, want %d", len(got), err, len(want))
	}
	var big *ssein.TooLargeError
	_, err = all(strings.NewReader(in), 50_000)
	if !errors.As(err, &big) || big.Limit != 50_000 {
		t.Errorf("one line over the limit: %v", err)
	}
	_, err = all(strings.NewReader(strings.Repeat("data: "+strings.Repeat("y", 1000)+"\n", 100)), 50_000)
	if !errors.As(err, &big) {
		t.Errorf("many lines over the limit: %v", err)
	}
}

func TestSourceErrors(t *testing.T) {
	fail := errors.New("reset")
	got, err := all(io.MultiReader(strings.NewReader("data: a\n\ndata: b"), iotest.ErrReader(fail)), 0)
	if got != "[|a|]" || !errors.Is(err, fail) {
		t.Errorf("got %q, %v", got, err)
	}
	r := ssein.New(strings.NewReader("data: a\n"), 0)
	if _, err := r.Next(); err != io.EOF || !r.Pending() {
		t.Errorf("a cut stream: %v, pending %v", err, r.Pending())
	}
	r = ssein.New(strings.NewReader("data: a\n\n"), 0)
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); err != io.EOF || r.Pending() {
		t.Errorf("a whole stream: %v, pending %v", err, r.Pending())
	}
}

// TestReady: Ready is true exactly as long as whole events are buffered.
func TestReady(t *testing.T) {
	src := pieces{[]byte("data: 1\n\nevent: e\ndata: 2\n\ndata: 3"), []byte("\n\n: ping\n\n")}
	r := ssein.New(&src, 0)
	if r.Ready() {
		t.Fatal("ready before the first read")
	}
	for i, want := range []struct {
		data, name string
		ready      bool
	}{{"1", "", true}, {"2", "e", false}, {"3", "", false}} {
		e, err := r.Next()
		if err != nil || string(e.Data) != want.data || string(e.Name) != want.name {
			t.Fatalf("event %d: %q %q, %v", i, e.Name, e.Data, err)
		}
		if got := r.Ready(); got != want.ready || got != r.Ready() {
			t.Errorf("after event %d: ready %v, want %v", i, got, want.ready)
		}
	}
}

// reads counts the calls of Read.
type reads struct {
	io.Reader
	n int
}

func (r *reads) Read(b []byte) (int, error) {
	r.n++
	return r.Reader.Read(b)
}

// TestOneReadABurst: events that wait together take one read, and Ready none.
func TestOneReadABurst(t *testing.T) {
	const events = 60
	src := reads{Reader: &pieces{[]byte(strings.Repeat(chunk, events))}}
	r := ssein.New(&src, 0)
	for i := range events {
		if i > 0 && !r.Ready() {
			t.Fatalf("event %d is not ready", i)
		}
		if _, err := r.Next(); err != nil || src.n != 1 {
			t.Fatalf("event %d: %d reads, %v", i, src.n, err)
		}
	}
	if r.Ready() || src.n != 1 || r.Ended() {
		t.Errorf("ready %v, ended %v after %d reads", r.Ready(), r.Ended(), src.n)
	}
	if _, err := r.Next(); err != io.EOF || !r.Ended() {
		t.Errorf("the end: %v, ended %v", err, r.Ended())
	}
}

// TestReset: a reader says of a stream what a new one says, whatever it read before.
func TestReset(t *testing.T) {
	r := ssein.New(nil, 0)
	befores := []string{"event: e\nid: 7\ndata: " + strings.Repeat("x", 200_000) + "\ndata: y\n\ndata: z\n"}
	for _, s := range streams {
		befores = append(befores, s.in)
	}
	for _, before := range befores {
		for _, s := range streams {
			for n := range 3 { // also in the middle of a stream
				r.Reset(strings.NewReader(before), 0)
				for range n {
					if _, err := r.Next(); err != nil {
						break
					}
					r.Ready()
				}
				r.Reset(iotest.OneByteReader(strings.NewReader(s.in)), 0)
				var b strings.Builder
				e, err := r.Next()
				for ; err == nil; e, err = r.Next() {
					fmt.Fprintf(&b, "[%s|%s|%s]", e.Name, e.Data, e.ID)
				}
				if got := b.String(); err != io.EOF || got != s.want {
					t.Fatalf("%s after %.40q: got %q, %v, want %q", s.name, before, got, err, s.want)
				}
			}
		}
	}
}

func TestDiscard(t *testing.T) {
	rest := strings.NewReader("data: a\n\ndata: b\n" + strings.Repeat("x", 100_000))
	r := ssein.New(rest, 50_000)
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	r.Discard()
	if rest.Len() != 0 || !r.Ended() || r.Ready() {
		t.Errorf("%d bytes left, ended %v, ready %v", rest.Len(), r.Ended(), r.Ready())
	}
	if _, err := r.Next(); err != io.EOF {
		t.Errorf("after it: %v", err)
	}
}

func FuzzSplit(f *testing.F) {
	for _, s := range streams {
		f.Add([]byte(s.in), uint64(0x0101010101010101))
		f.Add([]byte(s.in), uint64(0x0302010403020104))
	}
	f.Fuzz(func(t *testing.T, in []byte, cuts uint64) {
		whole, werr := all(bytes.NewReader(in), 1<<20)
		var src pieces
		for rest, c := in, cuts; len(rest) > 0; c = c>>4 | c<<60 {
			n := min(int(c&15)+1, len(rest))
			src = append(src, rest[:n])
			rest = rest[n:]
		}
		got, err := all(&src, 1<<20)
		if got != whole || !errors.Is(err, werr) {
			t.Fatalf("split: %q, %v\nwhole: %q, %v", got, err, whole, werr)
		}
	})
}

// endless repeats one chunk for ever.
type endless struct {
	chunk []byte
	at    int
}

func (e *endless) Read(b []byte) (int, error) {
	n := copy(b, e.chunk[e.at:])
	e.at = (e.at + n) % len(e.chunk)
	return n, nil
}

const chunk = `data: {"id":"cmpl-b49b1bb61777d7c0","object":"text_completion","created":1795971572,"model":"tiny","choices":[{"index":0,"text":" Coco","logprobs":null,"finish_reason":null,"stop_reason":null}]}` + "\n\n"

func TestAllocations(t *testing.T) {
	r := ssein.New(&endless{chunk: []byte("event: x\nid: 1\n" + chunk + "data: a\ndata: b\n\n")}, 0)
	next := func() {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}
	for range 1000 {
		next()
	}
	if n := testing.AllocsPerRun(1000, next); n != 0 {
		t.Errorf("%v allocations an event", n)
	}
}

func BenchmarkNext(b *testing.B) {
	r := ssein.New(&endless{chunk: []byte(chunk)}, 0)
	b.ReportAllocs()
	b.SetBytes(int64(len(chunk)))
	for b.Loop() {
		if _, err := r.Next(); err != nil {
			b.Fatal(err)
		}
	}
}
