package store_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weirgate/weir/gateway/internal/chain"
	"github.com/weirgate/weir/gateway/internal/store"
	"github.com/weirgate/weir/gateway/internal/store/storetest"
)

func heap() int64 {
	var s runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// TestMemoryAccount compares what a Memory says that it takes with what it takes, for links of which each is a small
// part of the request that it came in. It does not run beside other tests.
func TestMemoryAccount(t *testing.T) {
	for _, c := range []struct{ links, size int }{{20_000, 40}, {2000, 4000}, {100, 200_000}} {
		before := heap()
		m := store.NewMemory(store.Options{})
		for i := range c.links {
			l := storetest.Link("tenant", "resp_"+strconv.Itoa(i), "resp_"+strconv.Itoa(i-1), c.size)
			body := []byte(strings.Repeat("tools, which are long", 1000))
			l.Body, l.Input[0].JSON = body[:50], body[60:90]
			if err := m.Put(t.Context(), l); err != nil {
				t.Fatal(err)
			}
		}
		took, says := heap()-before, m.Stats().Bytes
		if ratio := float64(took) / float64(says); ratio < 0.8 || ratio > 1.25 {
			t.Errorf("%d links of %d bytes take %d bytes, and are said to take %d", c.links, c.size, took, says)
		}
		runtime.KeepAlive(m)
	}
}

// TestMemoryIsGivenBack takes everything out in several ways.
func TestMemoryIsGivenBack(t *testing.T) {
	t.Parallel()
	now := time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)
	m := store.NewMemory(store.Options{MaxBytes: 200 << 10, Now: func() time.Time { return now }})
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 20 {
		for i := range 300 {
			parent := ""
			if i > 0 && r.IntN(4) > 0 {
				parent = fmt.Sprintf("%d-%d", round, r.IntN(i))
			}
			l := storetest.Link("a", fmt.Sprintf("%d-%d", round, i), parent, r.IntN(2000))
			l.Output[0].ID, l.Input[0].ID = "item"+strconv.Itoa(r.IntN(20)), "item"+strconv.Itoa(r.IntN(20))
			l.Expires = now.Add(time.Duration(1+r.IntN(1000)) * time.Minute)
			if err := m.Put(t.Context(), l); err != nil {
				t.Fatal(err)
			}
			_ = m.Delete(t.Context(), "a", fmt.Sprintf("%d-%d", round, r.IntN(300)))
			_, _ = m.Get(t.Context(), "a", fmt.Sprintf("%d-%d", round, r.IntN(300)))
			_, _ = m.Item(t.Context(), "a", "item"+strconv.Itoa(r.IntN(20)))
			now = now.Add(time.Minute)
			if s := m.Stats(); s.Bytes > 200<<10 || s.Bytes < 0 {
				t.Fatalf("%+v", s)
			}
		}
		m.Check(t)
	}
	now = now.Add(1e6 * time.Minute)
	for i := range 600 { // a Put sweeps some
		l := &chain.Link{ID: "last" + strconv.Itoa(i), Owner: "a"}
		if err := m.Put(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		if err := m.Delete(t.Context(), "a", l.ID); err != nil {
			t.Fatal(err)
		}
	}
	if s := m.Stats(); s != (store.Stats{}) {
		t.Errorf("%+v are left", s)
	}
	m.Check(t)
}

// TestMemoryOrder fills a store with links that nobody asks for, and one that is used in each way there is.
func TestMemoryOrder(t *testing.T) {
	t.Parallel()
	const size, room = 10_000, 20
	for _, c := range []struct {
		name string
		use  func(*store.Memory) error
		gone string
	}{
		{"get", func(m *store.Memory) error { _, err := m.Get(t.Context(), "a", "used"); return err }, "idle"},
		{"history", func(m *store.Memory) error { _, err := m.History(t.Context(), "a", "used"); return err }, "idle"},
		{"item", func(m *store.Memory) error { _, err := m.Item(t.Context(), "a", "used-in"); return err }, "idle"},
		{"its child was used before it was deleted", func(m *store.Memory) error {
			if err := m.Put(t.Context(), &chain.Link{ID: "child", Owner: "a", Parent: "used"}); err != nil {
				return err
			}
			return m.Delete(t.Context(), "a", "child")
		}, "idle"},
		{"not at all", func(*store.Memory) error { return nil }, "used"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := store.NewMemory(store.Options{MaxBytes: room * 11_000})
			put := func(id string) {
				t.Helper()
				l := storetest.Link("a", id, "", size)
				l.Expires = time.Time{}
				if err := m.Put(t.Context(), l); err != nil {
					t.Fatal(err)
				}
			}
			put("used")
			put("idle")
			if err := c.use(m); err != nil {
				t.Fatal(err)
			}
			for i := 0; m.Stats().Links == i+2; i++ { // until one had to go
				put(strconv.Itoa(i))
			}
			for _, id := range []string{"used", "idle"} {
				if _, err := m.Get(t.Context(), "a", id); (err != nil) != (id == c.gone) {
					t.Errorf("%s: %v", id, err)
				}
			}
		})
	}
}
