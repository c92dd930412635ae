package wire

import "strings"

const (
	textsSize = 32 << 10 // most bytes of memory that texts share
	longText  = textsSize / 4
)

// texts copies texts. Those that are not long share memory: a request is made of many names, ids and lines,
// and all of them live as long as it does.
type texts struct {
	b    strings.Builder
	left int // bytes of the body that no memory was taken for
}

// keep returns b as a string of its own.
func (t *texts) keep(b []byte) string {
	switch {
	case len(b) == 0:
		return ""
	case len(b) > longText:
		t.left -= len(b)
		return string(b)
	case len(b) > t.b.Cap()-t.b.Len():
		n := max(len(b), min(t.left, textsSize))
		t.left -= n
		t.b.Reset()
		t.b.Grow(n)
	}
	at := t.b.Len()
	t.b.Write(b) // never grows the memory: what was kept is not copied
	return t.b.String()[at:]
}
