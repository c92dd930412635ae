package config

import (
	"strconv"
	"strings"
)

// text skips a string value of any of the four forms.
func (s *scanner) text() error {
	q := s.s[s.i : s.i+1]
	if strings.HasPrefix(s.s[s.i:], q+q+q) {
		return s.longText(q[0])
	}
	_, err := s.quoted()
	return err
}

// longText skips a multi-line string. Its closer may be preceded by one or two quotes that belong to the
// text, so the longest run of quotes up to five ends it.
func (s *scanner) longText(q byte) error {
	s.i += 3
	for s.i < len(s.s) {
		switch c := s.s[s.i]; {
		case c == '\\' && q == '"':
			s.i++
			if s.i < len(s.s) && s.s[s.i] == '\n' {
				s.line++
			}
		case c == '\n':
			s.line++
		case c == q && strings.HasPrefix(s.s[s.i:], strings.Repeat(string(q), 3)):
			s.i += 3
			for range 2 {
				s.accept(q)
			}
			return nil
		}
		s.i++
	}
	return errSyntax
}

// quoted reads a string on one line and returns its text.
func (s *scanner) quoted() (string, error) {
	q := s.s[s.i]
	start := s.i + 1
	for s.i = start; s.i < len(s.s); s.i++ {
		switch c := s.s[s.i]; {
		case c == q:
			raw := s.s[start:s.i]
			s.i++
			if q == '"' && strings.IndexByte(raw, '\\') >= 0 {
				return unescape(raw), nil
			}
			return raw, nil
		case c == '\n':
			return "", errSyntax
		case c == '\\' && q == '"':
			s.i++
		}
	}
	return "", errSyntax
}

// unescape resolves the escapes of a basic string; one that is not TOML stays as it is, for the library
// to refuse.
func unescape(raw string) string {
	var b strings.Builder
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' || i+1 == len(raw) {
			b.WriteByte(raw[i])
			continue
		}
		i++
		digits := 0
		switch raw[i] {
		case 'b':
			b.WriteByte('\b')
		case 't':
			b.WriteByte('\t')
		case 'n':
			b.WriteByte('\n')
		case 'f':
			b.WriteByte('\f')
		case 'r':
			b.WriteByte('\r')
		case 'e':
			b.WriteByte(0x1b)
		case 'x':
			digits = 2
		case 'u':
			digits = 4
		case 'U':
			digits = 8
		default:
			b.WriteByte(raw[i])
		}
		if digits == 0 {
			continue
		}
		end := min(i+1+digits, len(raw))
		if v, err := strconv.ParseUint(raw[i+1:end], 16, 32); err == nil {
			b.WriteRune(rune(v))
		}
		i = end - 1
	}
	return b.String()
}

// count is a number with its unit, in the plural where it needs one.
func count(n int, unit string) string {
	if n != 1 {
		unit += "s"
	}
	return strconv.Itoa(n) + " " + unit
}
