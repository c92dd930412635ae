// Package chain is what conversations that are kept on this side are made of: links, each an answer with the input
// that led to it, that point to the link before.
//
// A link's items are kept twice: as the JSON of their surface, which is shown again on demand, and as the canonical
// messages, of which the next prompt is made. The second is not made from the first: what a client was not shown,
// such as reasoning that it asked to leave out, is in the messages alone.
package chain

import (
	"context"
	"errors"
	"time"

	"github.com/weirgate/weir/abi/conv"
)

// Item is one item of a conversation. It is not changed once it was made.
type Item struct {
	ID   string `json:"id,omitempty"`
	JSON []byte `json:"json,omitempty"` // as it came or was sent, an object
	// Messages are what it says: none where it is for display alone, and otherwise mostly one with one part.
	// Neighbours that the same turn of the assistant's said are put together when a prompt is made (Merge).
	Messages []conv.Message `json:"messages,omitempty"`
	// Tools become known with it, deferred or at once.
	Tools []conv.ToolDef `json:"tools,omitempty"`
}

// Link is an answer that can be continued. It is not changed once it was put.
type Link struct {
	ID      string // of the answer
	Owner   string // tenant
	Parent  string // id of the link before; empty at the beginning
	Model   string // as the client wrote it
	Input   []Item // the request's own, not its parents'
	Output  []Item
	Body    []byte // the answer's resource, JSON
	Created time.Time
	Expires time.Time
}

// Errors of a Store. Every other error means that it does not work.
var (
	// ErrNotFound: there is no such link or item, it is another owner's, it was deleted or has expired.
	ErrNotFound = errors.New("not found")
	// ErrTooLarge: a link is larger than the store takes.
	ErrTooLarge = errors.New("too large")
)

// Store keeps links. It is safe for concurrent use; what it gives out is not changed by anybody.
type Store interface { //nolint:interfacebloat // because these are what a kept conversation is asked for, and no less
	// Put keeps a link under its id, which is new. When it returns, Get finds it.
	Put(ctx context.Context, l *Link) error
	// Get finds a link by id.
	Get(ctx context.Context, owner, id string) (*Link, error)
	// History is the input and output items of a link and all its parents, the oldest first. Parents that were deleted
	// are part of it: deleting hides an id, and takes nothing from the conversations that went on from it. It is
	// ErrNotFound only where the link itself is not to be found, or where a parent has expired or was displaced.
	History(ctx context.Context, owner, id string) ([]Item, error)
	// Item finds an item by its own id, among those of links that are neither deleted nor expired.
	Item(ctx context.Context, owner, id string) (*Item, error)
	// Delete hides a link.
	Delete(ctx context.Context, owner, id string) error
	// Close ends the store. It waits for what is being written.
	Close() error
}

// Merge puts the messages of items together as a conversation: what the assistant said between others' messages is
// one message of ordered parts.
func Merge(items []Item) []conv.Message {
	n := 0
	for i := range items {
		n += len(items[i].Messages)
	}
	out := make([]conv.Message, 0, n)
	own := false // the last message's parts are out's own
	for i := range items {
		for _, m := range items[i].Messages {
			last := len(out) - 1
			if m.Role != conv.Assistant || last < 0 || out[last].Role != conv.Assistant {
				out, own = append(out, m), false
				continue
			}
			if !own {
				out[last].Parts, own = append(make([]conv.Part, 0, len(out[last].Parts)+4*len(m.Parts)), out[last].Parts...), true
			}
			out[last].Parts = append(out[last].Parts, m.Parts...)
		}
	}
	return out
}
