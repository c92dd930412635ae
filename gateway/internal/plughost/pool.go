package plughost

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// pool holds idle instances of one configuration. Most are in near, where taking and giving back is no
// atomic operation and each processor keeps to an instance that its cache has: this happens on every feed.
// What near holds is seen by its own processor alone, and is closed when two collections of garbage have
// passed without a use (see instance.guts). Where somebody waits, instances go through slots.
type pool struct {
	open  func() (*instance, error)
	wait  time.Duration
	near  sync.Pool                  // of *instance
	slots []atomic.Pointer[instance] // as many as there may be instances, so giving back always finds one
	live  atomic.Int32
	state atomic.Uint32 // 0 where an instance is taken from near and given back to it with no more ado

	wake chan struct{} // tells one waiter that an instance or a place came free
	done chan struct{}
}

// What makes up a pool's state.
const (
	poolClosed  = 1 << iota
	poolUnused  // since the last trim
	poolSlots   // near is not used: there are no more instances than processors
	poolWaiting // one who waits; the others are added
)

func newPool(size int, wait time.Duration, open func() (*instance, error)) *pool {
	p := &pool{
		open: open, wait: wait, slots: make([]atomic.Pointer[instance], size),
		wake: make(chan struct{}, size), done: make(chan struct{}),
	}
	if size <= runtime.GOMAXPROCS(0) || raceDetector {
		p.state.Store(poolSlots)
	}
	return p
}

func (p *pool) closed() bool { return p.state.Load()&poolClosed != 0 }

func (p *pool) waited() bool { return p.state.Load() >= poolWaiting }

// idle returns an idle instance.
func (p *pool) idle() *instance {
	if p.state.Load()&poolSlots == 0 {
		if i, ok := p.near.Get().(*instance); ok {
			return i
		}
	}
	return p.slotted()
}

// slotted returns an idle instance that is in a slot.
func (p *pool) slotted() *instance {
	for k := range p.slots {
		if i := p.slots[k].Load(); i != nil && p.slots[k].CompareAndSwap(i, nil) {
			return i
		}
	}
	return nil
}

// take returns an instance for one call: an idle one, else a new one, else, if it may wait, the first that
// comes free.
func (p *pool) take(wait bool) (*instance, error) {
	if p.state.Load() == 0 {
		if i, ok := p.near.Get().(*instance); ok {
			return i, nil
		}
	}
	if p.state.Load()&poolUnused != 0 {
		p.state.And(^uint32(poolUnused))
	}
	if !p.closed() {
		if i := p.idle(); i != nil {
			return i, nil
		}
	}
	return p.takeSlow(wait)
}

func (p *pool) takeSlow(wait bool) (*instance, error) {
	// Counted before looking, so that whoever gives back or drops after that look wakes somebody.
	p.state.Add(poolWaiting)
	defer p.state.Add(^uint32(poolWaiting - 1))
	var timeout <-chan time.Time
	for {
		if p.closed() {
			return nil, ErrRetired
		}
		if i := p.idle(); i != nil {
			return i, nil
		}
		if i, err := p.grow(); i != nil || err != nil {
			return i, err
		}
		if !wait {
			return nil, fmt.Errorf("%w: %d of %d", ErrBusy, p.live.Load(), len(p.slots))
		}
		if timeout == nil {
			t := time.NewTimer(p.wait)
			defer t.Stop()
			timeout = t.C
		}
		select {
		case <-p.wake:
		case <-p.done:
		case <-timeout:
			return nil, fmt.Errorf("%w: %d of %d for %v", ErrBusy, p.live.Load(), len(p.slots), p.wait)
		}
	}
}

// grow makes a new instance if there may be one more; neither an instance nor an error means no.
func (p *pool) grow() (*instance, error) {
	for {
		n := p.live.Load()
		if int(n) >= len(p.slots) {
			return nil, nil
		}
		if p.live.CompareAndSwap(n, n+1) {
			break
		}
	}
	i, err := p.open()
	if err != nil {
		p.gone()
		return nil, err
	}
	i.gone = p.gone
	return i, nil
}

// settle gives an instance back after a call, or drops it if that failed: nobody knows in what state it is. The
// error is that of the call.
func (p *pool) settle(i *instance, err error) error {
	switch {
	case err != nil:
		p.drop(i)
	case p.state.Load()&^poolUnused == 0:
		p.near.Put(i)
	default:
		p.place(i)
	}
	return err
}

// place puts a healthy instance where everybody finds it.
func (p *pool) place(i *instance) {
	for placed := false; !placed; {
		for k := range p.slots {
			if p.slots[k].Load() == nil && p.slots[k].CompareAndSwap(nil, i) {
				placed = true
				break
			}
		}
	}
	if p.waited() {
		p.signal()
	}
	if p.closed() {
		p.drain()
	}
}

// drop closes an instance that failed. A new one is made when one is needed.
func (p *pool) drop(i *instance) { i.close() }

func (p *pool) gone() {
	p.live.Add(-1)
	if p.waited() {
		p.signal()
	}
}

func (p *pool) signal() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// close closes the idle instances and wakes all waiters; instances in use are closed when given back.
func (p *pool) close() {
	if p.state.Or(poolClosed)&poolClosed == 0 {
		close(p.done)
	}
	p.drain()
}

// trim closes the idle instances of a pool that was not used since the last trim.
func (p *pool) trim() {
	if p.state.Or(poolUnused)&poolUnused != 0 {
		p.drain()
	}
}

func (p *pool) drain() {
	for i := p.idle(); i != nil; i = p.idle() {
		p.drop(i)
	}
}
