package store

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"time"

	"github.com/weirgate/weir/gateway/internal/chain"
)

// When a Put sweeps before it writes, and how much one transaction of a sweep does at most.
const (
	sweepPuts  = 256
	sweepEvery = time.Minute
	sweepBatch = 256  // links
	vacuumStep = 1024 // pages
)

// row is an item as the database has it.
type row struct {
	id                    string
	json, messages, tools []byte
	output                bool
}

func rowsOf(l *chain.Link) ([]row, error) {
	out := make([]row, 0, len(l.Input)+len(l.Output))
	for i, items := range [][]chain.Item{l.Input, l.Output} {
		for j := range items {
			r := row{id: items[j].ID, json: items[j].JSON, output: i == 1}
			var err error
			if r.messages, err = encodeMessages(items[j].Messages); err != nil {
				return nil, err
			}
			if r.tools, err = encodeTools(items[j].Tools); err != nil {
				return nil, err
			}
			out = append(out, r)
		}
	}
	return out, nil
}

// Put keeps a link. A parent that is not there, or another owner's, is none: the link's history then is not to be
// found. Now and then it sweeps first.
func (s *SQLite) Put(ctx context.Context, l *chain.Link) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	if err := s.options.takes(l.Size()); err != nil {
		return err
	}
	rows, err := rowsOf(l)
	if err != nil {
		return err
	}
	if err := s.sweepIfDue(ctx); err != nil {
		return err
	}
	return s.transact(ctx, func(ctx context.Context, tx *sql.Tx) error {
		n, err := s.insert(ctx, tx, l)
		if err != nil {
			return err
		}
		if err := insertItems(ctx, tx, n, l.Owner, rows); err != nil {
			return err
		}
		_, err = s.displace(ctx, tx, n)
		return err
	})
}

// insert makes a link's row and returns its number.
func (s *SQLite) insert(ctx context.Context, tx *sql.Tx, l *chain.Link) (int64, error) {
	now := s.now()
	var old int64
	var expired bool
	err := tx.QueryRowContext(ctx, "SELECT n, coalesce(expires <= ?, 0) FROM links WHERE owner = ? AND id = ?", now, l.Owner, l.ID).Scan(&old, &expired)
	switch {
	case errors.Is(err, sql.ErrNoRows):
	case err != nil:
		return 0, err
	case !expired:
		return 0, errExists
	default:
		if err := remove(ctx, tx, old); err != nil {
			return 0, err
		}
	}
	var up sql.NullInt64
	if l.Parent != "" {
		// A parent that was deleted while its answer was continued is still a parent.
		err := tx.QueryRowContext(ctx, `UPDATE links SET leaf = 0
			WHERE owner = ? AND id = ? AND (expires IS NULL OR expires > ?) RETURNING n`, l.Owner, l.Parent, now).Scan(&up)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return 0, err
		}
	}
	res, err := tx.ExecContext(ctx, `INSERT INTO links (up, leaf, deleted, created, expires, owner, id, parent, model, body)
		VALUES (?, 1, 0, ?, ?, ?, ?, ?, ?, ?)`, up, micros(l.Created), micros(l.Expires), l.Owner, l.ID, l.Parent, l.Model, l.Body)
	if err != nil {
		return 0, err
	}
	return res.LastInsertId()
}

func insertItems(ctx context.Context, tx *sql.Tx, link int64, owner string, rows []row) error {
	stmt, err := tx.PrepareContext(ctx, "INSERT INTO items (link, n, output, owner, id, json, conv, tools) VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
	if err != nil {
		return err
	}
	for i, r := range rows {
		if _, err := stmt.ExecContext(ctx, link, i, r.output, owner, r.id, r.json, r.messages, r.tools); err != nil {
			return errors.Join(err, stmt.Close())
		}
	}
	return stmt.Close()
}

// Delete hides a link. It is removed when nothing goes on from it any more, or when it expires.
func (s *SQLite) Delete(ctx context.Context, owner, id string) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	return s.transact(ctx, func(ctx context.Context, tx *sql.Tx) error {
		var n int64
		var leaf bool
		err := tx.QueryRowContext(ctx, `SELECT n, leaf FROM links
			WHERE owner = ? AND id = ? AND deleted = 0 AND (expires IS NULL OR expires > ?)`, owner, id, s.now()).Scan(&n, &leaf)
		if err != nil {
			return orNotFound(err)
		}
		if leaf {
			return remove(ctx, tx, n)
		}
		_, err = tx.ExecContext(ctx, "UPDATE links SET deleted = 1 WHERE n = ?", n)
		return err
	})
}

