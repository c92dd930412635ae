package store_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirgate/weir/gateway/internal/chain"
	"github.com/weirgate/weir/gateway/internal/store"
	"github.com/weirgate/weir/gateway/internal/store/storetest"
)

func closeStore(t *testing.T, s chain.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func mustPut(t *testing.T, s chain.Store, l *chain.Link) {
	t.Helper()
	l.Expires = time.Time{}
	if err := s.Put(t.Context(), l); err != nil {
		t.Fatalf("put %q: %v", l.ID, err)
	}
}

func TestReopen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a folder?", "weir #1%41.db")
	parent := ""
	for i := range 4 {
		s := openFile(t, path, store.Options{})
		for j := range i {
			h, err := s.History(t.Context(), "a", strconv.Itoa(j))
			if err != nil || len(h) != 3*(j+1) {
				t.Errorf("%d items, %v", len(h), err)
			}
		}
		l := storetest.Link("a", strconv.Itoa(i), parent, 100)
		mustPut(t, s, l)
		parent = l.ID
		closeStore(t, s)
	}
	names, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
	if err != nil || len(names) != 1 || filepath.Base(names[0]) != filepath.Base(path) {
		t.Errorf("files %q, %v", names, err)
	}
}

func TestModes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "made", "too", "weir.db")
	wanted := func(want map[string]os.FileMode) {
		t.Helper()
		for name, mode := range want {
			if info, err := os.Stat(name); err != nil || info.Mode().Perm() != mode {
				t.Errorf("%s: %v, %v, want %v", name, info.Mode().Perm(), err, mode)
			}
		}
	}
	s := openFile(t, path, store.Options{})
	mustPut(t, s, storetest.Link("a", "1", "", 10))
	wanted(map[string]os.FileMode{
		dir: 0o755, filepath.Dir(path): 0o700, filepath.Dir(filepath.Dir(path)): 0o700,
		path: 0o600, path + "-wal": 0o600, path + "-shm": 0o600,
	})
	closeStore(t, s)
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	s = openFile(t, path, store.Options{})
	defer closeStore(t, s)
	mustPut(t, s, storetest.Link("a", "2", "", 10))
	wanted(map[string]os.FileMode{path: 0o600, path + "-wal": 0o600})
}

func TestOpenFaults(t *testing.T) {
	t.Parallel()
	sqlite := func(statements string) func(string) error {
		return func(path string) error {
			db, err := sql.Open("sqlite", path)
			if err != nil {
				return err
			}
			_, err = db.Exec(statements)
			return errors.Join(err, db.Close())
		}
	}
	for _, c := range []struct {
		name, want string
		make       func(path string) error
	}{
		{"newer", "version 99, and this build knows 1", sqlite("PRAGMA user_version = 99")},
		{"of something else", "of something else", sqlite("CREATE TABLE cats (name TEXT)")},
		{"negative", "of something else", sqlite("PRAGMA user_version = -1")},
		{"no database", "no database, or damaged", func(path string) error {
			return os.WriteFile(path, []byte(strings.Repeat("just a text\n", 1000)), 0o600)
		}},
		{"folder", "is not a file", func(path string) error { return os.Mkdir(path, 0o700) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "weir.db")
			if err := c.make(path); err != nil {
				t.Fatal(err)
			}
			s, err := store.OpenSQLite(t.Context(), path, store.Options{})
			if err == nil {
				closeStore(t, s)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("%v, want an error that says %q and where", err, c.want)
			}
		})
	}
	if _, err := store.OpenSQLite(t.Context(), "", store.Options{}); err == nil {
		t.Error("a database without a path")
	}
}

// TestOpenTogether makes one file several times at once.
func TestOpenTogether(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "weir.db")
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			s, err := store.OpenSQLite(t.Context(), path, store.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.Put(t.Context(), storetest.Link("a", strconv.Itoa(i), "", 10)); err != nil {
				t.Error(err)
			}
			closeStore(t, s)
		})
	}
	wg.Wait()
}

// lockedBy holds the lock of writers as another process would.
func lockedBy(t *testing.T, path string) (release func()) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := errors.Join(tx.Rollback(), db.Close()); err != nil {
			t.Error(err)
		}
	}
}

