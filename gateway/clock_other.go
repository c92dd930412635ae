//go:build !(linux || darwin || freebsd)

package gateway

import "time"

// processTime is the time of day.
func processTime() time.Duration { return time.Duration(time.Now().UnixNano()) }
