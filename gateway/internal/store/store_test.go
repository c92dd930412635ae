package store_test

import (
	"path/filepath"
	"testing"

	"github.com/weirgate/weir/gateway/internal/chain"
	"github.com/weirgate/weir/gateway/internal/store"
	"github.com/weirgate/weir/gateway/internal/store/storetest"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(_ *testing.T, o store.Options) chain.Store { return store.NewMemory(o) })
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, o store.Options) chain.Store {
		t.Helper()
		return openFile(t, filepath.Join(t.TempDir(), "conversations", "weir.db"), o)
	})
}

// openFile opens a database, which the caller closes.
func openFile(tb testing.TB, path string, o store.Options) *store.SQLite {
	tb.Helper()
	s, err := store.OpenSQLite(tb.Context(), path, o)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}
