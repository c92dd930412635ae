package vocab

import (
	"fmt"
	"math"
	"unicode/utf8"
)

// unknownPenalty is what an unknown character scores below the lowest token.
const unknownPenalty = 10

// unigram finds the cut of the highest sum of scores.
type unigram struct {
	trie    trie
	scores  []float64
	unknown uint32
	low     float64     // the score of an unknown character
	bytes   [256]uint32 // the byte tokens, if all are there
	byByte  bool
	words   *words
	table   *table
}

func newUnigram(s *Spec, t *table) (*unigram, error) {
	if len(s.Scores) != len(s.Tokens) {
		return nil, fmt.Errorf("%w: %d scores for %d tokens", ErrVocabulary, len(s.Scores), len(s.Tokens))
	}
	u := &unigram{scores: s.Scores, unknown: s.Unknown, byByte: s.ByteFallback, words: new(words), table: t}
	lowest := math.Inf(1)
	literal := newBitset(len(s.Tokens))
	for _, id := range s.Literal {
		literal.add(id)
	}
	for id, text := range s.Tokens {
		if text == "" || literal.has(uint32(id)) {
			continue
		}
		if math.IsNaN(s.Scores[id]) {
			return nil, fmt.Errorf("%w: token %d has no number as score", ErrVocabulary, id)
		}
		lowest = min(lowest, s.Scores[id])
		if t.get(text) == uint32(id) {
			u.trie.put(text, uint32(id))
		}
	}
	u.low = lowest - unknownPenalty
	for c := range u.bytes {
		u.bytes[c] = t.get(fmt.Sprintf("<0x%02X>", c))
		u.byByte = u.byByte && u.bytes[c] != NoToken
	}
	return u, nil
}

// lattice is the working memory of a search.
type lattice struct {
	best []step
	cuts []int
}

// step is the best way to a byte: the token that ends there, and where it starts.
type step struct {
	score float64
	from  int32
	id    uint32
	set   bool
}

func (u *unigram) encode(e *encoder, piece string) {
	h := u.table.hash(piece)
	if ids, ok := u.words.get(h, piece); ok {
		e.ids = append(e.ids, ids...)
		return
	}
	from := len(e.ids)
	u.encodeWithout(e, piece, nil)
	u.words.put(h, piece, e.ids[from:])
}

// makes implements model: it may be any token.
func (*unigram) makes(uint32) bool { return true }

// encodeWithout is encode without the tokens of not.
func (u *unigram) encodeWithout(e *encoder, piece string, not bitset) {
	l := &e.lattice
	l.best = append(l.best[:0], make([]step, len(piece)+1)...)
	best := l.best
	best[0].set = true
	for i := 0; i < len(piece); {
		size := 1
		if piece[i] >= utf8.RuneSelf {
			_, size = utf8.DecodeRuneInString(piece[i:])
		}
		base := best[i].score
		single := false
		w := walker{t: &u.trie}
		for k := i; k < len(piece); k++ {
			end, ok := w.step(piece[k])
			if !ok {
				break
			}
			if end == 0 || not.has(end-1) {
				continue
			}
			single = single || k+1-i == size
			to := &best[k+1]
			if score := base + u.scores[end-1]; !to.set || score > to.score {
				*to = step{score, int32(i), end - 1, true}
			}
		}
		if to := &best[i+size]; !single {
			if score := base + u.low; !to.set || score > to.score {
				*to = step{score, int32(i), NoToken, true}
			}
		}
		i += size
	}
	u.collect(e, piece, l)
}

// collect reads the best way off the lattice. Unknown characters in a row are one.
func (u *unigram) collect(e *encoder, piece string, l *lattice) {
	l.cuts = append(l.cuts[:0], len(piece))
	for at := len(piece); at > 0; {
		at = int(l.best[at].from)
		l.cuts = append(l.cuts, at)
	}
	for k := len(l.cuts) - 1; k > 0; k-- {
		from, to := l.cuts[k], l.cuts[k-1]
		id := l.best[to].id
		if id != NoToken {
			e.ids = append(e.ids, id)
			continue
		}
		if u.byByte {
			for i := from; i < to; i++ {
				e.ids = append(e.ids, u.bytes[piece[i]])
			}
			continue
		}
		last := k < len(l.cuts)-1 && l.best[from].id == NoToken
		if !last && u.unknown != NoToken {
			e.ids = append(e.ids, u.unknown)
		}
	}
}
