//go:build linux || darwin || freebsd

package plughost

import "golang.org/x/sys/unix"

// reserve returns n bytes of zeros that take no memory until they are touched, and what gives them back.
func reserve(n int) ([]byte, func()) {
	if n == 0 {
		return nil, nil
	}
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return make([]byte, n), nil // the collector's, then
	}
	return b, func() { _ = unix.Munmap(b) } // fails for what is no mapping alone
}
