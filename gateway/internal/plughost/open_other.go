//go:build !unix

package plughost

// nonblocking keeps the opening of a pipe or device from waiting, where systems have such files.
const nonblocking = 0
