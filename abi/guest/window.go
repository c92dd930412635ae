package guest

import "unsafe"

// WindowOf views a pointer-free struct as a state window. T must hold no Go pointers, slices, strings
// or maps: the host copies its bytes between instances.
func WindowOf[T any](s *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(s)), int(unsafe.Sizeof(*s)))
}