func TestLocked(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "weir.db")
	s := openFile(t, path, store.Options{})
	defer closeStore(t, s)
	first := storetest.Link("a", "1", "", 10)
	mustPut(t, s, first)
	release := lockedBy(t, path)
	if _, err := s.History(t.Context(), "a", "1"); err != nil {
		t.Errorf("readers wait for nobody: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := s.Put(ctx, storetest.Link("a", "2", "", 10)); !errors.Is(err, context.Canceled) {
			t.Errorf("a put that is given up: %v", err)
		}
	})
	cancel()
	wg.Wait()
	if _, err := s.Writer().Exec("PRAGMA busy_timeout = 1"); err != nil {
		t.Fatal(err)
	}
	err := s.Put(t.Context(), storetest.Link("a", "2", "", 10))
	if err == nil || !strings.Contains(err.Error(), "locked by another process") {
		t.Errorf("put: %v", err)
	}
	release()
	mustPut(t, s, storetest.Link("a", "2", "1", 10))
}

func TestFull(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "weir.db"), store.Options{})
	defer closeStore(t, s)
	first := storetest.Link("a", "1", "", 10)
	mustPut(t, s, first)
	if _, err := s.Writer().Exec("PRAGMA max_page_count = 30"); err != nil {
		t.Fatal(err)
	}
	err := s.Put(t.Context(), storetest.Link("a", "2", "1", 1<<20))
	if err == nil || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("put: %v", err)
	}
	if _, err := s.Get(t.Context(), "a", "2"); !errors.Is(err, chain.ErrNotFound) {
		t.Errorf("what was not put: %v", err)
	}
	if h, err := s.History(t.Context(), "a", "1"); err != nil || len(h) != 3 {
		t.Errorf("%d items, %v", len(h), err)
	}
	mustPut(t, s, storetest.Link("a", "3", "1", 10))
}

// TestNewerColumn has a build that knows more write a row.
func TestNewerColumn(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "weir.db"), store.Options{})
	defer closeStore(t, s)
	mustPut(t, s, storetest.Link("a", "1", "", 10))
	if _, err := s.Writer().Exec(`UPDATE items SET conv = '{"v":7,"of":[]}' WHERE id = '1-in'`); err == nil {
		t.Fatal("text in a column of bytes")
	}
	if _, err := s.Writer().Exec(`UPDATE items SET conv = CAST('{"v":7,"of":[]}' AS BLOB) WHERE id = '1-in'`); err != nil {
		t.Fatal(err)
	}
	_, get := s.Get(t.Context(), "a", "1")
	_, hist := s.History(t.Context(), "a", "1")
	_, it := s.Item(t.Context(), "a", "1-in")
	for name, err := range map[string]error{"get": get, "history": hist, "item": it} {
		if err == nil || !strings.Contains(err.Error(), "version 7") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSweep has everything expire, and wants the room back.
func TestSweep(t *testing.T) {
	t.Parallel()
	now := time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)
	path := filepath.Join(t.TempDir(), "weir.db")
	s := openFile(t, path, store.Options{Now: func() time.Time { return now }})
	defer closeStore(t, s)
	parent := ""
	for i := range 300 {
		l := storetest.Link("a", strconv.Itoa(i), parent, 4000)
		l.Expires = now.Add(time.Hour)
		if err := s.Put(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		if parent = l.ID; i%50 == 0 {
			parent = ""
		}
	}
	before, _, err := s.Used(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Hour)
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	after, free, err := s.Used(t.Context())
	if err != nil || after > before/10 {
		t.Errorf("%d bytes before, %d after, of them %d free, %v", before, after, free, err)
	}
	var links, items int
	if err := s.Writer().QueryRow("SELECT (SELECT count(*) FROM links), (SELECT count(*) FROM items)").Scan(&links, &items); err != nil || links+items != 0 {
		t.Errorf("%d links and %d items are left, %v", links, items, err)
	}
}

// TestPutSweeps wants puts alone to keep a database small.
func TestPutSweeps(t *testing.T) {
	t.Parallel()
	now := time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)
	s := openFile(t, filepath.Join(t.TempDir(), "weir.db"), store.Options{Now: func() time.Time { return now }})
	defer closeStore(t, s)
	for i := range 150 {
		l := storetest.Link("a", strconv.Itoa(i), strconv.Itoa(i-1), 10)
		l.Expires = now.Add(20 * time.Minute)
		if err := s.Put(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		now = now.Add(30 * time.Second)
	}
	var links int
	if err := s.Writer().QueryRow("SELECT count(*) FROM links").Scan(&links); err != nil || links > 50 {
		t.Errorf("%d links are left, %v", links, err)
	}
}

// TestSmallerBound opens a database with less room than it has.
func TestSmallerBound(t *testing.T) {
	t.Parallel()
	const bound = 1 << 20
	path := filepath.Join(t.TempDir(), "weir.db")
	s := openFile(t, path, store.Options{})
	for i := range 100 {
		mustPut(t, s, storetest.Link("a", strconv.Itoa(i), "", 40_000))
	}
	closeStore(t, s)
	s = openFile(t, path, store.Options{MaxBytes: bound})
	if _, err := s.Get(t.Context(), "a", "99"); err != nil {
		t.Error(err)
	}
	if _, err := s.Get(t.Context(), "a", "0"); !errors.Is(err, chain.ErrNotFound) {
		t.Error(err)
	}
	closeStore(t, s)
	if info, err := os.Stat(path); err != nil || info.Size() > bound {
		t.Errorf("%d bytes, %v", info.Size(), err)
	}
}

// TestDeletedIsGone looks for a text in the files.
func TestDeletedIsGone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "weir.db")
	s := openFile(t, path, store.Options{})
	l := storetest.Link("a", "1", "", 50_000)
	mark := "not for long: " + strings.Repeat("z", 20_000)
	l.Output[0].JSON, l.Body = []byte(mark), []byte(mark)
	mustPut(t, s, l)
	mustPut(t, s, storetest.Link("a", "2", "", 50_000))
	if err := s.Delete(t.Context(), "a", "1"); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	if b, err := os.ReadFile(path); err != nil || strings.Contains(string(b), "zzzz") || strings.Contains(string(b), mark[:10]) {
		t.Errorf("it is in the file, %v", err)
	}
}