// remove takes a link out, and then the deleted ones that were there for it alone.
func remove(ctx context.Context, tx *sql.Tx, n int64) error {
	for {
		var up sql.NullInt64
		if err := tx.QueryRowContext(ctx, "DELETE FROM links WHERE n = ? RETURNING up", n).Scan(&up); err != nil || !up.Valid {
			return err
		}
		var deleted bool
		err := tx.QueryRowContext(ctx, `UPDATE links SET leaf = 1
			WHERE n = ?1 AND NOT EXISTS (SELECT 1 FROM links WHERE up = ?1) RETURNING deleted`, up.Int64).Scan(&deleted)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil || !deleted {
			return err
		}
		n = up.Int64
	}
}

// pages are how many the file has, and how many of them are free.
func pages(ctx context.Context, tx *sql.Tx) (all, free int64, err error) {
	err = tx.QueryRowContext(ctx, "SELECT page_count, freelist_count FROM pragma_page_count, pragma_freelist_count").Scan(&all, &free)
	return all, free, err
}

// displace makes room for what was put last, kept, and returns how many links it removed. Without one, it removes no
// more than a batch.
func (s *SQLite) displace(ctx context.Context, tx *sql.Tx, kept int64) (int, error) {
	for removed := 0; ; removed++ {
		if s.options.MaxBytes <= 0 || kept == 0 && removed == sweepBatch {
			return removed, nil
		}
		all, free, err := pages(ctx, tx)
		if err != nil || (all-free)*s.page <= s.options.MaxBytes {
			return removed, err
		}
		n, err := s.next(ctx, tx, kept)
		if errors.Is(err, sql.ErrNoRows) {
			if kept != 0 {
				return removed, chain.ErrTooLarge
			}
			return removed, nil
		}
		if err == nil {
			err = remove(ctx, tx, n)
		}
		if err != nil {
			return removed, err
		}
	}
}

// next is the link that goes first: one that has expired, the oldest leaf, or what leads to the only one.
func (s *SQLite) next(ctx context.Context, tx *sql.Tx, kept int64) (n int64, err error) {
	err = tx.QueryRowContext(ctx, "SELECT n FROM links WHERE expires <= ? AND n <> ? ORDER BY expires LIMIT 1", s.now(), kept).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		err = tx.QueryRowContext(ctx, "SELECT n FROM links WHERE leaf = 1 AND n <> ? ORDER BY n LIMIT 1", kept).Scan(&n)
	}
	if errors.Is(err, sql.ErrNoRows) {
		err = tx.QueryRowContext(ctx, "SELECT up FROM links WHERE n = ? AND up IS NOT NULL", kept).Scan(&n)
	}
	return n, err
}

// Sweep removes what has expired and what is over the bound, and gives the room back to the file system where it is
// much. It does so in many small transactions, so that nobody waits for long.
func (s *SQLite) Sweep(ctx context.Context) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	for {
		if more, err := s.sweep(ctx); err != nil || !more {
			return err
		}
	}
}

func (s *SQLite) sweepIfDue(ctx context.Context) error {
	now := s.options.Now()
	s.sweeping.Lock()
	s.puts++
	due := s.puts >= sweepPuts || now.Sub(s.swept) >= sweepEvery
	if due {
		s.puts, s.swept = 0, now
	}
	s.sweeping.Unlock()
	if !due {
		return nil
	}
	more, err := s.sweep(ctx)
	if more || err != nil {
		s.sweeping.Lock()
		s.puts = sweepPuts // the next Put goes on
		s.sweeping.Unlock()
	}
	return err
}

// sweep does a part of Sweep, and reports whether there is more to do.
func (s *SQLite) sweep(ctx context.Context) (more bool, err error) {
	err = s.transact(ctx, func(ctx context.Context, tx *sql.Tx) error {
		removed := 0
		for ; removed < sweepBatch; removed++ {
			var n int64
			err := tx.QueryRowContext(ctx, "SELECT n FROM links WHERE expires <= ? LIMIT 1", s.now()).Scan(&n)
			if errors.Is(err, sql.ErrNoRows) {
				break
			}
			if err == nil {
				err = remove(ctx, tx, n)
			}
			if err != nil {
				return err
			}
		}
		over, err := s.displace(ctx, tx, 0)
		if err != nil {
			return err
		}
		all, free, err := pages(ctx, tx)
		if err != nil {
			return err
		}
		more = removed == sweepBatch || over == sweepBatch
		if free > all/2 || s.options.MaxBytes > 0 && free > 0 && all*s.page > s.options.MaxBytes {
			more = more || free > vacuumStep
			return vacuum(ctx, tx)
		}
		return nil
	})
	return more, err
}

// vacuum gives back some of the free pages.
func vacuum(ctx context.Context, tx *sql.Tx) error {
	rows, err := tx.QueryContext(ctx, "PRAGMA incremental_vacuum("+strconv.Itoa(vacuumStep)+")")
	if err != nil {
		return err
	}
	for rows.Next() { // each step gives back a page
		continue
	}
	return errors.Join(rows.Err(), rows.Close())
}
