package sim

import (
	"container/list"
	"sync"
	"time"
)

// scheduler admits generations to the batch in the order they came. It has no goroutine: who leaves
// lets the next one in.
type scheduler struct {
	batch, queueCap int

	mu      sync.Mutex
	running int       // guarded by mu
	queue   list.List // of *ticket; guarded by mu
	prefill time.Time // when the prefill unit is free; guarded by mu
}

// ticket is a generation's place.
type ticket struct {
	admitted chan struct{}
	place    *list.Element // in the queue; guarded by the scheduler's mu
	left     bool          // guarded by the scheduler's mu
}

// enter gives a place in the batch or the queue, nil when both are full.
func (s *scheduler) enter() *ticket {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &ticket{admitted: make(chan struct{})}
	switch {
	case s.running < s.batch:
		s.running++
		close(t.admitted)
	case s.queue.Len() < s.queueCap:
		t.place = s.queue.PushBack(t)
	default:
		return nil
	}
	return t
}

// leave gives the place up, once.
func (s *scheduler) leave(t *ticket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.left {
		return
	}
	t.left = true
	if t.place != nil {
		s.queue.Remove(t.place)
		return
	}
	front := s.queue.Front()
	if front == nil {
		s.running--
		return
	}
	next, _ := s.queue.Remove(front).(*ticket)
	next.place = nil
	close(next.admitted)
}

// begin books the prefill unit, which works on one prompt at a time, and returns when it is done.
func (s *scheduler) begin(now time.Time, work time.Duration) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.prefill.Before(now) {
		s.prefill = now
	}
	s.prefill = s.prefill.Add(work)
	return s.prefill
}
