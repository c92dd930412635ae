package plughost

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// ErrQuarantined is returned for a plugin that failed too often and has no earlier version to go back to.
var ErrQuarantined = errors.New("plugin is quarantined")

// faultWindow is the time in which faults are counted towards the quarantine.
const faultWindow = time.Minute

// maxQuarantine bounds the faults that a quarantine may ask for.
const maxQuarantine = 1000

// health counts the faults of one plugin version. Once it is quarantined it stays so until it is released.
type health struct {
	quarantined atomic.Bool
	total       atomic.Int64

	mu     sync.Mutex  // guards what follows
	limit  int         // faults within faultWindow that quarantine; 0 means never
	recent []time.Time // ring of the last limit faults
	next   int
	tell   func() // of the quarantine
}

// watch sets the limit, and what is to be told when it is reached.
func (h *health) watch(limit int, tell func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tell = tell
	if limit != h.limit {
		h.limit, h.recent, h.next = limit, make([]time.Time, limit), 0
	}
}

// fault counts one. It calls tell when this one is too many.
func (h *health) fault(now time.Time) {
	h.total.Add(1)
	h.mu.Lock()
	tell := h.tell
	reached := false
	if h.limit > 0 {
		h.recent[h.next] = now
		h.next = (h.next + 1) % h.limit
		oldest := h.recent[h.next]
		reached = !oldest.IsZero() && now.Sub(oldest) < faultWindow
	}
	h.mu.Unlock()
	if reached && !h.quarantined.Swap(true) && tell != nil {
		tell()
	}
}

// release ends a quarantine and forgets the faults.
func (h *health) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.recent)
	h.next = 0
	h.quarantined.Store(false)
}

// Report counts a fault of the plugin: err is what a call of one of its guests, or the stream of one, ended
// with. That all instances are busy is not counted: it may be the doing of another stream. Enough faults
// within a minute quarantine this version (see Rules).
func (p *Plugin) Report(err error) {
	if KindOf(err) != KindBusy {
		p.health.fault(time.Now())
	}
}

// Quarantined reports that this version failed too often and is not used for new streams.
func (p *Plugin) Quarantined() bool { return p.health.quarantined.Load() }

// Faults is how many faults were reported of this version.
func (p *Plugin) Faults() int { return int(p.health.total.Load()) }
