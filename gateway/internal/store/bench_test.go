package store_test

import (
	"path/filepath"
	"strconv"
	"testing"

	"github.com/weirgate/weir/gateway/internal/chain"
	"github.com/weirgate/weir/gateway/internal/store"
	"github.com/weirgate/weir/gateway/internal/store/storetest"
)

// BenchmarkTurn is the cost of a turn of a long conversation: the history of 100 links of 4 KB each and their
// messages, and the link that goes on from them.
func BenchmarkTurn(b *testing.B) {
	const length = 100
	for name, open := range map[string]func() chain.Store{
		"memory": func() chain.Store { return store.NewMemory(store.Options{MaxBytes: 256 << 20}) },
		"sqlite": func() chain.Store {
			return openFile(b, filepath.Join(b.TempDir(), "weir.db"), store.Options{MaxBytes: 256 << 20})
		},
	} {
		b.Run(name, func(b *testing.B) {
			s := open()
			defer s.Close()
			parent := ""
			for i := range length {
				l := storetest.Link("a", "resp_"+strconv.Itoa(i), parent, 4<<10)
				if err := s.Put(b.Context(), l); err != nil {
					b.Fatal(err)
				}
				parent = l.ID
			}
			b.Run("history", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if h, err := s.History(b.Context(), "a", parent); err != nil || len(h) != 3*length {
						b.Fatal(len(h), err)
					}
				}
			})
			n := 0
			b.Run("put", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					n++
					l := storetest.Link("a", "next_"+strconv.Itoa(n), parent, 4<<10)
					if err := s.Put(b.Context(), l); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run("get", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := s.Get(b.Context(), "a", parent); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}
