//go:build linux || darwin || freebsd

package gateway

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime is the processor time that the calling thread has had.
func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return time.Duration(time.Now().UnixNano())
	}
	return time.Duration(t.Nano())
}
