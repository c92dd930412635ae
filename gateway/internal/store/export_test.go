package store

import (
	"context"
	"database/sql"
	"testing"

	"github.com/weirgate/weir/abi/conv"
)

// Check compares what a Memory keeps in several places.
func (m *Memory) Check(t *testing.T) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	var bytes int64
	leaves, expiring, entries, chained := 0, 0, 0, 0
	for k, n := range m.links {
		if k != (key{n.link.Owner, n.link.ID}) {
			t.Errorf("%v stands for %v", k, n.link.ID)
		}
		bytes += n.bytes
		entries += len(n.entries)
		if n.asLeaf > 0 {
			leaves++
		}
		if n.asExpiring > 0 {
			expiring++
		}
		if (n.child == nil) != (n.asLeaf > 0) || n.hidden && n.child == nil {
			t.Errorf("%s: leaf %d, hidden %v", n.link.ID, n.asLeaf, n.hidden)
		}
		for c := n.child; c != nil; c = c.older {
			if c.parent != n || c.older != nil && c.older.next != c || m.links[key{c.link.Owner, c.link.ID}] != c {
				t.Errorf("%s is a bad child of %s", c.link.ID, n.link.ID)
			}
		}
	}
	for k, e := range m.items {
		if e.newer != nil {
			t.Errorf("%v is not the newest", k)
		}
		for ; e != nil; e = e.older {
			chained++
		}
	}
	if bytes != m.bytes || leaves != len(m.leaves.nodes) || expiring != len(m.expiring.nodes) || entries != chained {
		t.Errorf("%d of %d bytes, %d of %d leaves, %d of %d that expire, %d of %d items",
			m.bytes, bytes, len(m.leaves.nodes), leaves, len(m.expiring.nodes), expiring, chained, entries)
	}
}

// Writer is the connection that writes.
func (s *SQLite) Writer() *sql.DB { return s.write }

// Used is what the database's pages take, and how many bytes of them are free.
func (s *SQLite) Used(ctx context.Context) (all, free int64, err error) {
	err = s.view(ctx, func(ctx context.Context, tx *sql.Tx) error {
		all, free, err = pages(ctx, tx)
		return err
	})
	return all * s.page, free * s.page, err
}

// The columns.
func EncodeMessages(m []conv.Message) ([]byte, error) { return encodeMessages(m) }
func DecodeMessages(b []byte) ([]conv.Message, error) { return decodeMessages(b) }
func EncodeTools(t []conv.ToolDef) ([]byte, error)    { return encodeTools(t) }
func DecodeTools(b []byte) ([]conv.ToolDef, error)    { return decodeTools(b) }
