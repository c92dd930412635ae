package wire

import (
	"bytes"
	"net/http"

	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/gateway/internal/surface/recall"
)

const (
	// keyElements is how many elements an array is found by: a system text, what the user wants, and the first answer, by
	// which conversations differ that begin with the same words.
	keyElements = 3
	// maxArrays is how many arrays of one body are remembered. No schema has more.
	maxArrays = 4
)

// array is an array whose elements may be known from an earlier body. It refers to no decoder and no function of one, so
// that a decoder can live on its caller's stack, also where there is a memory.
type array[T any] struct {
	key   recall.Key
	own   func(*recall.Copier, T) T
	keeps bool                 // it is worth remembering
	known []*recall.Element[T] // as it was the last time
	order []*recall.Element[T] // as it is now; nil for one that was decoded
	fresh []recall.Element[T]  // those that were decoded, in order
}

// Recall has what m remembers taken over, and m remember what it does not know. header is that of the request, whose
// credentials say with whom memories are shared. It comes before Document.
func (d *Decoder) Recall(m *recall.Memory, header http.Header) { d.memory, d.header = m, header }

// Elements reads an array of objects that is a member of the body. read decodes one element and appends what that says to list.
// An element that stood at the same place in an earlier body with the same beginning is not read: what it said then is
// appended. So what read does may depend on nothing but the element, and may do nothing else than append to list, count with Item and
// note with Ignore. kind names the array among those of all surfaces; own copies a value.
//
// A list is the request's own; what its values refer to is shared with other requests.
func Elements[T any](d *Decoder, kind string, list *[]T, own func(*recall.Copier, T) T, read func() error) error {
	if !d.memory.Takes(d.size) || d.depth != 1 {
		return d.Array(func(int) error { return read() })
	}
	a := &array[T]{own: own}
	if err := d.Array(func(i int) error {
		if i == 0 {
			a.find(d, kind)
		}
		return a.element(d, list, i, read)
	}); err != nil {
		return err
	}
	if len(a.fresh) > 0 && len(d.arrays) < maxArrays {
		d.arrays = append(d.arrays, a)
	}
	return nil
}

func (a *array[T]) element(d *Decoder, list *[]T, i int, read func() error) error {
	if i < len(a.known) {
		if taken, err := a.take(d, list, a.known[i]); taken || err != nil {
			return err
		}
	}
	if d.Type() != jsonscan.Object { // where the text of another value ends, what is behind it says
		a.known, a.keeps, a.fresh = nil, false, nil
	}
	if !a.keeps {
		return read()
	}
	from, had, items := d.r.Offset(), len(*list), d.items
	d.notes, d.noting = nil, true
	err := read()
	d.noting = false
	a.fresh = append(a.fresh, recall.Element[T]{Text: d.r.Since(from), Values: (*list)[had:], Items: d.items - items, Notes: d.notes})
	a.order = append(a.order, nil)
	return err
}

// find looks up the array at whose first element the reader stands.
func (a *array[T]) find(d *Decoder, kind string) {
	d.texts.pieces(maxPiece)
	beginning := d.ahead(keyElements)
	if beginning == nil {
		return
	}
	if d.owner == nil {
		o := recall.OwnerOf(d.header)
		d.owner = &o
	}
	a.key = d.memory.Key(*d.owner, kind, beginning)
	a.known, a.keeps = recall.Find[T](d.memory, a.key)
	if len(a.known) > 0 {
		d.texts.pieces(restPiece) // of the body little is left to keep
		a.order = make([]*recall.Element[T], 0, len(a.known)+8)
	}
}

// ahead returns the text of the next n elements of an array before they are read; nil where there are fewer.
func (d *Decoder) ahead(n int) []byte {
	from := d.r.Offset()
	at := from
	for i := range n {
		if i > 0 {
			at += len(d.body[at:]) - len(bytes.TrimLeft(d.body[at:], " \t\r\n"))
			if at == len(d.body) || d.body[at] != ',' {
				return nil
			}
			at++
		}
		r := jsonscan.NewReader(d.body[at:])
		if _, err := r.Raw(); err != nil {
			return nil
		}
		at += r.Offset()
	}
	return d.body[from:at]
}

// take takes e over where the next element is the same. It is not where that is more than a body may have, so that the
// place at which it is too much is found.
func (a *array[T]) take(d *Decoder, list *[]T, e *recall.Element[T]) (taken bool, err error) {
	from := d.r.Offset()
	if d.items+e.Items > maxItems || !d.r.Pass(e.Text) {
		return false, nil
	}
	if err := d.valid(from); err != nil {
		return false, err
	}
	d.checked = d.r.Offset()
	d.items += e.Items
	d.texts.left -= len(e.Text)
	for _, n := range e.Notes {
		d.Ignore(n)
	}
	*list = append(*list, e.Values...)
	a.order = append(a.order, e)
	return true, nil
}

// keep remembers the array. The body must be valid.
func (a *array[T]) keep(m *recall.Memory) { recall.Put(m, a.key, a.order, a.fresh, a.own) }
