package split

import "unicode/utf8"

// Fuse returns one pattern that cuts as the given ones do in a row, each within the pieces of the one
// before and all with what they do not match as pieces too; nil if it knows none.
func Fuse(ps []*Pattern) *Pattern {
	if len(ps) == 3 && ps[0].source == reDeepSeekDigits && ps[1].source == reDeepSeekCJK && canonical(ps[2].source) == reDeepSeek {
		return &Pattern{source: ps[0].source + " / " + ps[1].source + " / " + ps[2].source, scan: deepSeek}
	}
	return nil
}

// isCJK reports whether a character of reDeepSeekCJK stands at i.
func isCJK(s string, i int) bool {
	if s[i] < 0xe3 || s[i] > 0xe9 {
		return false
	}
	r, _ := utf8.DecodeRuneInString(s[i:])
	return r >= 0x4e00 && r <= 0x9fa5 || r >= 0x3040 && r <= 0x30ff
}

// inner is at, with numbers and CJK characters as the end of the text: the patterns before have taken
// them.
func inner(s string, i int) (flags, int) {
	if i >= len(s) {
		return 0, 0
	}
	f, n := flags(0), 1
	if c := s[i]; c < utf8.RuneSelf {
		f = asciiFlags[c]
	} else if isCJK(s, i) {
		return 0, 0
	} else {
		f, n = wide(s[i:])
	}
	if f&fNumber != 0 {
		return 0, 0
	}
	return f, n
}

func innerRun(s string, i int, want flags) int {
	for {
		if i < len(s) && s[i] < utf8.RuneSelf {
			if asciiFlags[s[i]]&want == 0 { // numbers have none of the flags asked for
				return i
			}
			i++
			continue
		}
		f, n := inner(s, i)
		if f&want == 0 {
			return i
		}
		i += n
	}
}

func asciiWord(s string, i int) int {
	for i < len(s) && s[i]|0x20 >= 'a' && s[i]|0x20 <= 'z' {
		i++
	}
	return i
}

// deepSeek scans the three patterns at once.
func deepSeek(s string, i int) int {
	f, n := inner(s, i)
	if n == 0 {
		if !isCJK(s, i) {
			return numbers(s, i, 3)
		}
		return deepSeekCJK(s, i)
	}
	if f&fSign != 0 && n == 1 {
		if end := asciiWord(s, i+1); end > i+1 {
			return end
		}
	}
	if f&(fLetter|fMark) != 0 {
		return innerRun(s, i+n, fLetter|fMark)
	}
	if f&(fLine|fSign) == 0 {
		if end := innerRun(s, i+n, fLetter|fMark); end > i+n {
			return end
		}
	}
	from := i
	if s[i] == ' ' {
		from++
	}
	if end := innerRun(s, from, fSign); end > from {
		return lineEnds(s, end, 0)
	}
	if f&fSpace == 0 {
		return -1
	}
	limit := innerRun(s, i, fSpace)
	if _, n := inner(s, limit); n > 0 {
		limit = len(s)
	}
	return blanks(s, i, limit)
}

// deepSeekCJK scans within characters of reDeepSeekCJK: most are letters, some are signs, marks or not
// assigned.
func deepSeekCJK(s string, i int) int {
	runIn := func(i int, want flags) int {
		for i < len(s) && isCJK(s, i) {
			if f, _ := wide(s[i:]); f&want == 0 {
				break
			}
			i += 3
		}
		return i
	}
	if end := runIn(i, fSign); end > i {
		return end
	}
	if end := runIn(i, fLetter|fMark); end > i {
		return end
	}
	if end := runIn(i+3, fLetter|fMark); end > i+3 {
		return end
	}
	// Nothing matches: it stays a piece up to where something does.
	end := i + 3
	for end < len(s) && isCJK(s, end) {
		f, _ := wide(s[end:])
		if f != 0 || runIn(end+3, fLetter|fMark) > end+3 {
			break
		}
		end += 3
	}
	return end
}
