package plughost

import (
	"context"
	"time"

	"github.com/tetratelabs/wazero/experimental"
)

// HoldFor is how long a change must have held.
const HoldFor = holdFor

// ScanAt is one round of Watch at a given time.
func (r *Registry) ScanAt(ctx context.Context, dir string, now time.Time) {
	r.scan(ctx, dir, now, holdFor)
}

// ParseManifest is the manifest reader.
func ParseManifest(b []byte) (*Manifest, error) { return parseManifest(b) }

// FaultWindow and MaxConfigs are bounds of the package.
const (
	FaultWindow = faultWindow
	MaxConfigs  = maxConfigs
)

// FaultAt is Report at a given time.
func (p *Plugin) FaultAt(now time.Time) { p.health.fault(now, "", nil) }

// Pools is the number of pools, and Instances that of their instances.
func (p *Plugin) Pools() int { return len(p.parsers) + len(p.planners) }

// Instances is the number of pooled instances.
func (p *Plugin) Instances() int {
	n := 0
	for _, r := range p.parsers {
		n += r.Instances()
	}
	return n
}

// RaceDetector tells that the race detector runs, which makes everything ten times slower.
const RaceDetector = raceDetector

// Clock is the account of one call's time: so much fuel is allowed, and the first slice is spent.
func Clock(fuel int64) (turn func(clock time.Duration, left, more int64) (over bool)) {
	a := &allowance{}
	a.begin(fuel, 0)
	return a.turn
}

// Linear is the memory of an instance.
func Linear() experimental.MemoryAllocator { return &linear{} }
