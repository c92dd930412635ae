package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver, named sqlite
)

// SQLite keeps links in a database file. Prompts and answers then are on disk, as they are and unencrypted, which
// nothing else of this gateway does: it is for operators that ask for it. The file is its owner's alone, and what is
// deleted, displaced or expired is overwritten.
//
// Several processes may have the same file open: each sees what the others put, and their writes wait for each other,
// for five seconds at most. A file system without shared memory, as over a network, is refused.
//
// Times are kept to the microsecond. Empty byte slices come back nil.
type SQLite struct {
	options Options
	page    int64 // bytes

	// write has one connection: SQLite has one writer at a time, and who waits for it here waits without a lock and
	// with a context. read has several, which wait for nobody: each reads the state that it began with.
	write, read *sql.DB

	gate   sync.RWMutex // held for reading by all that goes on, so that Close waits for it
	closed bool         // guarded by gate

	sweeping sync.Mutex
	puts     int       // since the last sweep; guarded by sweeping
	swept    time.Time // guarded by sweeping
}

// schema are the steps from one version to the next. PRAGMA user_version is how many of them were taken.
//
// A link's number n grows with each Put and is never used again, so that a parent's is less than its children's
// whatever their ids say. up is the parent's, and NULL where that is gone: parent then still says that there was one.
// leaf: no link goes on from this one. A leaf is never deleted = 1: it is removed instead.
// The body is last, since a column is read by way of those before it.
var schema = [...]string{`
CREATE TABLE links (
	n       INTEGER PRIMARY KEY AUTOINCREMENT,
	up      INTEGER REFERENCES links (n) ON DELETE SET NULL,
	leaf    INTEGER NOT NULL,
	deleted INTEGER NOT NULL,
	created INTEGER,
	expires INTEGER,
	owner   TEXT NOT NULL,
	id      TEXT NOT NULL,
	parent  TEXT NOT NULL,
	model   TEXT NOT NULL,
	body    BLOB,
	UNIQUE (owner, id)
) STRICT;
CREATE INDEX links_up ON links (up);
CREATE INDEX links_leaf ON links (n) WHERE leaf = 1;
CREATE INDEX links_expires ON links (expires) WHERE expires IS NOT NULL;
CREATE TABLE items (
	link   INTEGER NOT NULL REFERENCES links (n) ON DELETE CASCADE,
	n      INTEGER NOT NULL,
	output INTEGER NOT NULL,
	owner  TEXT NOT NULL,
	id     TEXT NOT NULL,
	json   BLOB,
	conv   BLOB,
	tools  BLOB,
	UNIQUE (link, n)
) STRICT;
CREATE INDEX items_id ON items (owner, id, link, n) WHERE id <> '';
`}

// OpenSQLite opens a database file, or makes one. Folders that it makes on the way are for the owner alone; those that
// are there stay as they are.
func OpenSQLite(ctx context.Context, path string, o Options) (*SQLite, error) {
	path, err := prepareFile(path)
	if err != nil {
		return nil, fmt.Errorf("conversation store: %w", err)
	}
	s := &SQLite{options: o.withDefaults()}
	// Auto-vacuum is for good from the first page on, and lets the file become smaller later. In WAL mode "normal"
	// loses the last moments where the power fails, and nothing else.
	s.write, err = connect(path, 1, "immediate", "auto_vacuum(incremental)", "foreign_keys(on)", "journal_mode(wal)",
		"journal_size_limit(16777216)", "secure_delete(on)", "synchronous(normal)")
	if err != nil {
		return nil, err
	}
	if s.read, err = connect(path, max(4, runtime.GOMAXPROCS(0)), "deferred", "query_only(on)"); err != nil {
		return nil, errors.Join(err, s.write.Close())
	}
	if err = s.open(ctx); err != nil {
		return nil, fmt.Errorf("%w (%s)", errors.Join(err, s.read.Close(), s.write.Close()), path)
	}
	return s, nil
}

func (s *SQLite) open(ctx context.Context) error {
	var mode string
	if err := s.write.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode); err != nil {
		return explain(ctx, err)
	}
	if mode != "wal" {
		return errors.New("conversation store: the file system does not let processes share a database")
	}
	if err := s.write.QueryRowContext(ctx, "PRAGMA page_size").Scan(&s.page); err != nil {
		return explain(ctx, err)
	}
	if err := s.transact(ctx, migrate); err != nil {
		return err
	}
	return s.Sweep(ctx)
}

// prepareFile makes sure that the file is there and its owner's alone. One that is there is not opened: closing it
// would take the locks of another store of this process.
func prepareFile(path string) (string, error) {
	if path == "" {
		return "", errors.New("a database has a path")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err == nil {
		return path, f.Close()
	}
	if !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(path + suffix)
		switch {
		case suffix != "" && errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return "", err
		case !info.Mode().IsRegular():
			return "", fmt.Errorf("%s is not a file", path+suffix)
		case info.Mode().Perm()&0o077 != 0:
			if err := os.Chmod(path+suffix, 0o600); err != nil {
				return "", err
			}
		}
	}
	return path, nil
}

// connect makes a pool of at most n connections, all of which stay open: each opening reads the schema.
func connect(path string, n int, lock string, pragmas ...string) (*sql.DB, error) {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive's letter
	}
	q := url.Values{"_txlock": {lock}, "_pragma": append(pragmas, "busy_timeout(5000)")}
	u := url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}
	db, err := sql.Open("sqlite", u.String())
	if err != nil {
		return nil, fmt.Errorf("conversation store: %w", err)
	}
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return db, nil
}

// migrate takes the steps of the schema that are left.
func migrate(ctx context.Context, tx *sql.Tx) error {
	var version, tables int
	if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	if version > len(schema) {
		return fmt.Errorf("conversation store: the database has version %d, and this build knows %d at most", version, len(schema))
	}
	if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil {
		return err
	}
	if version < 0 || version == 0 && tables > 0 {
		return errors.New("conversation store: the database is of something else")
	}
	if version == len(schema) {
		return nil
	}
	for _, step := range schema[version:] {
		if _, err := tx.ExecContext(ctx, step); err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, "PRAGMA user_version = "+strconv.Itoa(len(schema)))
	return err
}

// enter begins a use of the store, which leave ends.
func (s *SQLite) enter() error {
	s.gate.RLock()
	if s.closed {
		s.gate.RUnlock()
		return errClosed
	}
	return nil
}

func (s *SQLite) leave() { s.gate.RUnlock() }

// transact runs f in a transaction that writes.
func (s *SQLite) transact(ctx context.Context, f func(context.Context, *sql.Tx) error) error {
	return transact(ctx, s.write, f)
}

// view runs f in a transaction that reads, so that all of it sees the same state.
func (s *SQLite) view(ctx context.Context, f func(context.Context, *sql.Tx) error) error {
	return transact(ctx, s.read, f)
}

func transact(ctx context.Context, db *sql.DB, f func(context.Context, *sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return explain(ctx, err)
	}
	if err = f(ctx, tx); err == nil {
		err = tx.Commit()
	}
	if err != nil {
		_ = tx.Rollback() // what went wrong before says more
	}
	return explain(ctx, err)
}

// Close ends the store when what goes on has ended. What is only in the log yet is put into the database by the last
// process that closes it.
func (s *SQLite) Close() error {
	s.gate.Lock()
	defer s.gate.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	return errors.Join(s.read.Close(), s.write.Close())
}
