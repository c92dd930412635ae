package plughost

import (
	"context"
	"time"
)

// HoldFor is how long a change must have held.
const HoldFor = holdFor

// ScanAt is one round of Watch at a given time.
func (r *Registry) ScanAt(ctx context.Context, dir string, now time.Time) {
	r.scan(ctx, dir, now, holdFor)
}

// ParseManifest is the manifest reader.
func ParseManifest(b []byte) (*Manifest, error) { return parseManifest(b) }
