// Package tenant says who a request's key belongs to, and what that tenant may use.
package tenant

import (
	"crypto/sha256"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/weirgate/weir/gateway/internal/config"
	"github.com/weirgate/weir/gateway/internal/fault"
)

// Tenant is who a request belongs to, as one configuration has it. It is safe for concurrent use, and
// shares its count of running turns with the same tenant of other configurations.
type Tenant struct {
	*config.Tenant
	running *atomic.Int64
}

// Registry knows the tenants of one configuration. It is not changed after New and safe for concurrent
// use; a reload makes another one, and a turn keeps what it was admitted by.
type Registry struct {
	config *config.Config
	keys   map[[sha256.Size]byte]*Tenant
	open   *Tenant // takes any key; may be nil
	names  map[string]*Tenant
}

// New makes the registry of a configuration. Tenants that prev has under the same name keep their running
// turns; prev may be nil.
func New(c *config.Config, prev *Registry) *Registry {
	r := &Registry{config: c, keys: map[[sha256.Size]byte]*Tenant{}, names: map[string]*Tenant{}}
	for i := range c.Tenants {
		t := &Tenant{Tenant: &c.Tenants[i], running: new(atomic.Int64)}
		if prev != nil {
			if was := prev.names[t.Name]; was != nil {
				t.running = was.running
			}
		}
		r.names[t.Name] = t
		for _, h := range t.Keys {
			r.keys[h] = t
		}
		if t.AnyKey {
			r.open = t
		}
	}
	return r
}

// Authenticate finds the tenant of a key, which may be empty. The fault is Unauthorized.
//
// Keys are looked up by their SHA-256: the time that takes tells something of the hash alone, from which
// nothing about a key of 256 random bits follows.
func (r *Registry) Authenticate(key string) (*Tenant, error) {
	if key != "" && len(r.keys) > 0 {
		var room [128]byte // for the keys that NewKey makes and most others
		if t := r.keys[sha256.Sum256(append(room[:0], key...))]; t != nil {
			return t, nil
		}
	}
	switch {
	case r.open != nil:
		return r.open, nil
	case key == "":
		return nil, fault.New(fault.Unauthorized, "no API key: send it as Authorization: Bearer or x-api-key")
	}
	return nil, fault.New(fault.Unauthorized, "unknown API key")
}

// Admit finds the tenant of a key and the model that it asked for by an id or alias. Faults are
// Unauthorized, NotFound and Forbidden, in this order; the latter two come with the tenant, for the log.
func (r *Registry) Admit(key, model string) (*Tenant, *config.Model, error) {
	t, err := r.Authenticate(key)
	if err != nil {
		return nil, nil, err
	}
	m := r.config.Resolve(model)
	if m == nil {
		return t, nil, fault.At(fault.NotFound, "model", "model %q does not exist", clip(model))
	}
	if !t.May(m.ID) {
		return t, nil, fault.At(fault.Forbidden, "model", "this API key may not use model %q", clip(model))
	}
	return t, m, nil
}

// Models lists the models that t may use, in the order of the configuration.
func (r *Registry) Models(t *Tenant) []*config.Model {
	var list []*config.Model
	for i := range r.config.Models {
		if m := &r.config.Models[i]; t.May(m.ID) {
			list = append(list, m)
		}
	}
	return list
}

// May reports whether the tenant may use the model with this id.
func (t *Tenant) May(id string) bool {
	for _, p := range t.Models {
		if config.Match(p, id) {
			return true
		}
	}
	return false
}

// Acquire takes one of the tenant's concurrent turns. The fault is Quota when none is left. Who has a
// permit releases it.
func (t *Tenant) Acquire() (*Permit, error) {
	for {
		n := t.running.Load()
		if t.MaxConcurrent > 0 && n >= int64(t.MaxConcurrent) {
			f := fault.New(fault.Quota, "the limit of %d concurrent requests is reached", t.MaxConcurrent)
			f.RetryAfter = time.Second
			return nil, f
		}
		// Counting first and taking back later would refuse others that there is room for.
		if t.running.CompareAndSwap(n, n+1) {
			return &Permit{running: t.running}, nil
		}
	}
}

// Running is how many turns of the tenant run now.
func (t *Tenant) Running() int { return int(t.running.Load()) }

// Permit is one running turn.
type Permit struct {
	running  *atomic.Int64
	released atomic.Bool
}

// Release gives the turn back; further calls do nothing.
func (p *Permit) Release() {
	if p.released.CompareAndSwap(false, true) {
		p.running.Add(-1)
	}
}

// KeyOf returns the key of a request: that of Authorization: Bearer, else that of x-api-key, else "".
func KeyOf(h http.Header) string {
	scheme, key, _ := strings.Cut(strings.TrimSpace(h.Get("Authorization")), " ")
	if key = strings.TrimSpace(key); key != "" && strings.EqualFold(scheme, "Bearer") {
		return key
	}
	return strings.TrimSpace(h.Get("X-Api-Key"))
}

// clip cuts what a client sent to what an error may repeat.
func clip(s string) string {
	const most = 128
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}
