package store

import (
	"context"
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// explain says what an error of the database means to who runs it. Other errors stay as they are.
func explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	var fault *sqlite.Error
	if !errors.As(err, &fault) {
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("conversation store: %w", err)
		}
		return err
	}
	if end := ctx.Err(); end != nil {
		return fmt.Errorf("conversation store: %w", end) // an interrupted statement has an error of its own
	}
	what := "the database does not work"
	switch fault.Code() & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL:
		what = "the database is locked by another process"
	case sqlite3.SQLITE_FULL:
		what = "the disk is full"
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN:
		what = "the database or its folder may not be written"
	case sqlite3.SQLITE_IOERR:
		what = "the disk does not read or write"
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		what = "the file is no database, or damaged"
	}
	return fmt.Errorf("conversation store: %s: %w", what, err)
}
