package wire

import "strings"

const (
	textsSize = 512 // bytes of memory that short texts share
	longText  = 256 // bytes of a text that gets its own
)

// texts copies texts. Short ones share memory: a request is made of many names, ids and lines, and all
// of them live as long as it does.
type texts struct{ b strings.Builder }

// keep returns b as a string of its own.
func (t *texts) keep(b []byte) string {
	switch {
	case len(b) == 0:
		return ""
	case len(b) > longText:
		return string(b)
	case len(b) > t.b.Cap()-t.b.Len():
		t.b.Reset()
		t.b.Grow(textsSize)
	}
	at := t.b.Len()
	t.b.Write(b) // never grows the memory: what was kept is not copied
	return t.b.String()[at:]
}
