package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/weirgate/weir/gateway/internal/chain"
)

// micros is a time as a column: NULL is none.
func micros(t time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: t.UnixMicro(), Valid: !t.IsZero()}
}

func instant(v sql.NullInt64) time.Time {
	if !v.Valid {
		return time.Time{}
	}
	return time.UnixMicro(v.Int64).UTC()
}

// now is the clock as a column. What expires at this very moment has expired.
func (s *SQLite) now() int64 { return s.options.Now().UnixMicro() }

const selectLink = `
SELECT n, created, expires, parent, model, body FROM links
WHERE owner = ? AND id = ? AND deleted = 0 AND (expires IS NULL OR expires > ?)`

const selectItems = `
SELECT link, n, output, id, json, conv, tools FROM items WHERE link = ?`

// Get finds a link by id.
func (s *SQLite) Get(ctx context.Context, owner, id string) (*chain.Link, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	l := &chain.Link{ID: id, Owner: owner}
	var items []placed
	err := s.view(ctx, func(ctx context.Context, tx *sql.Tx) error {
		var n int64
		var created, expires sql.NullInt64
		err := tx.QueryRowContext(ctx, selectLink, owner, id, s.now()).Scan(&n, &created, &expires, &l.Parent, &l.Model, &l.Body)
		if err != nil {
			return orNotFound(err)
		}
		l.Created, l.Expires = instant(created), instant(expires)
		items, err = readItems(ctx, tx, selectItems, n)
		return err
	})
	if err != nil {
		return nil, err
	}
	for i := range items {
		to := &l.Input
		if items[i].output {
			to = &l.Output
		}
		*to = append(*to, items[i].Item)
	}
	return l, nil
}

func orNotFound(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return chain.ErrNotFound
	}
	return err
}

// line is a link and its parents. Each is more than its parents, so it ends whatever a file says.
const line = `
WITH RECURSIVE line (n, up, parent, expires) AS (
	SELECT n, up, parent, expires FROM links WHERE owner = ?1 AND id = ?2 AND deleted = 0
	UNION ALL
	SELECT l.n, l.up, l.parent, l.expires FROM line JOIN links l ON l.n = line.up AND l.n < line.n
) `

// selectLine says whether there is a line, and whether it is whole.
const selectLine = line + `
SELECT count(*) > 0 AND count(expires <= ?3 OR NULL) = 0 AND count(up IS NULL AND parent <> '' OR NULL) = 0 FROM line`

// selectHistory is not put in order by the database, which would copy all of it to do so.
const selectHistory = line + `
SELECT i.link, i.n, i.output, i.id, i.json, i.conv, i.tools FROM line CROSS JOIN items i ON i.link = line.n`

// History is the items of a link and its parents, as chain.Store has it.
func (s *SQLite) History(ctx context.Context, owner, id string) ([]chain.Item, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	var items []placed
	err := s.view(ctx, func(ctx context.Context, tx *sql.Tx) error {
		var whole bool
		if err := tx.QueryRowContext(ctx, selectLine, owner, id, s.now()).Scan(&whole); err != nil {
			return err
		}
		if !whole {
			return chain.ErrNotFound
		}
		var err error
		items, err = readItems(ctx, tx, selectHistory, owner, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	out := make([]chain.Item, len(items))
	for i := range items {
		out[i] = items[i].Item
	}
	return out, nil
}

// placed is an item and where it stands.
type placed struct {
	chain.Item
	link, n int64
	output  bool
}

// readItems reads the items that a query selects, and puts them in order.
func readItems(ctx context.Context, tx *sql.Tx, query string, args ...any) ([]placed, error) {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	var out []placed
	for rows.Next() && err == nil {
		var p placed
		var messages, tools sql.RawBytes
		if err = rows.Scan(&p.link, &p.n, &p.output, &p.ID, &p.JSON, &messages, &tools); err == nil {
			err = p.decode(messages, tools)
			out = append(out, p)
		}
	}
	if err = errors.Join(err, rows.Err(), rows.Close()); err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.link, b.link), cmp.Compare(a.n, b.n))
	})
	return out, nil
}

func (p *placed) decode(messages, tools []byte) (err error) {
	if p.Messages, err = decodeMessages(messages); err == nil {
		p.Tools, err = decodeTools(tools)
	}
	return err
}

const selectItem = `
SELECT i.json, i.conv, i.tools FROM items i JOIN links l ON l.n = i.link
WHERE i.owner = ? AND i.id = ? AND i.id <> '' AND l.deleted = 0 AND (l.expires IS NULL OR l.expires > ?)
ORDER BY i.link DESC, i.n DESC LIMIT 1`

// Item finds an item by its id: where several have it, the one that was put last.
func (s *SQLite) Item(ctx context.Context, owner, id string) (*chain.Item, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	p := placed{Item: chain.Item{ID: id}}
	var messages, tools []byte
	err := s.read.QueryRowContext(ctx, selectItem, owner, id, s.now()).Scan(&p.JSON, &messages, &tools)
	if err != nil {
		return nil, explain(ctx, orNotFound(err))
	}
	if err := p.decode(messages, tools); err != nil {
		return nil, err
	}
	return &p.Item, nil
}
