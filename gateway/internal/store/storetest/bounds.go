package storetest

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/weirgate/weir/gateway/internal/chain"
	"github.com/weirgate/weir/gateway/internal/store"
)

// plain is items without pointers, and without the difference between nil and empty, for comparing.
func plain(items []chain.Item) []any {
	var out []any
	for _, it := range items {
		out = append(out, it.ID, string(it.JSON))
		for _, m := range it.Messages {
			out = append(out, m.Role, m.Name)
			for _, p := range m.Parts {
				if p.Call != nil {
					out = append(out, *p.Call)
				}
				if p.Media != nil {
					out = append(out, *p.Media)
				}
				if p.Result != nil {
					out = append(out, p.Result.CallID, p.Result.IsError, len(p.Result.Parts))
				}
				p.Call, p.Result, p.Media = nil, nil, nil
				out = append(out, p)
			}
		}
		for _, d := range it.Tools {
			out = append(out, d)
		}
	}
	return out
}

func expiry(t test) {
	s, c := t.opened(store.Options{})
	short, long, forever := Link("a", "short", "", 10), Link("a", "long", "", 10), Link("a", "forever", "", 10)
	short.Expires, long.Expires, forever.Expires = epoch().Add(time.Minute), epoch().Add(time.Hour), time.Time{}
	t.put(s, short, long, forever)
	c.advance(time.Minute - time.Microsecond)
	t.get(s, short)
	t.history(s, "short", short)
	c.advance(time.Microsecond)
	t.lost(s, "a", "short")
	t.noItem(s, "a", "short-in")
	t.get(s, long)
	c.advance(10000 * time.Hour)
	t.lost(s, "a", "long")
	t.put(s, Link("a", "late", "", 10)) // which has expired already
	t.lost(s, "a", "late")
	t.get(s, forever)
	t.item(s, "a", "forever-out", &forever.Output[0])
}

// expiryInLine has parents expire before and after their children, before and after a Put could have swept.
func expiryInLine(t test) {
	s, c := t.opened(store.Options{})
	a, b, d := Link("a", "a", "", 10), Link("a", "b", "a", 10), Link("a", "d", "b", 10)
	a.Expires, b.Expires, d.Expires = epoch().Add(2*time.Hour), epoch().Add(time.Hour), epoch().Add(3*time.Hour)
	t.put(s, a, b, d)
	c.advance(time.Hour)
	for i := range 3 {
		t.lost(s, "a", "b")
		t.get(s, a)
		t.get(s, d)
		t.history(s, "a", a)
		if _, err := s.History(t.Context(), "a", "d"); !errors.Is(err, chain.ErrNotFound) {
			t.Errorf("history with a parent that has expired: %v", err)
		}
		other := Link("a", "other"+strconv.Itoa(i), "", 10)
		t.put(s, other)
		c.advance(time.Minute)
	}
	// One that goes on from what has expired has no history, even if the id comes again.
	e := Link("a", "e", "b", 10)
	e.Expires = time.Time{}
	t.put(s, e)
	b2 := Link("a", "b", "", 10)
	b2.Expires = time.Time{}
	t.put(s, b2)
	t.history(s, "b", b2)
	for _, id := range []string{"d", "e"} {
		if _, err := s.History(t.Context(), "a", id); !errors.Is(err, chain.ErrNotFound) {
			t.Errorf("history of %s: %v", id, err)
		}
	}
}

