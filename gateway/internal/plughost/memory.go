package plughost

import "github.com/tetratelabs/wazero/experimental"

// linear is the memory of one instance. Address space for all that the guest may ever have is taken at once, so
// that growing moves nothing, and costs no more for a large memory than for a small one. What the guest asks for it
// gets at once, not page by page as it touches it. What an instance had is the system's again as soon as it is
// closed.
type linear struct {
	all  []byte
	used uint64 // bytes of it that the guest has
	free func()
}

// Allocate implements experimental.MemoryAllocator, for one memory.
func (l *linear) Allocate(_, most uint64) experimental.LinearMemory {
	l.all, l.free = reserve(int(most))
	return l
}

// Reallocate implements experimental.LinearMemory.
func (l *linear) Reallocate(size uint64) []byte {
	if size > uint64(len(l.all)) {
		return nil
	}
	if size > l.used {
		populate(l.all[l.used:size])
		l.used = size
	}
	return l.all[:size:size]
}

// Free implements experimental.LinearMemory. It may be called twice; the memory must not be used after.
func (l *linear) Free() {
	if l.free != nil {
		l.free()
	}
	l.all, l.free = nil, nil
}
