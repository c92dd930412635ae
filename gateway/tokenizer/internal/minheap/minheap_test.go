package minheap_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weirgate/weir/gateway/tokenizer/internal/minheap"
)

func TestHeapSorts(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 200 {
		var h minheap.Heap
		var want, got []uint64
		for range n {
			v := r.Uint64N(50)
			want = append(want, v)
			h.Push(v)
		}
		for len(h) > 0 {
			got = append(got, h.Pop())
		}
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("%d numbers: got %v, want %v", n, got, want)
		}
	}
}
