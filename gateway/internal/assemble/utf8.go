package assemble

import "unicode/utf8"

// repair makes UTF-8 of bytes that may be cut within a character. It holds at most three bytes. Bytes that
// are not UTF-8 become U+FFFD, one for each maximal part of a character, as the Unicode standard advises.
type repair struct {
	n        int
	held     [utf8.UTFMax]byte
	in, out  []byte
	replaced int
}

// feed returns the characters that are whole with b. They are b's own memory or valid until the next call.
func (f *repair) feed(b []byte) []byte {
	if f.n == 0 {
		end := whole(b)
		if utf8.Valid(b[:end]) {
			f.n = copy(f.held[:], b[end:])
			return b[:end]
		}
	}
	f.in = append(append(f.in[:0], f.held[:f.n]...), b...)
	f.n = 0
	f.out = f.out[:0]
	for p := f.in; len(p) > 0; {
		r, size := utf8.DecodeRune(p)
		if r == utf8.RuneError && size == 1 {
			if !utf8.FullRune(p) {
				f.n = copy(f.held[:], p)
				break
			}
			for size < len(p) && !utf8.FullRune(p[:size+1]) {
				size++
			}
			f.out = utf8.AppendRune(f.out, utf8.RuneError)
			f.replaced++
		} else {
			f.out = append(f.out, p[:size]...)
		}
		p = p[size:]
	}
	return f.out
}

// flush returns the replacement of a character that was never completed.
func (f *repair) flush() []byte {
	if f.n == 0 {
		return nil
	}
	f.n = 0
	f.replaced++
	f.out = utf8.AppendRune(f.out[:0], utf8.RuneError)
	return f.out
}

func (f *repair) drop() { f.n = 0 }

// whole is the length of b without a character cut at its end.
func whole(b []byte) int {
	for i := len(b) - 1; i >= 0 && i >= len(b)-utf8.UTFMax+1; i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return i
			}
			break
		}
	}
	return len(b)
}

// repaired returns b as UTF-8 in memory of its own, and how many replacements it took.
func repaired(b []byte) ([]byte, int) {
	var f repair
	out := append([]byte(nil), f.feed(b)...)
	return append(out, f.flush()...), f.replaced
}
