package recall_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/weirgate/weir/gateway/internal/surface/recall"
)

// put remembers an array of one element, which takes so many bytes and says what it is.
func put(m *recall.Memory, k recall.Key, says string, size int) {
	e := recall.Element[string]{Text: make([]byte, max(size-600, 0)), Values: []string{says}}
	recall.Put(m, k, []*recall.Element[string]{nil}, []recall.Element[string]{e}, (*recall.Copier).Text)
}

// known is what is remembered under k.
func known(m *recall.Memory, k recall.Key) string {
	array, _ := recall.Find[string](m, k)
	var out []string
	for _, e := range array {
		out = append(out, e.Values...)
	}
	return strings.Join(out, " ")
}

func TestOwners(t *testing.T) {
	t.Parallel()
	seen := map[recall.Owner]string{}
	for name, h := range map[string]http.Header{
		"none": nil, "bearer": {"Authorization": {"Bearer a"}}, "another": {"Authorization": {"Bearer b"}}, "key": {"X-Api-Key": {"Bearer a"}},
		"both": {"Authorization": {"Bearer a"}, "X-Api-Key": {"a"}}, "two": {"Authorization": {"Bearer a", "b"}}, "joined": {"Authorization": {"Bearer ab"}},
		"empty": {"Authorization": {""}}, "long": {"Authorization": {strings.Repeat("a", 5000)}},
	} {
		o := recall.OwnerOf(h)
		if other, ok := seen[o]; ok {
			t.Errorf("%s and %s are one", name, other)
		}
		seen[o] = name
		if o != recall.OwnerOf(h.Clone()) {
			t.Errorf("%s is not always the same", name)
		}
	}
	if recall.OwnerOf(http.Header{"Accept": {"x"}}) != recall.OwnerOf(nil) {
		t.Error("another header counts")
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	m := recall.New(recall.Options{MaxBytes: 1 << 20})
	a := recall.Owner{1}
	k := m.Key(a, "chat", []byte("ab"))
	put(m, k, "this", 1)
	for name, other := range map[string]recall.Key{
		"owner": m.Key(recall.Owner{2}, "chat", []byte("ab")), "kind": m.Key(a, "tools", []byte("ab")), "text": m.Key(a, "chat", []byte("ac")),
	} {
		if got := known(m, other); got != "" {
			t.Errorf("another %s: %s", name, got)
		}
	}
	if got := known(m, m.Key(a, "chat", []byte("ab"))); got != "this" {
		t.Errorf("got %q", got)
	}
	put(m, k, "that", 1)
	if got := known(m, k); got != "that" {
		t.Errorf("got %q", got)
	}
	if array, again := recall.Find[int](m, k); array != nil || again {
		t.Error("found as what it is not")
	}
}

// TestSecondTime: what is asked for once is not worth remembering.
func TestSecondTime(t *testing.T) {
	t.Parallel()
	m := recall.New(recall.Options{MaxBytes: 1 << 20})
	for i := range 10 {
		k := m.Key(recall.Owner{}, "chat", fmt.Append(nil, i))
		for n := range 3 {
			if array, again := recall.Find[string](m, k); array != nil || again != (n > 0) {
				t.Errorf("time %d: %v, %v", n, array, again)
			}
		}
	}
}

func TestEviction(t *testing.T) {
	t.Parallel()
	const most = 40_000
	m := recall.New(recall.Options{MaxBytes: most})
	key := func(i int) recall.Key { return m.Key(recall.Owner{}, "chat", fmt.Append(nil, i)) }
	for i := range 100 {
		put(m, key(i), strconv.Itoa(i), 4000)
		if got := known(m, key(0)); got != "0" {
			t.Fatalf("after %d: what is used goes: %q", i, got)
		}
		if n := m.Bytes(); n > most || n < min(i, 7)*4000 {
			t.Fatalf("after %d: %d bytes", i, n)
		}
	}
	held := 0
	for i := range 100 {
		if known(m, key(i)) != "" {
			held++
			if i > 0 && i < 100-most/4000 {
				t.Errorf("%d stays", i)
			}
		}
	}
	if held < 7 || held > most/4000 {
		t.Errorf("%d are held", held)
	}
	before := m.Bytes()
	put(m, key(0), "large", most/4)
	if got := known(m, key(0)); got != "0" || m.Bytes() != before {
		t.Errorf("more than a fourth is taken: %q", got)
	}
	put(m, key(0), "small", 1)
	if got := m.Bytes(); got > before-3000 {
		t.Errorf("%d bytes, had %d", got, before)
	}
}

func TestNothing(t *testing.T) {
	t.Parallel()
	var none *recall.Memory
	if none.Takes(1<<20) || none.Bytes() != 0 {
		t.Error("no memory takes something")
	}
	if recall.New(recall.Options{}).Takes(1 << 20) {
		t.Error("an empty memory takes something")
	}
	if m := recall.New(recall.Options{MaxBytes: 1, MinBody: 10}); m.Takes(9) || !m.Takes(10) {
		t.Error("bodies are not told apart by their size")
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	m := recall.New(recall.Options{MaxBytes: 50_000})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 500 {
				text := strconv.Itoa(i * g % 31)
				k := m.Key(recall.Owner{}, "chat", []byte(text))
				if got := known(m, k); got != "" && got != text {
					t.Errorf("%s says %s", text, got)
				}
				put(m, k, text, 1000+i)
				if n := m.Bytes(); n > 50_000 {
					t.Errorf("%d bytes", n)
				}
			}
		})
	}
	wg.Wait()
}
