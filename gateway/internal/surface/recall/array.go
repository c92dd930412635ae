package recall

import (
	"slices"
	"unsafe"
)

const (
	// share is the part of a memory that one array may take: a fourth.
	share = 4
	// overhead is about what an array takes beside its elements, in bytes.
	overhead = 320
	// maxBatches is how many pieces an array may lie in.
	maxBatches = 32
)

// Element is an element of an array. One that is remembered is not changed, and shares memory with no body and no
// request but those that took it over.
type Element[T any] struct {
	Text   []byte   // as it stood in the body, UTF-8: an object
	Values []T      // what it was decoded to
	Items  int      // that it counted against the limit of a body
	Notes  []string // what of it has no effect

	bytes int // about what Values and Notes refer to
	batch *batch
}

// batch is the memory of elements that were remembered together. They lie in the order in which they are compared, so that
// the processor fetches ahead: what is compared is mostly in no cache near to it.
type batch struct{ bytes int }

// flat is how much of a batch an element takes.
func (e *Element[T]) flat() int {
	var v T
	return int(unsafe.Sizeof(*e)) + len(e.Text) + len(e.Values)*int(unsafe.Sizeof(v))
}

// Put remembers an array under k, in place of what is there, from its beginning as far as there is room. The elements of
// order are known ones, and nil for those that were decoded, which are the elements of fresh and may refer to the body
// and the request: own copies their values. order is the memory's from then on.
func Put[T any](m *Memory, k Key, order []*Element[T], fresh []Element[T], own func(*Copier, T) T) {
	var batches []*batch
	var last *batch
	live, held, bytes, n := 0, 0, overhead+8*cap(order), 0
	for i, e := range order {
		if e == nil {
			e = &fresh[n]
			e.bytes = len(e.Text) // about as much, as long as it is not copied
			n++
		}
		if bytes+live+e.bytes+e.flat() > m.opt.MaxBytes/share {
			clear(order[i:])
			order = order[:i]
			break
		}
		bytes += e.bytes
		live += e.flat()
		switch b := e.batch; {
		case b == nil:
			held += e.flat()
		case b != last && !slices.Contains(batches, b):
			held += b.bytes
			batches = append(batches, b)
		}
		last = e.batch
	}
	// What lies in many batches becomes one, and what is left of those that hold half as much again: there is no more waste.
	all := held > live+live/2 || len(batches) >= maxBatches
	if !slices.Contains(order, nil) && !all {
		return
	}
	bytes = overhead + 8*cap(order) + pack(order, fresh, all, own)
	if !all {
		for _, b := range batches {
			bytes += b.bytes
		}
	}
	for _, e := range order {
		bytes += e.bytes
	}
	if bytes <= m.opt.MaxBytes/share {
		m.put(k, order, bytes)
	}
}

// pack moves the elements that were decoded, or all, into a batch and returns what that takes.
func pack[T any](order []*Element[T], fresh []Element[T], all bool, own func(*Copier, T) T) (bytes int) {
	n, text, values := 0, 0, 0
	count := func(e *Element[T]) { n, text, values = n+1, text+len(e.Text), values+len(e.Values) }
	decoded := 0
	for _, e := range order {
		switch {
		case e == nil:
			count(&fresh[decoded])
			decoded++
		case all:
			count(e)
		}
	}
	b := &batch{}
	elements, texts, said := make([]Element[T], 0, n), make([]byte, 0, text), make([]T, 0, values)
	decoded = 0
	for i, e := range order {
		if e != nil && !all {
			continue
		}
		var c Copier
		to := Element[T]{batch: b}
		if e == nil {
			e = &fresh[decoded]
			decoded++
			for _, v := range e.Values {
				said = append(said, own(&c, v))
			}
			to.Notes = copied(&c, e.Notes, (*Copier).Text)
			to.bytes = c.bytes
		} else {
			said = append(said, e.Values...)
			to.Notes, to.bytes = e.Notes, e.bytes
		}
		texts = append(texts, e.Text...)
		to.Text, to.Values, to.Items = tail(texts, len(e.Text)), tail(said, len(e.Values)), e.Items
		elements = append(elements, to)
		order[i] = &elements[len(elements)-1]
		b.bytes += to.flat()
	}
	return b.bytes
}

// tail is the last n values of a list. An append to them moves them.
func tail[T any](list []T, n int) []T { return list[len(list)-n : len(list) : len(list)] }
