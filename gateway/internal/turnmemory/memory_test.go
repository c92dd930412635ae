package turnmemory_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/gateway/internal/turnmemory"
)

func key(n int) (k turnmemory.Key) {
	binary.LittleEndian.PutUint64(k[:], uint64(n)+1)
	return k
}

func TestMemory(t *testing.T) {
	t.Parallel()
	m := turnmemory.New(1 << 20)
	ids := []uint32{1, 2}
	turn := &turnmemory.Turn{Before: "b", Text: "one", IDs: ids, Reasoning: "r"}
	m.Put("a", "m", key(1), turn)
	turn.Text, ids[0] = "changed", 9
	got := m.Get("a", "m", key(1))
	if got == nil || got.Text != "one" || got.Before != "b" || got.IDs[0] != 1 || got.Reasoning != "r" {
		t.Errorf("got %+v", got)
	}
	for name, got := range map[string]*turnmemory.Turn{
		"another tenant": m.Get("b", "m", key(1)), "another model": m.Get("a", "n", key(1)), "another key": m.Get("a", "m", key(2)),
		"no key": m.Get("a", "m", turnmemory.Key{}),
	} {
		if got != nil {
			t.Errorf("%s: got %+v", name, got)
		}
	}
	before := m.Bytes()
	m.Put("a", "m", key(1), &turnmemory.Turn{Before: "b", Text: "two", IDs: ids, Reasoning: "r"})
	if got := m.Get("a", "m", key(1)); got.Text != "two" || m.Bytes() != before {
		t.Errorf("got %+v and %d bytes, had %d", got, m.Bytes(), before)
	}
	m.Put("a", "m", turnmemory.Key{}, turn)
	m.Put("a", "m", key(3), &turnmemory.Turn{Text: strings.Repeat("x", 1<<20)})
	if m.Bytes() != before {
		t.Errorf("%d bytes, had %d", m.Bytes(), before)
	}
}

func TestOff(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]*turnmemory.Memory{"nil": nil, "no bytes": turnmemory.New(0)} {
		m.Put("a", "m", key(1), &turnmemory.Turn{Text: "x"})
		if m.Get("a", "m", key(1)) != nil || m.Bytes() != 0 {
			t.Errorf("%s: it remembers", name)
		}
	}
}

// TestBounds fills a memory: it never holds more than its bytes, and what was used last stays.
func TestBounds(t *testing.T) {
	t.Parallel()
	const limit = 64 << 10
	m := turnmemory.New(limit)
	m.Put("a", "m", key(0), &turnmemory.Turn{Text: "kept"})
	for i := 1; i < 1000; i++ {
		m.Put("a", "m", key(i), &turnmemory.Turn{Text: strings.Repeat("x", i), IDs: make([]uint32, i)})
		if m.Bytes() > limit {
			t.Fatalf("%d bytes after %d turns", m.Bytes(), i)
		}
		if got := m.Get("a", "m", key(0)); got == nil || got.Text != "kept" {
			t.Fatalf("the turn in use is gone after %d turns", i)
		}
	}
	if m.Get("a", "m", key(999)) == nil || m.Get("a", "m", key(1)) != nil {
		t.Error("the last is gone, or the first is there")
	}
}

// TestFairness has one tenant write without end: another keeps its turns.
func TestFairness(t *testing.T) {
	t.Parallel()
	m := turnmemory.New(64 << 10)
	for i := range 10 {
		m.Put("quiet", "m", key(i), &turnmemory.Turn{Text: "kept"})
	}
	for i := range 5000 {
		m.Put("loud", "m", key(i), &turnmemory.Turn{Text: strings.Repeat("x", 500)})
	}
	for i := range 10 {
		if m.Get("quiet", "m", key(i)) == nil {
			t.Errorf("turn %d is gone", i)
		}
	}
}

func TestConcurrent(t *testing.T) {
	t.Parallel()
	m := turnmemory.New(32 << 10)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			tenant := strconv.Itoa(g % 2)
			for i := range 500 {
				m.Put(tenant, "m", key(i%50), &turnmemory.Turn{Text: strconv.Itoa(i % 50)})
				if got := m.Get(tenant, "m", key(i%50)); got != nil && got.Text != strconv.Itoa(i%50) {
					t.Errorf("got %q under the key of %d", got.Text, i%50)
				}
			}
		})
	}
	wg.Wait()
}

// TestArguments: a conversation has the same keys whether its arguments are remembered or were lost to others, and
// whoever reads it beside.
func TestArguments(t *testing.T) {
	t.Parallel()
	m := turnmemory.New(1)
	calls := func(format string) *conv.Request {
		req := &conv.Request{Messages: []conv.Message{says(conv.User, text("u"))}}
		for i := range 300 {
			req.Messages = append(req.Messages, says(conv.Assistant, call("1", "f", fmt.Sprintf(format, i))), says(conv.Tool, result("1", text("r"))))
		}
		return req
	}
	first, again, broken := calls(`{"a":%d,"b":1}`), calls(`{"b": 1, "a": %d}`), calls(`{"a":%d,"b":1`)
	want, other := m.Keys(first), m.Keys(broken)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 20 {
				if !slices.Equal(m.Keys(first), want) || !slices.Equal(m.Keys(again), want) || !slices.Equal(m.Keys(broken), other) {
					t.Error("a conversation has other keys than it had")
				}
				m.Keys(calls(fmt.Sprintf(`{"a":%%d,"b":[%d,%d]}`, g, i)))
			}
		})
	}
	wg.Wait()
	if slices.ContainsFunc(other, func(k turnmemory.Key) bool { return k != (turnmemory.Key{}) && slices.Contains(want, k) }) {
		t.Error("arguments that are not JSON have the key of such as are")
	}
}
