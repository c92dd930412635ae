package httpapi

import (
	"context"
	"slices"
	"sync"

	"github.com/weirgate/weir/gateway/internal/chain"
	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/surface"
	"github.com/weirgate/weir/gateway/internal/surface/responses"
)

// recent is what one socket remembers, whether or not it is kept elsewhere: of each conversation the last answer, with
// all that led to it. It is used by one turn at a time. A nil recent is empty and stays so.
type recent struct {
	max   int64 // bytes
	size  int64
	links []recentLink // the one put last at the end
}

type recentLink struct {
	id     string
	stored bool // elsewhere too
	size   int64
	items  []chain.Item
}

// get is the answer of an id, valid until the next call; nil where there is none.
func (m *recent) get(id string) *recentLink {
	if m == nil {
		return nil
	}
	i := m.index(id)
	if i < 0 {
		return nil
	}
	return &m.links[i]
}

func (m *recent) index(id string) int {
	return slices.IndexFunc(m.links, func(l recentLink) bool { return l.id == id })
}

// put remembers an answer in place of the one that it goes on from: what was said before, and with it. Where memory
// ends, the oldest conversations go; one that is larger than all of it is not remembered.
func (m *recent) put(previous, id string, stored bool, history, said []chain.Item) {
	if m == nil {
		return
	}
	said = chain.Pack(said)
	l := recentLink{id: id, stored: stored, items: slices.Concat(history, said), size: chain.Size(said)}
	if i := m.index(previous); i >= 0 {
		l.size += m.links[i].size
		m.remove(i)
	} else {
		l.size += chain.Size(history)
	}
	if l.size > m.max {
		return
	}
	m.links = append(m.links, l)
	m.size += l.size
	for m.size > m.max {
		m.remove(0)
	}
}

// drop forgets an answer.
func (m *recent) drop(id string) {
	if m == nil {
		return
	}
	if i := m.index(id); i >= 0 {
		m.remove(i)
	}
}

func (m *recent) remove(i int) {
	m.size -= m.links[i].size
	m.links = slices.Delete(m.links, i, i+1)
}

// live are the turns of responses that run, so that another request can cancel them. The zero value is ready.
type live struct {
	mu    sync.Mutex
	turns map[[2]string]*liveTurn
}

// liveTurn is a turn. Its request may be read when it is over.
type liveTurn struct {
	req    *surface.Request
	info   surface.Info
	cancel context.CancelCauseFunc
	over   chan struct{}
}

// add makes a context that cancel ends; over must be called when the turn has ended.
func (l *live) add(ctx context.Context, owner string, req *surface.Request, info surface.Info) (_ context.Context, over func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	key, t := [2]string{owner, responses.ID(info)}, &liveTurn{req: req, info: info, cancel: cancel, over: make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.turns == nil {
		l.turns = map[[2]string]*liveTurn{}
	}
	l.turns[key] = t
	return ctx, func() {
		l.mu.Lock()
		delete(l.turns, key)
		l.mu.Unlock()
		cancel(nil)
		close(t.over)
	}
}

// cancel ends a turn and waits until it is over. It returns nil where no such turn runs, or ctx is done first.
func (l *live) cancel(ctx context.Context, owner, id string) *liveTurn {
	l.mu.Lock()
	t := l.turns[[2]string{owner, id}]
	l.mu.Unlock()
	if t == nil {
		return nil
	}
	t.cancel(fault.New(fault.Canceled, "canceled by another request"))
	select {
	case <-t.over:
		return t
	case <-ctx.Done():
		return nil
	}
}
