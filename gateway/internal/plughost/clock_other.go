//go:build !linux && !darwin && !freebsd

package plughost

import "time"

// ThreadTime is the processor time that the calling thread has had: 0, since the system does not tell.
func ThreadTime() time.Duration { return 0 }
