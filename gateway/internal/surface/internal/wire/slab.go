package wire

// maxSlab is the most values that one piece of a slab holds.
const maxSlab = 64

// Slab gives out memory for values of one type, cut from few larger pieces: the values of a request live as
// long as it does. The zero Slab is ready.
type Slab[T any] struct {
	free []T
	size int // of the last piece
}

// Take returns n zero values; an append to them moves them.
func (s *Slab[T]) Take(n int) []T {
	if n > len(s.free) {
		s.size = max(n, min(2*s.size, maxSlab))
		s.free = make([]T, s.size)
	}
	out := s.free[:n:n]
	s.free = s.free[n:]
	return out
}

// New returns a zero value.
func (s *Slab[T]) New() *T { return &s.Take(1)[0] }

// One returns a copy of v.
func (s *Slab[T]) One(v T) *T {
	p := s.New()
	*p = v
	return p
}

// Keep returns a copy of list, nil if that is empty.
func (s *Slab[T]) Keep(list []T) []T {
	if len(list) == 0 {
		return nil
	}
	out := s.Take(len(list))
	copy(out, list)
	return out
}
