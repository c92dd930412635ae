package vocab

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// decoding is a compiled decoder: what to do with each token, how bytes become text, and what to do with
// that.
type decoding struct {
	blanks   bool   // no decoder: tokens stand between blanks
	before   []Step // of each token
	bytes    bool   // tokens are bytes
	fallback bool   // tokens <0xHH> are
	after    []Step // of each token, once bytes are text
	suffix   string
	fused    *Step // Strip of the text as a whole
}

func newDecoding(steps []Step) (decoding, error) {
	d := decoding{blanks: len(steps) == 0}
	fuse := false
	for i, s := range steps {
		bad := false
		switch s.Kind {
		case Bytes:
			bad = d.bytes || d.fallback || fuse
			d.bytes = true
		case ByteFallback:
			bad = d.bytes || d.fallback || fuse
			d.fallback = true
		case Fuse:
			fuse = true
		case Strip:
			if fuse {
				bad = d.fused != nil || s.Stop > 0
				d.fused = &steps[i]
				break
			}
			d.add(s)
		case Replace:
			bad = fuse || s.Regex || s.Text == ""
			d.add(s)
		case Metaspace, Continue:
			bad = fuse || s.Text == ""
			d.add(s)
		case Suffix:
			bad = fuse || d.suffix != "" || s.Text == ""
			d.suffix = s.Text
		default:
			bad = true
		}
		if bad {
			return d, fmt.Errorf("%w: decoder %d does not fit those before it", ErrVocabulary, i)
		}
	}
	return d, nil
}

func (d *decoding) add(s Step) {
	if d.bytes || d.fallback {
		d.after = append(d.after, s)
	} else {
		d.before = append(d.before, s)
	}
}

// Stream decodes ids as they come. Text is held back until its characters are whole.
type Stream struct {
	t        *Tokenizer
	skip     bool
	whole    bool   // bytes in a row are text together, or not at all
	seen     int    // tokens
	emitted  int    // texts
	stripped int    // of the whole text's start
	content  bool   // the whole text has begun
	blank    bool   // a blank comes before the next token
	held     []byte // bytes that are no whole characters yet
}

// Stream returns a decoder. With skipSpecial control tokens give no text. Where a vocabulary spells rare
// characters in bytes, bytes that are no character give a U+FFFD each as soon as that is known.
func (t *Tokenizer) Stream(skipSpecial bool) *Stream { return &Stream{t: t, skip: skipSpecial} }

// Decode appends the text of ids to dst. Ids that are no tokens give no text. Of tokens for single bytes
// in a row all or none become characters, as in the reference implementation.
func (t *Tokenizer) Decode(dst []byte, ids []uint32, skipSpecial bool) []byte {
	s := Stream{t: t, skip: skipSpecial, whole: true}
	for _, id := range ids {
		dst = s.Append(dst, id)
	}
	return s.Flush(dst)
}

// Append appends to dst what id completes.
func (s *Stream) Append(dst []byte, id uint32) []byte {
	text, ok := s.t.Token(id)
	if !ok || s.skip && s.t.special.has(id) {
		return dst
	}
	d := &s.t.decode
	if s.blank || d.blanks && s.seen > 0 {
		dst = append(dst, ' ')
		s.blank = false
	}
	for i := range d.before {
		text = apply(&d.before[i], text, s.seen)
	}
	s.seen++
	if d.suffix != "" {
		if head, ok := strings.CutSuffix(text, d.suffix); ok {
			text, s.blank = head, true
		}
		text = strings.ReplaceAll(text, d.suffix, " ")
	}
	switch {
	case d.bytes:
		s.held = append(s.held, text...)
		return s.characters(dst, false)
	case d.fallback:
		if b, ok := byteToken(text); ok {
			s.held = append(s.held, b)
			if !s.whole {
				dst = s.characters(dst, false)
			}
			return dst
		}
		dst = s.flushHeld(dst)
	}
	return s.emit(dst, text)
}

// Flush appends what was held back, and ends the text.
func (s *Stream) Flush(dst []byte) []byte {
	dst = s.flushHeld(dst)
	*s = Stream{t: s.t, skip: s.skip, whole: s.whole, held: s.held[:0]}
	return dst
}

