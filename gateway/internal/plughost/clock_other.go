//go:build !linux && !darwin && !freebsd

package plughost

import "time"

// threadTime stands still where no thread has a clock of its own: fuel alone ends a call there, since one may wait
// for a processor for long.
func threadTime() time.Duration { return 0 }
