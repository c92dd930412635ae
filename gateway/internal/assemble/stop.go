package assemble

import "strings"

// stops finds the first of several strings in text that comes in pieces. It holds what may still become
// one, always less than the longest. Each string has a matcher of Knuth, Morris and Pratt, so that text
// costs one amortised step a byte and string.
type stops struct {
	words []stopWord
	first *[256]bool
	busy  bool // some word is partly matched
	buf   []byte
	keep  int // of buf: where the held bytes begin
}

type stopWord struct {
	text string
	fail []int // the longest proper prefix of text[:i+1] that is its suffix
	at   int   // bytes matched
}

func (s *stops) init(words []string) {
	for _, w := range words {
		if w == "" {
			continue
		}
		if s.first == nil {
			s.first = new([256]bool)
		}
		fail := make([]int, len(w))
		for i, k := 1, 0; i < len(w); i++ {
			for k > 0 && w[i] != w[k] {
				k = fail[k-1]
			}
			if w[i] == w[k] {
				k++
			}
			fail[i] = k
		}
		s.words = append(s.words, stopWord{text: strings.Clone(w), fail: fail})
		s.first[w[0]] = true
	}
}

func (s *stops) any() bool { return len(s.words) > 0 }

func (w *stopWord) step(c byte) bool {
	for w.at > 0 && w.text[w.at] != c {
		w.at = w.fail[w.at-1]
	}
	if w.text[w.at] == c {
		w.at++
	}
	return w.at == len(w.text)
}

// feed returns the text that is free of stops, valid until the next call, and the word that was completed
// first (the longest, if several were), or -1.
func (s *stops) feed(b []byte) (free []byte, match int) {
	if !s.busy {
		i := 0
		for i < len(b) && !s.first[b[i]] {
			i++
		}
		if i == len(b) {
			return b, -1
		}
	}
	s.buf = s.buf[:copy(s.buf, s.buf[s.keep:])]
	scan := len(s.buf)
	s.buf, s.keep = append(s.buf, b...), 0
	for ; scan < len(s.buf); scan++ {
		match = -1
		for i := range s.words {
			if s.words[i].step(s.buf[scan]) && (match < 0 || len(s.words[i].text) > len(s.words[match].text)) {
				match = i
			}
		}
		if match >= 0 {
			free = s.buf[:scan+1-len(s.words[match].text)]
			s.reset()
			return free, match
		}
	}
	hold := 0
	for i := range s.words {
		hold = max(hold, s.words[i].at)
	}
	s.busy, s.keep = hold > 0, len(s.buf)-hold
	return s.buf[:s.keep], -1
}

// flush returns what is held and forgets it: no stop goes across blocks.
func (s *stops) flush() []byte {
	held := s.buf[s.keep:]
	s.reset()
	return held
}

func (s *stops) reset() {
	for i := range s.words {
		s.words[i].at = 0
	}
	s.busy, s.keep, s.buf = false, 0, s.buf[:0]
}