// TestProcesses has this process and another put links in the same file, each going on from the other's.
func TestProcesses(t *testing.T) {
	t.Parallel()
	const count = 30
	path := os.Getenv("WEIR_STORE_TEST")
	other := path != ""
	who := "child"
	if !other {
		who, path = "parent", filepath.Join(t.TempDir(), "weir.db")
	}
	var out []byte
	var failed error
	var wg sync.WaitGroup
	if !other {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestProcesses$")
		cmd.Env = append(os.Environ(), "WEIR_STORE_TEST="+path)
		wg.Go(func() { out, failed = cmd.CombinedOutput() })
	}
	s := openFile(t, path, store.Options{MaxBytes: 64 << 20})
	defer closeStore(t, s)
	for i := range count {
		mustPut(t, s, storetest.Link("a", who+strconv.Itoa(i), "", 1000))
	}
	if wg.Wait(); failed != nil {
		t.Fatalf("%v\n%s", failed, out)
	}
	for i := range count {
		if other {
			break
		}
		l := storetest.Link("a", "both"+strconv.Itoa(i), "child"+strconv.Itoa(i), 1000)
		mustPut(t, s, l)
		if h, err := s.History(t.Context(), "a", l.ID); err != nil || len(h) != 6 {
			t.Errorf("%d items, %v", len(h), err)
		}
	}
}

// TestCloseWaits closes while links are put: each is there afterwards, or its Put said that it is not.
func TestCloseWaits(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "weir.db")
	s := openFile(t, path, store.Options{})
	var wg sync.WaitGroup
	begun := make(chan struct{}, 100)
	errs := make([]error, 20)
	for i := range errs {
		wg.Go(func() {
			begun <- struct{}{}
			errs[i] = s.Put(t.Context(), &chain.Link{ID: strconv.Itoa(i), Owner: "a", Body: make([]byte, 100_000)})
		})
	}
	for range len(errs) / 2 {
		<-begun
	}
	closeStore(t, s)
	closeStore(t, s)
	wg.Wait()
	s = openFile(t, path, store.Options{})
	defer closeStore(t, s)
	for i, put := range errs {
		if _, err := s.Get(t.Context(), "a", strconv.Itoa(i)); (err == nil) != (put == nil) {
			t.Errorf("%d: put %v, get %v", i, put, err)
		}
	}
}
