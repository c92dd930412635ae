package vocab

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
	"unsafe"

	"github.com/weirgate/weir/gateway/tokenizer/internal/ucd"
	"github.com/weirgate/weir/gateway/tokenizer/split"
)

// view is b as a string without a copy. It holds as long as nobody writes into b.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// change is a compiled step that rewrites text: it appends s rewritten to dst, or reports that s stays.
type change func(dst []byte, s string) (out []byte, changed bool)

// changes compiles the steps of a normalizer.
func changes(steps []Step) ([]change, error) {
	var out []change
	for i, s := range steps {
		c, err := newChange(s)
		if err != nil {
			return nil, fmt.Errorf("normalizer %d: %w", i, err)
		}
		out = append(out, c)
	}
	return out, nil
}

func newChange(s Step) (change, error) {
	switch s.Kind {
	case NFC, NFD, NFKC, NFKD:
		return normalForm(ucd.Form(s.Kind - NFC)), nil
	case Replace:
		return replaceAll(s)
	case Prepend:
		return func(dst []byte, text string) ([]byte, bool) {
			return append(append(dst, s.Text...), text...), s.Text != "" && text != ""
		}, nil
	case StripSpace:
		return func(dst []byte, text string) ([]byte, bool) {
			from, to := 0, len(text)
			if s.Start != 0 {
				from = spaceAfter(text, 0)
			}
			if s.Stop != 0 {
				to = max(from, spaceBefore(text, to))
			}
			return append(dst, text[from:to]...), to-from != len(text)
		}, nil
	case Lowercase:
		return mapRunes(lower), nil
	case StripAccents:
		marks := uint32(ucd.Mark)
		if s.Flag {
			marks = 1 << ucd.Mn
		}
		return mapRunes(func(dst []byte, r rune) []byte {
			if ucd.ClassOf(r).Is(marks) {
				return dst
			}
			return utf8.AppendRune(dst, r)
		}), nil
	case CleanText:
		return mapRunes(clean), nil
	case SpaceChinese:
		return mapRunes(func(dst []byte, r rune) []byte {
			if isChinese(r) {
				return append(utf8.AppendRune(append(dst, ' '), r), ' ')
			}
			return utf8.AppendRune(dst, r)
		}), nil
	}
	return nil, fmt.Errorf("%w: step %d does not normalize", ErrVocabulary, s.Kind)
}

func normalForm(form ucd.Form) change {
	n := ucd.NewNormalizer(form)
	return func(dst []byte, s string) ([]byte, bool) {
		if n.Normal(s) {
			return dst, false
		}
		return n.Append(dst, s), true
	}
}

// mapRunes changes text character by character.
func mapRunes(to func(dst []byte, r rune) []byte) change {
	return func(dst []byte, s string) ([]byte, bool) {
		from := len(dst)
		for _, r := range s {
			dst = to(dst, r)
		}
		return dst, string(dst[from:]) != s
	}
}

func replaceAll(s Step) (change, error) {
	m, err := newMatcher(s)
	if err != nil {
		return nil, err
	}
	if len(s.Text) == 1 && !s.Regex {
		return func(dst []byte, text string) ([]byte, bool) { return replaceByte(dst, text, s.Text[0], s.With) }, nil
	}
	return func(dst []byte, text string) ([]byte, bool) {
		start, end := m.Next(text, 0)
		if start == end {
			return dst, false
		}
		from := 0
		for start < end {
			dst = append(append(dst, text[from:start]...), s.With...)
			from = end
			start, end = m.Next(text, from)
		}
		return append(dst, text[from:]...), true
	}, nil
}

func replaceByte(dst []byte, s string, old byte, with string) ([]byte, bool) {
	if strings.IndexByte(s, old) < 0 {
		return dst, false
	}
	for {
		i := strings.IndexByte(s, old)
		if i < 0 {
			return append(dst, s...), true
		}
		dst = append(append(dst, s[:i]...), with...)
		s = s[i+1:]
	}
}

// matcher finds where text is cut or replaced.
type matcher interface {
	// Next returns the leftmost match at or after from; start == end: there is none.
	Next(s string, from int) (start, end int)
}

// literal matches one text.
type literal string

func (l literal) Next(s string, from int) (start, end int) {
	i := strings.Index(s[from:], string(l))
	if i < 0 {
		return len(s), len(s)
	}
	return from + i, from + i + len(l)
}

func newMatcher(s Step) (matcher, error) {
	if s.Text == "" {
		return nil, fmt.Errorf("%w: nothing to look for", ErrVocabulary)
	}
	if !s.Regex {
		return literal(s.Text), nil
	}
	dialect := split.Oniguruma
	if s.Fancy {
		dialect = split.Fancy
	}
	return split.Compile(s.Text, dialect)
}

// lower is the full mapping of one character in Unicode 16.0; package unicode may have an older version.
func lower(dst []byte, r rune) []byte {
	switch {
	case r == 'İ':
		return append(dst, "i̇"...)
	case r == 0xa7cb:
		r = 0x264
	case r == 0xa7dc:
		r = 0x19b
	case r == 0x1c89, r == 0xa7cc, r == 0xa7da:
		r++
	case r >= 0x10d50 && r <= 0x10d65:
		r += 0x20
	default:
		r = unicode.ToLower(r)
	}
	return utf8.AppendRune(dst, r)
}

// clean drops what cannot be seen and makes white space blanks, as BERT does.
func clean(dst []byte, r rune) []byte {
	c := ucd.ClassOf(r)
	switch {
	case r == '\t' || r == '\n' || r == '\r':
		return append(dst, ' ')
	case r == 0 || r == utf8.RuneError || c.Is(1<<ucd.Cc|1<<ucd.Cf|1<<ucd.Co):
		return dst
	case c.Space():
		return append(dst, ' ')
	}
	return utf8.AppendRune(dst, r)
}

// isChinese is BERT's idea of a Chinese character.
func isChinese(r rune) bool {
	return r >= 0x4e00 && r <= 0x9fff || r >= 0x3400 && r <= 0x4dbf || r >= 0x20000 && r <= 0x2a6df || r >= 0x2a700 && r <= 0x2b73f ||
		r >= 0x2b740 && r <= 0x2b81f || r >= 0x2b920 && r <= 0x2ceaf || r >= 0xf900 && r <= 0xfaff || r >= 0x2f800 && r <= 0x2fa1f
}
