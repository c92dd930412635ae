// Package storetest is the contract of a chain.Store as tests, which every store passes.
package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/gateway/internal/chain"
	"github.com/weirgate/weir/gateway/internal/store"
)

// Open makes an empty store for one test, which closes it.
type Open func(t *testing.T, o store.Options) chain.Store

// test is one point of the contract.
type test struct {
	*testing.T

	open Open
}

// Run holds a store to the contract.
func Run(t *testing.T, open Open) {
	t.Helper()
	for name, f := range map[string]func(test){
		"PutGet":         putGet,
		"Branches":       branches,
		"Owners":         owners,
		"PutTwice":       puts,
		"Delete":         deletes,
		"DeleteLine":     deleteLine,
		"Expiry":         expiry,
		"ExpiryInLine":   expiryInLine,
		"Items":          items,
		"Eviction":       eviction,
		"EvictionInLine": evictionInLine,
		"TooLarge":       tooLarge,
		"AnyBytes":       anyBytes,
		"Concurrent":     concurrent,
		"Cancelled":      cancelled,
		"Closed":         closed,
		"HiddenIsGone":   hiddenIsGone,
		"ForeignParent":  foreignParent,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(test{t, open})
		})
	}
}

// clock is one that tests turn.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

// epoch is when the clocks of tests begin.
func epoch() time.Time { return time.Date(2031, 5, 6, 7, 8, 9, 123_456_000, time.UTC) }

