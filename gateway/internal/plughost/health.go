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

	mu     sync.Mutex // guards what follows
	limit  int        // faults within faultWindow that quarantine; 0 means never
	recent []faulted  // ring of the last limit faults
	next   int
	barred map[string]bool     // tenants that it is quarantined for alone
	tell   func(tenant string) // of the quarantine; tenant is empty where it is for all
}

// faulted is a fault of one tenant's stream.
type faulted struct {
	at     time.Time
	tenant string
}

// watch sets the limit, and what is to be told when it is reached.
func (h *health) watch(limit int, tell func(tenant string)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tell = tell
	if limit != h.limit {
		h.limit, h.recent, h.next = limit, make([]faulted, limit), 0
	}
}

// fault counts one. It calls tell when this one is too many. Where all came of one tenant's streams, and
// shared says that others use the plugin too, it is quarantined for that tenant alone: nobody shall be able
// to take a parser from others by what he has a model write.
func (h *health) fault(now time.Time, tenant string, shared func() bool) {
	h.total.Add(1)
	h.mu.Lock()
	tell := h.tell
	reached, alone := false, true
	if h.limit > 0 {
		h.recent[h.next] = faulted{now, tenant}
		h.next = (h.next + 1) % h.limit
		oldest := h.recent[h.next].at
		reached = !oldest.IsZero() && now.Sub(oldest) < faultWindow
		for _, f := range h.recent {
			alone = alone && f.tenant == tenant
		}
	}
	h.mu.Unlock()
	if !reached {
		return
	}
	if !alone || tenant == "" || !shared() {
		tenant = ""
	}
	if h.begin(tenant) && tell != nil {
		tell(tenant)
	}
}

// begin begins a quarantine, and reports whether there was none.
func (h *health) begin(tenant string) bool {
	if tenant == "" {
		return !h.quarantined.Swap(true)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.barred[tenant] || len(h.barred) == maxConfigs {
		return false
	}
	if h.barred == nil {
		h.barred = map[string]bool{}
	}
	h.barred[tenant] = true
	return true
}

// bars reports whether the plugin is quarantined for a tenant alone.
func (h *health) bars(tenant string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.barred[tenant]
}

// barsAny reports whether there is a tenant that the plugin is quarantined for.
func (h *health) barsAny() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.barred) > 0
}

// release ends a quarantine and forgets the faults.
func (h *health) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.recent)
	clear(h.barred)
	h.next = 0
	h.quarantined.Store(false)
}

// Report counts a fault of the plugin: err is what a call of one of its guests, or the stream of one, ended
// with, and tenant whose stream it was, if it was anybody's. That all instances are busy is not counted: it may be
// the doing of another stream. Enough faults within a minute quarantine this version (see Rules).
func (p *Plugin) Report(tenant string, err error) {
	if KindOf(err) != KindBusy {
		p.health.fault(time.Now(), tenant, func() bool { return p.sharedWith(tenant) })
	}
}

// sharedWith reports whether others than a tenant use the plugin, or did so lately.
func (p *Plugin) sharedWith(tenant string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	other := func(key poolKey) bool { return key.tenant != "" && key.tenant != tenant }
	for key := range p.parsers {
		if other(key) {
			return true
		}
	}
	for key := range p.renderers {
		if other(key) {
			return true
		}
	}
	return false
}

// Quarantined reports that this version failed too often and is not used for new streams.
func (p *Plugin) Quarantined() bool { return p.health.quarantined.Load() }

// Faults is how many faults were reported of this version.
func (p *Plugin) Faults() int { return int(p.health.total.Load()) }
