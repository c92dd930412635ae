package wire

import (
	"strings"
	"unsafe"
)

const (
	// maxPiece is the most memory that texts share, in bytes. Most bodies are smaller: one piece holds their texts.
	maxPiece = 256 << 10
	// firstPiece is that while it is not known how much of a body needs to be kept, restPiece where little does.
	firstPiece = 1 << 10
	restPiece  = 16 << 10
	// longText is what a text without escapes is longer than that has memory of its own.
	longText = maxPiece / 4
)

// texts holds what is kept of a body. Texts share memory: a request is made of many names, ids and lines, and all
// of them live as long as it does.
type texts struct {
	piece []byte // what was kept of the last piece of memory; the rest is free
	left  int    // bytes of the body that no memory was taken for
	most  int    // bytes of the next piece
}

// room is where the next text can be written before its length is known, so that it is not copied again. What is
// written there is kept by written, or is lost with the next call.
func (t *texts) room() []byte {
	if len(t.piece) == cap(t.piece) {
		t.grow(1)
	}
	return t.piece[len(t.piece):]
}

// pieces has the next pieces be of at most so many bytes. The first one, which is small, has no room for a text that is
// written, and would be outgrown by it.
func (t *texts) pieces(most int) {
	if t.most == firstPiece {
		t.piece = nil
	}
	t.most = most
}

// grow takes another piece for a text of n bytes and others.
func (t *texts) grow(n int) {
	n = max(n, min(t.left, t.most))
	t.left -= n
	t.piece = unclear(n)
}

// written keeps b, which was appended to room, as a string. It may have been moved for want of room.
func (t *texts) written(b []byte) string {
	if room := cap(t.piece) - len(t.piece); len(b) > room {
		t.left -= len(b) - room
		t.piece = nil // it would move the next texts, too
	} else {
		t.piece = t.piece[:len(t.piece)+len(b)]
	}
	return text(b)
}

// keep returns a copy of b.
func (t *texts) keep(b []byte) []byte {
	switch {
	case len(b) == 0:
		return nil
	case len(b) > longText:
		t.left -= len(b)
		return append([]byte(nil), b...)
	case len(b) > cap(t.piece)-len(t.piece):
		t.grow(len(b))
	}
	at := len(t.piece)
	t.piece = append(t.piece, b...)
	return t.piece[at:len(t.piece):len(t.piece)]
}

// text is b as a string without a copy: no memory of texts is written twice.
func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// unclear takes memory of n bytes that is not cleared, as only the strings package gives it: all of a piece is
// written before it is read, and clearing it first would cost a tenth of what decoding does.
func unclear(n int) []byte {
	var b strings.Builder
	b.Grow(n)
	b.WriteByte(0) // the address of no bytes is nothing to rely on
	return unsafe.Slice(unsafe.StringData(b.String()), b.Cap())[:0]
}
