package vocab

import "unicode/utf8"

// wordPiece takes the longest token first, and gives up a word that leaves a rest.
type wordPiece struct {
	starts  trie // tokens that begin a word
	inner   trie // tokens within a word, without the prefix
	unknown uint32
	maxWord int
}

func newWordPiece(s *Spec, t *table) *wordPiece {
	w := &wordPiece{unknown: s.Unknown, maxWord: s.MaxWord}
	if w.maxWord <= 0 {
		w.maxWord = wordPieceAt
	}
	for id, text := range s.Tokens {
		if text == "" || t.get(text) != uint32(id) {
			continue
		}
		w.starts.put(text, uint32(id))
		if n := len(s.Continuing); len(text) > n && text[:n] == s.Continuing {
			w.inner.put(text[n:], uint32(id))
		}
	}
	return w
}

func (w *wordPiece) encode(e *encoder, piece string) { w.encodeWithout(e, piece, nil) }

// makes implements model: it may be any token.
func (*wordPiece) makes(uint32) bool { return true }

// encodeWithout is encode without the tokens of not.
func (w *wordPiece) encodeWithout(e *encoder, piece string, not bitset) {
	from := len(e.ids)
	if utf8.RuneCountInString(piece) <= w.maxWord {
		b := ban{ids: not, everywhere: true}
		t := &w.starts
		for i := 0; ; t = &w.inner {
			if i == len(piece) {
				return
			}
			id, n := t.match(piece, i, &b)
			if n == 0 {
				break
			}
			e.ids = append(e.ids, id)
			i += n
		}
	}
	e.ids = e.ids[:from]
	if w.unknown != NoToken {
		e.ids = append(e.ids, w.unknown)
	}
}
