package hf

import "unicode/utf8"

// byteOf returns the byte that a character of byte-level vocabularies stands for: printable characters of
// Latin-1 are themselves, the other bytes follow in order from U+0100.
func byteOf(r rune) (byte, bool) {
	switch {
	case r >= '!' && r <= '~', r >= 0xa1 && r <= 0xac, r >= 0xae && r <= 0xff:
		return byte(r), true
	case r >= 0x100 && r <= 0x120:
		return byte(r - 0x100), true
	case r >= 0x121 && r <= 0x142:
		return byte(r - 0x121 + 0x7f), true
	case r == 0x143:
		return 0xad, true
	}
	return 0, false
}

// FromAlphabet returns the bytes that a token's characters stand for; a token with any other character
// stands for itself, and ok is false.
func FromAlphabet(token string) (text string, ok bool) {
	ascii := true
	for i := 0; i < len(token) && ascii; i++ {
		ascii = token[i] >= '!' && token[i] <= '~'
	}
	if ascii {
		return token, true
	}
	out := make([]byte, 0, utf8.RuneCountInString(token))
	for _, r := range token {
		b, ok := byteOf(r)
		if !ok {
			return token, false
		}
		out = append(out, b)
	}
	return string(out), true
}