func items(t test) {
	s, c := t.opened(store.Options{})
	first, second, third := Link("a", "1", "", 10), Link("a", "2", "1", 20), Link("a", "3", "", 30)
	for _, l := range []*chain.Link{first, second, third} {
		l.Input[0].ID, l.Output[0].ID = "same", "out"+l.ID
	}
	third.Expires = epoch().Add(time.Minute)
	third.Output[1].ID = "same" // twice in one link
	t.put(s, first)
	t.item(s, "a", "same", &first.Input[0])
	t.item(s, "a", "out1", &first.Output[0])
	t.put(s, second, third)
	t.item(s, "a", "same", &third.Output[1])
	c.advance(time.Minute)
	t.item(s, "a", "same", &second.Input[0])
	for _, id := range []string{"1", "2"} { // 1 is hidden, and then 2 was all that it was kept for
		t.item(s, "a", "same", &second.Input[0])
		if err := s.Delete(t.Context(), "a", id); err != nil {
			t.Fatal(err)
		}
	}
	t.noItem(s, "a", "same")
	t.noItem(s, "a", "out2")
}

// eviction wants a store to hold what it can, and the newest whatever comes.
func eviction(t test) {
	const count, size, bound = 40, 50 << 10, 1 << 20
	s, _ := t.opened(store.Options{MaxBytes: bound})
	for i := range count {
		l := Link("a", strconv.Itoa(i), "", size)
		t.put(s, l)
		t.get(s, l)
	}
	kept := 0
	for i := range count {
		id := strconv.Itoa(i)
		_, err := s.Get(t.Context(), "a", id)
		switch {
		case err == nil:
			kept++
		case kept > 0:
			t.Errorf("%s is gone, older ones are not", id)
		default:
			t.lost(s, "a", id)
			t.noItem(s, "a", id+"-in")
		}
	}
	if lowest, highest := bound/size/2, 2*bound/size; kept < lowest || kept > highest {
		t.Errorf("%d of %d links are kept, want between %d and %d", kept, count, lowest, highest)
	}
}

// evictionInLine wants a conversation that goes on to be kept whole while it fits, and its end when it does not.
func evictionInLine(t test) {
	const size = 50 << 10
	s, _ := t.opened(store.Options{MaxBytes: 1 << 20})
	var line []*chain.Link
	parent := ""
	for i := range 8 {
		l := Link("a", "line"+strconv.Itoa(i), parent, size)
		t.put(s, l)
		line, parent = append(line, l), l.ID
		for j := range 5 { // others come and go
			t.put(s, Link("a", "other"+strconv.Itoa(i)+"-"+strconv.Itoa(j), "", size))
		}
		t.history(s, l.ID, line...)
	}
	for i := range 40 {
		l := Link("a", "more"+strconv.Itoa(i), parent, size)
		t.put(s, l)
		t.get(s, l)
		t.item(s, "a", l.ID+"-in", &l.Input[0])
		parent = l.ID
	}
	if _, err := s.History(t.Context(), "a", parent); !errors.Is(err, chain.ErrNotFound) {
		t.Errorf("history of what cannot be kept whole: %v", err)
	}
}

func tooLarge(t test) {
	for _, o := range []store.Options{{MaxLink: 10 << 10}, {MaxBytes: 1 << 20, MaxLink: 100 << 10}, {MaxBytes: 1 << 20}} {
		s, _ := t.opened(o)
		small := Link("a", "small", "", 100)
		t.put(s, small)
		for _, size := range []int{2 << 20, 1200 << 10} {
			large := Link("a", "large", "small", size)
			if err := s.Put(t.Context(), large); !errors.Is(err, chain.ErrTooLarge) {
				t.Fatalf("%+v, %d bytes: %v", o, size, err)
			}
			t.lost(s, "a", "large")
			t.noItem(s, "a", "large-in")
			t.history(s, "small", small)
		}
	}
}

func anyBytes(t test) {
	s, _ := t.opened(store.Options{})
	var all []*chain.Link
	parent := ""
	for _, id := range []string{"x", "X", "x ", "x\x00", "x\x00y", "\x00", "\xff", "\xff\xfe", "é", "e\u0301", "'; DROP TABLE links; --", "%", "_", "?1", "1", "01", "1.0", "\U0001F600"} {
		l := Link("a", id, parent, 10)
		l.Model, l.Body = id, []byte(id)
		l.Output[0].Messages[0].Parts[1].Text += "\xff\x00\xc3"
		l.Output[0].Messages[0].Parts[2].Call.Arguments = id
		t.put(s, l)
		all, parent = append(all, l), id
		l = Link(id, "own", "", 10)
		t.put(s, l)
		t.get(s, l)
	}
	for i, l := range all {
		t.get(s, l)
		t.history(s, l.ID, all[:i+1]...)
		t.item(s, "a", l.ID+"-in", &l.Input[0])
	}
}

