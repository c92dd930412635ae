//go:build linux || darwin || freebsd

package gateway

import (
	"time"

	"golang.org/x/sys/unix"
)

// processTime is the processor time that this process has had.
func processTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		return time.Duration(time.Now().UnixNano())
	}
	return time.Duration(t.Nano())
}