func newClock() *clock { return &clock{now: epoch()} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Link is one with an input and an output item, whose ids are made of its own, and size bytes of text.
func Link(owner, id, parent string, size int) *chain.Link {
	in, out := id+" says in "+strings.Repeat("i", size/4), id+" says out "+strings.Repeat("o", size/4)
	return &chain.Link{
		ID: id, Owner: owner, Parent: parent, Model: "a/model",
		Input: []chain.Item{{
			ID: id + "-in", JSON: []byte(`{"text":` + strconv.Quote(in) + `}`),
			Messages: []conv.Message{{Role: conv.User, Parts: []conv.Part{{Kind: conv.Text, Text: in}}}},
			Tools:    []conv.ToolDef{{Name: "t", Schema: []byte(`{"type":"object"}`), Deferred: true}},
		}},
		Output: []chain.Item{
			{ID: id + "-out", JSON: []byte(`{"text":` + strconv.Quote(out) + `}`), Messages: []conv.Message{{
				Role: conv.Assistant, Parts: []conv.Part{
					{Kind: conv.Reasoning, Text: "why", Seal: "s"},
					{Kind: conv.Text, Text: out, Phase: conv.PhaseFinal},
					{Kind: conv.Call, Call: &conv.ToolCall{ID: "c", Name: "t", Arguments: `{"a": 1}`}},
				},
			}}},
			{JSON: []byte(`{"type":"note"}`)},
		},
		Body:    []byte(`{"id":` + strconv.Quote(id) + `}`),
		Created: epoch(), Expires: epoch().Add(time.Hour),
	}
}

func (t test) opened(o store.Options) (chain.Store, *clock) {
	t.Helper()
	c := newClock()
	if o.Now == nil {
		o.Now = c.Now
	}
	s := t.open(t.T, o)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, c
}

func (t test) put(s chain.Store, links ...*chain.Link) {
	t.Helper()
	for _, l := range links {
		if err := s.Put(t.Context(), l); err != nil {
			t.Fatalf("put %q: %v", l.ID, err)
		}
	}
}

// history wants the items of these links, in this order.
func (t test) history(s chain.Store, id string, want ...*chain.Link) {
	t.Helper()
	got, err := s.History(t.Context(), "a", id)
	if err != nil {
		t.Errorf("history of %q: %v", id, err)
		return
	}
	var all []chain.Item
	for _, l := range want {
		all = append(append(all, l.Input...), l.Output...)
	}
	t.sameItems("history of "+strconv.Quote(id), got, all)
}

// lost wants that an id is not to be found in any way that names it.
func (t test) lost(s chain.Store, owner, id string) {
	t.Helper()
	_, get := s.Get(t.Context(), owner, id)
	_, hist := s.History(t.Context(), owner, id)
	for name, err := range map[string]error{"get": get, "history": hist, "delete": s.Delete(t.Context(), owner, id)} {
		if !errors.Is(err, chain.ErrNotFound) {
			t.Errorf("%s of %q for %q: %v, want not found", name, id, owner, err)
		} else if err.Error() != chain.ErrNotFound.Error() {
			t.Errorf("%s of %q for %q says more than that: %v", name, id, owner, err)
		}
	}
}

func (t test) noItem(s chain.Store, owner, id string) {
	t.Helper()
	if it, err := s.Item(t.Context(), owner, id); !errors.Is(err, chain.ErrNotFound) {
		t.Errorf("item %q for %q: %+v, %v", id, owner, it, err)
	}
}

func (t test) item(s chain.Store, owner, id string, want *chain.Item) {
	t.Helper()
	got, err := s.Item(t.Context(), owner, id)
	if err != nil {
		t.Errorf("item %q for %q: %v", id, owner, err)
		return
	}
	t.sameItems("item "+strconv.Quote(id), []chain.Item{*got}, []chain.Item{*want})
}

func (t test) get(s chain.Store, want *chain.Link) {
	t.Helper()
	got, err := s.Get(t.Context(), want.Owner, want.ID)
	if err != nil {
		t.Errorf("get %q: %v", want.ID, err)
		return
	}
	if got.ID != want.ID || got.Owner != want.Owner || got.Parent != want.Parent || got.Model != want.Model || !slices.Equal(got.Body, want.Body) {
		t.Errorf("%q came back as %+v", want.ID, got)
	}
	if !got.Created.Equal(want.Created) || !got.Expires.Equal(want.Expires) || got.Expires.IsZero() != want.Expires.IsZero() {
		t.Errorf("%q: created %v, expires %v", want.ID, got.Created, got.Expires)
	}
	t.sameItems("input of "+strconv.Quote(want.ID), got.Input, want.Input)
	t.sameItems("output of "+strconv.Quote(want.ID), got.Output, want.Output)
}

func (t test) sameItems(what string, got, want []chain.Item) {
	t.Helper()
	if g, w := fmt.Sprintf("%+v", plain(got)), fmt.Sprintf("%+v", plain(want)); g != w {
		t.Errorf("%s:\n got %.1000s\nwant %.1000s", what, g, w)
	}
}

func putGet(t test) {
	s, _ := t.opened(store.Options{})
	full := Link("a", "1", "", 100)
	bare := &chain.Link{ID: "2", Owner: "a", Created: epoch()}
	t.put(s, full, bare)
	t.get(s, full)
	t.get(s, bare)
	t.history(s, "1", full)
	t.history(s, "2", bare)
	t.lost(s, "a", "3")
	t.lost(s, "a", "")
	t.noItem(s, "a", "")
}

// branches goes on from several places of a conversation.
func branches(t test) {
	s, _ := t.opened(store.Options{})
	links := map[string]*chain.Link{}
	for _, step := range []string{"a<", "b<a", "c<b", "x<a", "d<c", "y<x", "z<x", "e<b", "0<", "f<d"} {
		id, parent, _ := strings.Cut(step, "<")
		links[id] = Link("a", id, parent, 10)
		t.put(s, links[id])
	}
	for _, line := range []string{"a", "ab", "abc", "abcd", "abcdf", "abe", "ax", "axy", "axz", "0"} {
		var want []*chain.Link
		for id := range strings.SplitSeq(line, "") {
			want = append(want, links[id])
		}
		t.history(s, line[len(line)-1:], want...)
	}
}

func owners(t test) {
	s, _ := t.opened(store.Options{})
	mine, theirs := Link("a", "1", "", 10), Link("b", "1", "", 20)
	t.put(s, mine)
	t.lost(s, "b", "1")
	t.lost(s, "", "1")
	t.noItem(s, "b", "1-in")
	t.put(s, theirs) // that the id is taken is nothing that they may learn
	t.get(s, mine)
	t.get(s, theirs)
	t.item(s, "b", "1-in", &theirs.Input[0])
	if err := s.Delete(t.Context(), "b", "1"); err != nil {
		t.Error(err)
	}
	t.lost(s, "b", "1")
	t.get(s, mine)
	t.item(s, "a", "1-in", &mine.Input[0])
}

func foreignParent(t test) {
	s, _ := t.opened(store.Options{})
	t.put(s, Link("b", "secret", "", 10))
	for i, parent := range []string{"secret", "nothing", "own"} {
		l := Link("a", "l"+strconv.Itoa(i), parent, 10)
		if parent == "own" {
			l.ID = parent // an id that is its own parent
		}
		t.put(s, l)
		t.get(s, l)
		if _, err := s.History(t.Context(), "a", l.ID); !errors.Is(err, chain.ErrNotFound) {
			t.Errorf("history with parent %q: %v", parent, err)
		}
	}
	// A parent that comes later is none either, so that no circle can be put.
	t.put(s, Link("a", "nothing", "l1", 10))
	if _, err := s.History(t.Context(), "a", "l1"); !errors.Is(err, chain.ErrNotFound) {
		t.Errorf("history with a parent put later: %v", err)
	}
}

func puts(t test) {
	s, c := t.opened(store.Options{})
	first := Link("a", "1", "", 10)
	t.put(s, first)
	again := Link("a", "1", "", 20)
	again.Expires = epoch().Add(3 * time.Hour)
	for range 2 {
		if err := s.Put(t.Context(), again); err == nil || errors.Is(err, chain.ErrNotFound) || errors.Is(err, chain.ErrTooLarge) {
			t.Errorf("an id put twice: %v", err)
		}
	}
	t.get(s, first)
	t.history(s, "1", first)
	c.advance(2 * time.Hour)
	t.put(s, again) // the first has expired
	t.get(s, again)
}

func deletes(t test) {
	s, _ := t.opened(store.Options{})
	a, b, c := Link("a", "a", "", 10), Link("a", "b", "a", 10), Link("a", "c", "b", 10)
	t.put(s, a, b, c)
	for _, id := range []string{"a", "b"} {
		if err := s.Delete(t.Context(), "a", id); err != nil {
			t.Fatal(err)
		}
		t.lost(s, "a", id)
		t.noItem(s, "a", id+"-in")
		t.noItem(s, "a", id+"-out")
		t.history(s, "c", a, b, c)
	}
	// A turn that went on from b before it was deleted ends now.
	d := Link("a", "d", "b", 10)
	t.put(s, d)
	t.history(s, "d", a, b, d)
	t.get(s, d)
}

// deleteLine deletes from both ends.
func deleteLine(t test) {
	for _, order := range []string{"abc", "cba", "bca", "bac", "acb"} {
		s, _ := t.opened(store.Options{})
		links := map[string]*chain.Link{"a": Link("a", "a", "", 10), "b": Link("a", "b", "a", 10), "c": Link("a", "c", "b", 10)}
		t.put(s, links["a"], links["b"], links["c"])
		for i, id := range strings.Split(order, "") {
			if err := s.Delete(t.Context(), "a", id); err != nil {
				t.Fatalf("%s, %s: %v", order, id, err)
			}
			for _, other := range strings.Split(order, "")[i+1:] {
				var want []*chain.Link
				for at := 'a'; at <= rune(other[0]); at++ {
					want = append(want, links[string(at)])
				}
				t.history(s, other, want...)
			}
		}
		t.put(s, links["a"], links["b"]) // nothing is left of them
		t.history(s, "b", links["a"], links["b"])
	}
}
