package ledger

import (
	"slices"
	"strings"
)

const idBytes = 4

// units is what of a prompt is compared: its ids, else its text. Lengths and places are bytes, four for an id; they
// lie between units.
type units struct {
	ids  []uint32
	text string // counts when there are no ids
}

// width is the bytes of a unit.
func (u units) width() int {
	if len(u.ids) > 0 {
		return idBytes
	}
	return 1
}

// size is the length in bytes.
func (u units) size() int {
	if len(u.ids) > 0 {
		return len(u.ids) * idBytes
	}
	return len(u.text)
}

// cut is the units from one place to another one.
func (u units) cut(from, to int) units {
	if len(u.ids) > 0 {
		return units{ids: u.ids[from/idBytes : to/idBytes]}
	}
	return units{text: u.text[from:to]}
}

// common is the bytes that u and v begin with alike. Both have units of the same width, or one has none.
func (u units) common(v units) (n int) {
	if len(u.ids) > 0 {
		for n < len(u.ids) && n < len(v.ids) && u.ids[n] == v.ids[n] {
			n++
		}
		return n * idBytes
	}
	for n < len(u.text) && n < len(v.text) && u.text[n] == v.text[n] {
		n++
	}
	return n
}

// and is a copy of u with v behind it.
func (u units) and(v units) units {
	if len(u.ids)+len(v.ids) > 0 {
		return units{ids: slices.Concat(u.ids, v.ids)}
	}
	return units{text: strings.Join([]string{u.text, v.text}, "")}
}
