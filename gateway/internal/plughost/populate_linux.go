package plughost

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// huge is the size of a large page. Memory costs the system a third in such.
const huge = 2 << 20

// populate gives b its memory at once, in large pages where one is all b's. Where the system cannot, it does as
// much when b is touched.
func populate(b []byte) {
	if len(b) == 0 {
		return
	}
	at := uintptr(unsafe.Pointer(&b[0]))
	first, end := -at%huge, (at+uintptr(len(b)))%huge
	if n := uintptr(len(b)); first+huge <= n-min(end, n) {
		_ = unix.Madvise(b[first:n-end], unix.MADV_HUGEPAGE)
	}
	_ = unix.Madvise(b, unix.MADV_POPULATE_WRITE)
}
