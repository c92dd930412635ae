//go:build unix

package plughost

import "syscall"

// nonblocking keeps the opening of a pipe or device from waiting.
const nonblocking = syscall.O_NONBLOCK
