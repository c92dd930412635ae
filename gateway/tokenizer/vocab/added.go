package vocab

import (
	"unicode/utf8"

	"github.com/weirgate/weir/gateway/tokenizer/internal/ucd"
)

// addedSet finds added tokens in text.
type addedSet struct {
	trie  trie
	flags map[uint32]Added // of those with a condition or a strip
}

// put adds a token as text, which is its own or that after normalization.
func (a *addedSet) put(t Added, text string) {
	a.trie.put(text, t.ID)
	if t.SingleWord || t.LeftStrip || t.RightStrip {
		if a.flags == nil {
			a.flags = make(map[uint32]Added)
		}
		a.flags[t.ID] = t
	}
}

// find returns the leftmost, longest token of s from at on with the white space that it takes, no more
// of it before than to floor; id is NoToken if there is none. The search goes on at next.
func (a *addedSet) find(s string, at, floor int, b *ban) (id uint32, start, end, next int) {
	for i := a.trie.candidate(s, at); i < len(s); i = a.trie.candidate(s, i) {
		id, n := a.trie.match(s, i, b)
		if n == 0 {
			i++
			continue
		}
		start, end := i, i+n
		if f, ok := a.flags[id]; ok {
			if f.SingleWord && (wordBefore(s[:start]) || wordAfter(s[end:])) {
				i = end
				continue
			}
			if f.LeftStrip {
				start = max(spaceBefore(s, start), floor)
			}
			if f.RightStrip {
				end = spaceAfter(s, end)
			}
		}
		return id, start, end, i + n
	}
	return NoToken, len(s), len(s), len(s)
}

// isWord reports a word character; the two joiners without width are some.
func isWord(r rune) bool { return ucd.ClassOf(r).Word() || r == '\u200c' || r == '\u200d' }

func wordBefore(s string) bool {
	r, n := utf8.DecodeLastRuneInString(s)
	return n > 0 && isWord(r)
}

func wordAfter(s string) bool {
	r, n := utf8.DecodeRuneInString(s)
	return n > 0 && isWord(r)
}

func spaceBefore(s string, i int) int {
	for i > 0 {
		r, n := utf8.DecodeLastRuneInString(s[:i])
		if !ucd.ClassOf(r).Space() {
			break
		}
		i -= n
	}
	return i
}

func spaceAfter(s string, i int) int {
	for i < len(s) {
		r, n := utf8.DecodeRuneInString(s[i:])
		if !ucd.ClassOf(r).Space() {
			break
		}
		i += n
	}
	return i
}
