package split

import (
	"strings"
	"unicode/utf8"

	"github.com/weirgate/weir/gateway/tokenizer/internal/ucd"
)

// The pieces that the known patterns are made of.
const (
	reShort  = `(?i:'s|'t|'re|'ve|'m|'ll|'d)`
	reBlanks = `|\s*[\r\n]+|\s+(?!\S)|\s+`

	reGPT2 = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

	reWordsA = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+` + reShort + `?` +
		`|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*` + reShort + `?`
	reWordsHan = `[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+` + reShort + `?` +
		`|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*` + reShort + `?`

	// DeepSeek cuts with three patterns, each within the pieces of the one before.
	reDeepSeekDigits = `\p{N}{1,3}`
	reDeepSeekCJK    = "[一-龥぀-ゟ゠-ヿ]+"
	reDeepSeek       = "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*" + reBlanks
)

// canonical spells the line ends of a pattern in one way.
func canonical(pattern string) string {
	return strings.NewReplacer("\r", `\r`, "\n", `\n`).Replace(pattern)
}

// known returns the hand-written scanner of a pattern, nil if there is none.
func known(pattern string) func(s string, i int) int {
	pattern = canonical(pattern)
	if pattern == reGPT2 {
		return gpt2
	}
	head, ok := strings.CutSuffix(pattern, reBlanks)
	if !ok {
		return nil
	}
	switch head {
	case reShort + `|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*`:
		return words(1, false)
	case reShort + `|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*`:
		return words(3, false)
	case reShort + `|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*`:
		return words(1, true)
	case reWordsA + `|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*`:
		return casedWords(3, '/', false)
	case reWordsA + `|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*`:
		return casedWords(1, '/', false)
	case reWordsHan + `|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*`:
		return casedWords(3, 0, true)
	}
	return nil
}

// gpt2 is reGPT2.
func gpt2(s string, i int) int {
	if s[i] == '\'' && i+1 < len(s) && s[i+1] >= 'a' {
		if end := contraction(s, i); end > i && s[end-1] >= 'a' && s[end-1] < utf8.RuneSelf {
			return end
		}
	}
	f, n := at(s, i)
	from := i
	if s[i] == ' ' {
		if g, m := at(s, i+1); m > 0 && g&fSpace == 0 {
			f, n, from = g, m, i+1
		}
	}
	switch {
	case f&fLetter != 0:
		return runOf(s, from+n, fLetter)
	case f&fNumber != 0:
		return runOf(s, from+n, fNumber)
	case f&fSpace == 0:
		return runNot(s, from+n, fSpace|fLetter|fNumber)
	}
	end, last := from, from
	for end < len(s) {
		g, m := at(s, end)
		if g&fSpace == 0 {
			break
		}
		last, end = end, end+m
	}
	if end == len(s) || last == from {
		return end
	}
	return last
}

// words scans the patterns that take a word with the character before it, digits in groups of limit.
// With marks these are letters.
func words(limit int, marks bool) func(s string, i int) int {
	letter := fLetter
	if marks {
		letter |= fMark
	}
	return func(s string, i int) int {
		if s[i] == '\'' {
			if end := contraction(s, i); end > i {
				return end
			}
		}
		f, n := at(s, i)
		switch {
		case f&letter != 0:
			return runOf(s, i+n, letter)
		case f&fNumber != 0:
			return numbers(s, i+n, limit-1)
		case f&fLine != 0:
			return blanks(s, i, len(s))
		}
		next, m := at(s, i+n)
		switch {
		case next&letter != 0:
			return runOf(s, i+n+m, letter)
		case f&fSpace == 0:
			return lineEnds(s, runNot(s, i+n, fSpace|letter|fNumber), 0)
		case s[i] == ' ' && m > 0 && next&(fSpace|fNumber) == 0:
			return lineEnds(s, runNot(s, i+n+m, fSpace|letter|fNumber), 0)
		}
		return blanks(s, i, len(s))
	}
}

// casedWords scans the patterns that also cut words where the case changes. Punctuation takes the line
// ends and slash characters behind it; with han Chinese characters are words of their own.
func casedWords(limit int, slash byte, han bool) func(s string, i int) int {
	return func(s string, i int) int {
		f, n := at(s, i)
		if han && n > 1 && isHan(s, i) {
			end := i + n
			for isHan(s, end) {
				_, m := at(s, end)
				end += m
			}
			return end
		}
		if f&(fLetter|fUpper) != 0 || f&(fNumber|fLine) == 0 {
			if end := casedWord(s, i, f, n, han); end > i {
				return contraction(s, end)
			}
		}
		switch {
		case f&fNumber != 0:
			return numbers(s, i+n, limit-1)
		case f&fSpace == 0:
			return lineEnds(s, runNot(s, i+n, fSpace|fLetter|fNumber), slash)
		case s[i] == ' ':
			if next, m := at(s, i+n); m > 0 && next&(fSpace|fLetter|fNumber) == 0 {
				return lineEnds(s, runNot(s, i+n+m, fSpace|fLetter|fNumber), slash)
			}
		}
		return blanks(s, i, len(s))
	}
}

func isHan(s string, i int) bool {
	if i >= len(s) || s[i] < 0xe2 { // U+2E80 is the first one
		return false
	}
	r, _ := utf8.DecodeRuneInString(s[i:])
	return ucd.ClassOf(r).Han()
}

// casedWord tries, at the character of flags f and length n at i: capitals and then small letters, with
// and without a character before the word, then capitals alone, likewise. It returns i if none fits.
func casedWord(s string, i int, f flags, n int, han bool) int {
	mayLead, mayStart := f&(fLetter|fNumber|fLine) == 0, f&(fUpper|fLower) != 0
	ledCapitals, ledEnd, capitals, end := 0, -1, 0, -1
	if mayLead {
		if ledCapitals, ledEnd = cased(s, i+n, han); ledEnd > 0 {
			return ledEnd
		}
	}
	if mayStart {
		if capitals, end = cased(s, i, han); end > 0 {
			return end
		}
	}
	switch {
	case mayLead && ledCapitals > i+n:
		return ledCapitals
	case mayStart && capitals > i:
		return capitals
	}
	return i
}

// cased returns the end of the capitals at i and that of the capitals followed by at least one small
// letter, -1 if there is none. Letters without case are both.
func cased(s string, i int, han bool) (capitals, end int) {
	both := -1
	for i < len(s) {
		if c := s[i]; c < utf8.RuneSelf { // no ASCII letter is both
			if asciiFlags[c]&fUpper == 0 {
				break
			}
			i++
			continue
		}
		f, n := wide(s[i:])
		if f&fUpper == 0 || han && isHan(s, i) {
			break
		}
		if i += n; f&fLower != 0 {
			both = i
		}
	}
	end = i
	for end < len(s) {
		if c := s[end]; c < utf8.RuneSelf {
			if asciiFlags[c]&fLower == 0 {
				break
			}
			end++
			continue
		}
		f, n := wide(s[end:])
		if f&fLower == 0 || han && isHan(s, end) {
			break
		}
		end += n
	}
	if end > i {
		return i, end
	}
	return i, both
}
