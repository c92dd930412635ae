// Package ledger tells of each prompt how much of it an engine has seen before, and why not more.
//
// A prompt is kept as chained hashes of its blocks, its tokens, and the parts of the conversation in it.
// A new one is compared with the last prompts of the same key and judged by the one that it shares most
// with, so that a title or a search between two turns breaks nothing. What the parts say names the cause.
//
// Hashes are seeded anew for every ledger and never leave it: nobody can choose a prompt that collides,
// and no figure depends on the seed.
package ledger

import (
	"container/list"
	"hash/maphash"
	"strings"
	"sync"
	"sync/atomic"
)

// Options are the bounds of a ledger; zero values are replaced by the defaults in brackets.
type Options struct {
	MaxBytes  int // memory for all keys, about [64 MiB]
	Prompts   int // prompts kept a key that has a session [8]
	Anonymous int // prompts kept a key that has none [64]
}

// Ledger remembers prompts. It is safe for concurrent use; prompts of different keys do not wait for each
// other's comparison.
//
// When memory is short, the tokens of the keys that were not used for the longest time go first: what they
// share is then known to the block only. When that is not enough, the keys go.
type Ledger struct {
	options Options
	chain   *chain

	prompts, lost [causes]atomic.Uint64
	tokens        atomic.Uint64
	expected      atomic.Uint64

	mu   sync.Mutex
	keys map[Key]*session // guarded by mu
	hot  list.List        // sessions with units, last used first; guarded by mu
	cold list.List        // without; all of them were used before those of hot; guarded by mu
	used memory           // guarded by mu
}

// New makes a ledger.
func New(o Options) *Ledger {
	if o.MaxBytes <= 0 {
		o.MaxBytes = 64 << 20
	}
	if o.Prompts <= 0 {
		o.Prompts = 8
	}
	if o.Anonymous <= 0 {
		o.Anonymous = 64
	}
	return &Ledger{options: o, chain: newChain(maphash.MakeSeed()), keys: map[Key]*session{}}
}

// spareBlocks and spareParts are room for those of an answer.
const (
	spareBlocks = 4
	spareParts  = 4
)

// maxUnits is how much of the memory tokens may take.
func (l *Ledger) maxUnits() int { return l.options.MaxBytes / 4 * 3 }

// Sum hashes canonical bytes for Part.Canonical. It is never 0.
func (l *Ledger) Sum(s string) uint64 { return sum(l.chain.seed, s) }

// Observe compares p with the earlier prompts of its key and remembers it. p is not kept.
func (l *Ledger) Observe(p *Prompt) Report {
	u := units{ids: p.IDs, text: p.Text}
	d := digestOf(l.chain.seed, p.Text, p.Parts, "", 0)
	hashes := l.chain.extend(make([]uint64, 0, u.size()/blockBytes+spareBlocks), u)
	s := l.session(p.Key)

	s.mu.Lock()
	before := s.held
	e, best := s.enter(u, hashes, l.maxUnits()/2)
	e.digest, e.length = d, len(p.Text)
	e.takeNames(best.e)
	r, extended := s.report(p, e, best)
	s.keep(e, extended)
	r.Ref = Ref{s, e.id}
	delta := s.held.minus(before)
	s.mu.Unlock()

	l.charge(s, delta)
	l.prompts[r.Cause].Add(1)
	l.lost[r.Cause].Add(uint64(r.Lost))
	l.tokens.Add(uint64(r.Tokens))
	l.expected.Add(uint64(r.Expected))
	return r
}

// Append adds to an observed prompt what the model wrote after it, so that the next prompt is compared
// with all that the engine has in its cache. It does nothing when the prompt is no longer kept, when it has
// an answer already, or when it has tokens and the answer has not.
func (l *Ledger) Append(ref Ref, a Answer) {
	if ref.s == nil {
		return
	}
	ref.s.mu.Lock()
	before := ref.s.held
	ref.s.answer(ref.id, &a, l.chain, l.maxUnits()/2)
	delta := ref.s.held.minus(before)
	ref.s.mu.Unlock()
	l.charge(ref.s, delta)
}

// Forget takes back that a prompt was observed, for one that no engine saw. What was counted stays.
func (l *Ledger) Forget(ref Ref) {
	if ref.s == nil {
		return
	}
	ref.s.mu.Lock()
	before := ref.s.held
	ref.s.forget(ref.id)
	delta := ref.s.held.minus(before)
	ref.s.mu.Unlock()
	l.charge(ref.s, delta)
}

// Stats returns what was counted so far.
func (l *Ledger) Stats() Stats {
	var s Stats
	for c := range Causes() {
		s.Prompts[c], s.Lost[c] = l.prompts[c].Load(), l.lost[c].Load()
	}
	s.Tokens, s.Expected = l.tokens.Load(), l.expected.Load()
	l.mu.Lock()
	defer l.mu.Unlock()
	s.Bytes, s.Keys = l.used.units+l.used.rest, len(l.keys)
	return s
}

// session returns the session of a key, as the one used last.
func (l *Ledger) session(key Key) *session {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.keys[key]; s != nil {
		if s.cold {
			l.cold.MoveToFront(s.elem)
		} else {
			l.hot.MoveToFront(s.elem)
		}
		return s
	}
	// The key's strings are pieces of a request, which must not live as long.
	key = Key{strings.Clone(key.Tenant), strings.Clone(key.Model), strings.Clone(key.Session), strings.Clone(key.Agent)}
	s := &session{key: key, cap: l.options.Prompts}
	if key.Session == "" {
		s.cap = l.options.Anonymous
	}
	s.charged.rest = keyBytes + len(key.Tenant) + len(key.Model) + len(key.Session) + len(key.Agent)
	l.used = l.used.plus(s.charged)
	s.elem = l.hot.PushFront(s)
	l.keys[key] = s
	return s
}

// charge counts what a session took more, and makes room.
func (l *Ledger) charge(s *session, delta memory) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.gone {
		return
	}
	s.charged = s.charged.plus(delta)
	l.used = l.used.plus(delta)
	if s.cold && delta.units > 0 {
		l.cold.Remove(s.elem)
		s.elem, s.cold = l.hot.PushFront(s), false
	}
	for l.used.units > l.maxUnits() && l.hot.Len() > 0 {
		l.chill(l.hot.Back())
	}
	for l.used.units+l.used.rest > l.options.MaxBytes && len(l.keys) > 0 {
		l.evict()
	}
}

// chill takes the units of a session. What a comparison that is under way adds to them is charged when it
// ends: until then the account may be below what is held, by one prompt.
func (l *Ledger) chill(at *list.Element) {
	s, _ := l.hot.Remove(at).(*session)
	freed := memory{units: s.strip()}
	s.charged = s.charged.minus(freed)
	l.used = l.used.minus(freed)
	s.elem, s.cold = l.cold.PushFront(s), true
}

// evict forgets the key that was not used for the longest time.
func (l *Ledger) evict() {
	from := &l.cold
	if from.Len() == 0 {
		from = &l.hot
	}
	s, _ := from.Remove(from.Back()).(*session)
	s.gone = true
	delete(l.keys, s.key)
	l.used = l.used.minus(s.charged)
}