// concurrent has conversations go on, end and be asked for at the same time.
func concurrent(t test) {
	s, _ := t.opened(store.Options{MaxBytes: 4 << 20})
	t.put(s, Link("a", "root", "", 10))
	var wg sync.WaitGroup
	for w := range 6 {
		wg.Go(func() { t.converse(s, strconv.Itoa(w)) })
	}
	var same, failed int
	var mu sync.Mutex
	for range 6 { // one of them puts it
		wg.Go(func() {
			err := s.Put(t.Context(), Link("a", "same", "", 10))
			mu.Lock()
			defer mu.Unlock()
			if same++; err != nil {
				failed++
			}
		})
	}
	wg.Wait()
	if failed != same-1 {
		t.Errorf("%d of %d puts of one id were refused", failed, same)
	}
}

// converse goes on from the root, and deletes some of what it said.
func (t test) converse(s chain.Store, who string) {
	parent := "root"
	for i := range 12 {
		l := Link("a", who+"-"+strconv.Itoa(i), parent, 1000)
		if err := s.Put(t.Context(), l); err != nil {
			t.Errorf("put %s: %v", l.ID, err)
			return
		}
		t.get(s, l)
		got, err := s.History(t.Context(), "a", l.ID)
		if err != nil || len(got) != 3*(i+2) {
			t.Errorf("history of %s: %d items, %v", l.ID, len(got), err)
		}
		t.item(s, "a", l.ID+"-out", &l.Output[0])
		if i%3 == 2 {
			if err := s.Delete(t.Context(), "a", parent); err != nil {
				t.Error(err)
			}
		}
		parent = l.ID
	}
}

func cancelled(t test) {
	s, _ := t.opened(store.Options{})
	l := Link("a", "1", "", 10)
	t.put(s, l)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, err := range calls(ctx, s) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	t.get(s, l)
	t.lost(s, "a", "2")
}

// calls makes every call of a store once.
func calls(ctx context.Context, s chain.Store) map[string]error {
	_, get := s.Get(ctx, "a", "1")
	_, hist := s.History(ctx, "a", "1")
	_, it := s.Item(ctx, "a", "1-in")
	return map[string]error{
		"put": s.Put(ctx, Link("a", "2", "", 10)), "get": get, "history": hist, "item": it, "delete": s.Delete(ctx, "a", "1"),
	}
}

func closed(t test) {
	s, _ := t.opened(store.Options{})
	t.put(s, Link("a", "1", "", 10))
	var wg sync.WaitGroup
	for i := range 4 { // those that are under way end one way or the other
		wg.Go(func() { _ = s.Put(t.Context(), Link("a", "w"+strconv.Itoa(i), "", 10)) })
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
	for name, err := range calls(t.Context(), s) {
		if err == nil || errors.Is(err, chain.ErrNotFound) {
			t.Errorf("%s after the end: %v", name, err)
		}
	}
}

// hiddenIsGone deletes more than fits, so that what is deleted must have been given back.
func hiddenIsGone(t test) {
	const size = 100 << 10
	s, _ := t.opened(store.Options{MaxBytes: 2 << 20})
	stays := Link("a", "stays", "", size)
	t.put(s, stays)
	for i := range 40 {
		a, b := "a"+strconv.Itoa(i), "b"+strconv.Itoa(i)
		t.put(s, Link("a", a, "", size), Link("a", b, a, size))
		for _, id := range []string{a, b} {
			if err := s.Delete(t.Context(), "a", id); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.get(s, stays)
}
