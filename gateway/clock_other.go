//go:build !(linux || darwin || freebsd)

package gateway

import "time"

// threadTime is the time of day.
func threadTime() time.Duration { return time.Duration(time.Now().UnixNano()) }