func (s *Stream) flushHeld(dst []byte) []byte {
	if len(s.held) == 0 {
		return dst
	}
	if !s.whole || s.t.decode.bytes {
		return s.characters(dst, true)
	}
	if utf8.Valid(s.held) {
		dst = s.emit(dst, string(s.held))
	} else {
		for range s.held {
			dst = s.emit(dst, "\uFFFD")
		}
	}
	s.held = s.held[:0]
	return dst
}

// characters emits the whole characters that are held, and with all the rest too.
func (s *Stream) characters(dst []byte, all bool) []byte {
	b := s.held
	from := 0
	for from < len(b) {
		end := from
		for end < len(b) {
			r, n := utf8.DecodeRune(b[end:])
			if r == utf8.RuneError && n == 1 {
				break
			}
			end += n
		}
		if end > from {
			dst = s.emit(dst, view(b[from:end]))
			from = end
			continue
		}
		n, more := broken(b[from:])
		if more && !all {
			break
		}
		if !s.t.decode.bytes {
			n = 1
		}
		dst = s.emit(dst, "\uFFFD")
		from += n
	}
	s.held = b[:copy(b, b[from:])]
	return dst
}

// broken returns how many bytes at the start of b, which are no character, are replaced by one U+FFFD:
// as many as could begin one. more: they are all of b, and could still become one.
func broken(b []byte) (n int, more bool) {
	lo, hi, need := byte(0x80), byte(0xbf), 0
	switch c := b[0]; {
	case c >= 0xc2 && c <= 0xdf:
		need = 1
	case c >= 0xe0 && c <= 0xef:
		need = 2
	case c >= 0xf0 && c <= 0xf4:
		need = 3
	}
	switch b[0] { // what would be too long, a surrogate or beyond the last code point
	case 0xe0:
		lo = 0xa0
	case 0xed:
		hi = 0x9f
	case 0xf0:
		lo = 0x90
	case 0xf4:
		hi = 0x8f
	}
	for n = 1; n <= need; n++ {
		if n == len(b) {
			return n, true
		}
		if b[n] < lo || b[n] > hi {
			return n, false
		}
		lo, hi = 0x80, 0xbf
	}
	return 1, false
}

// emit appends a text after the last steps.
func (s *Stream) emit(dst []byte, text string) []byte {
	d := &s.t.decode
	for i := range d.after {
		text = apply(&d.after[i], text, s.emitted)
	}
	s.emitted++
	if d.fused != nil && !s.content {
		for s.stripped < d.fused.Start && d.fused.Text != "" && strings.HasPrefix(text, d.fused.Text) {
			text = text[len(d.fused.Text):]
			s.stripped++
		}
		s.content = text != ""
	}
	return append(dst, text...)
}

// byteToken returns the byte that a token of the form <0xHH> stands for.
func byteToken(text string) (byte, bool) {
	if len(text) != 6 || text[:3] != "<0x" || text[5] != '>' {
		return 0, false
	}
	v, err := strconv.ParseUint(text[3:5], 16, 8)
	return byte(v), err == nil
}

// apply does a step that looks at one token; index counts the tokens.
func apply(s *Step, text string, index int) string {
	switch s.Kind {
	case Replace:
		return strings.ReplaceAll(text, s.Text, s.With)
	case Metaspace:
		if index == 0 && s.Scheme != Never {
			return strings.ReplaceAll(text, s.Text, "")
		}
		return strings.ReplaceAll(text, s.Text, " ")
	case Strip:
		for range s.Start {
			text = strings.TrimPrefix(text, s.Text)
		}
		for range s.Stop {
			text = strings.TrimSuffix(text, s.Text)
		}
	case Continue:
		if index > 0 {
			if rest, ok := strings.CutPrefix(text, s.Text); ok {
				text = rest
			} else {
				text = " " + text
			}
		}
		if s.Flag {
			text = cleanUp(text)
		}
	}
	return text
}

// cleanUp takes back blanks that English has none of.
func cleanUp(s string) string {
	for _, c := range [...][2]string{
		{" .", "."},
		{" ?", "?"},
		{" !", "!"},
		{" ,", ","},
		{" ' ", "'"},
		{" n't", "n't"},
		{" 'm", "'m"},
		{" do not", " don't"},
		{" 's", "'s"},
		{" 've", "'ve"},
		{" 're", "'re"},
	} {
		s = strings.ReplaceAll(s, c[0], c[1])
	}
	return s
}
