package wat

import (
	"errors"
	"fmt"
	"strconv"
)

// maxNesting bounds parentheses within parentheses, since reading and encoding them recurses.
const maxNesting = 500

// ErrSyntax is wrapped by every error of Assemble.
var ErrSyntax = errors.New("bad module text")

// node is an atom, a string or a list.
type node struct {
	line int
	kind byte // 'a' atom, 's' string, '(' list
	text string
	list []node
}

func (n node) failf(format string, args ...any) error {
	return fmt.Errorf("%w: line %d: %s", ErrSyntax, n.line, fmt.Sprintf(format, args...))
}

// head is the keyword that opens a list, or nothing.
func (n node) head() string {
	if n.kind == '(' && len(n.list) > 0 && n.list[0].kind == 'a' {
		return n.list[0].text
	}
	return ""
}

// String describes the node in errors.
func (n node) String() string {
	switch n.kind {
	case 'a':
		return n.text
	case 's':
		return strconv.Quote(n.text)
	}
	return "(" + n.head() + " ...)"
}

// scanner reads nodes from text.
type scanner struct {
	src       string
	pos, line int
}

func parse(src string) (node, error) {
	s := &scanner{src: src, line: 1}
	n, err := s.node(0)
	if err != nil {
		return n, err
	}
	if err := s.space(); err != nil {
		return n, err
	}
	if s.pos < len(s.src) {
		return n, s.at().failf("text behind the module")
	}
	return n, nil
}

func (s *scanner) at() node { return node{line: s.line} }

// space passes over white space and comments.
func (s *scanner) space() error {
	for s.pos < len(s.src) {
		rest := s.src[s.pos:]
		switch c := rest[0]; {
		case c == '\n':
			s.line++
			s.pos++
		case c == ' ' || c == '\t' || c == '\r':
			s.pos++
		case c == ';' && len(rest) > 1 && rest[1] == ';':
			for s.pos < len(s.src) && s.src[s.pos] != '\n' {
				s.pos++
			}
		case c == '(' && len(rest) > 1 && rest[1] == ';':
			if err := s.comment(); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return nil
}

func (s *scanner) comment() error {
	begin, depth := s.at(), 0
	for s.pos+1 < len(s.src) {
		switch s.src[s.pos : s.pos+2] {
		case "(;":
			depth++
			s.pos += 2
		case ";)":
			depth--
			s.pos += 2
			if depth == 0 {
				return nil
			}
		default:
			if s.src[s.pos] == '\n' {
				s.line++
			}
			s.pos++
		}
	}
	return begin.failf("a comment without an end")
}

func (s *scanner) node(depth int) (node, error) {
	if err := s.space(); err != nil {
		return node{}, err
	}
	n := s.at()
	switch {
	case s.pos == len(s.src):
		return n, n.failf("the text ends, want a list, an atom or a string")
	case depth > maxNesting:
		return n, n.failf("more than %d lists within each other", maxNesting)
	case s.src[s.pos] == ')':
		return n, n.failf("a ) without its (")
	case s.src[s.pos] == '"':
		n.kind = 's'
		var err error
		n.text, err = s.quoted()
		return n, err
	case s.src[s.pos] != '(':
		n.kind = 'a'
		from := s.pos
		for s.pos < len(s.src) && !delimits(s.src[s.pos]) {
			s.pos++
		}
		if n.text = s.src[from:s.pos]; n.text == "" {
			return n, n.failf("a ; that begins no comment")
		}
		return n, nil
	}
	n.kind = '('
	for s.pos++; ; {
		if err := s.space(); err != nil {
			return n, err
		}
		if s.pos == len(s.src) {
			return n, n.failf("a ( without its )")
		}
		if s.src[s.pos] == ')' {
			s.pos++
			return n, nil
		}
		item, err := s.node(depth + 1)
		if err != nil {
			return n, err
		}
		n.list = append(n.list, item)
	}
}

func delimits(c byte) bool {
	return c == '(' || c == ')' || c == '"' || c == ';' || c == ' ' || c == '\t' || c == '\n' || c == '\r'
}

// quoted reads a string: bytes, with \n, \t, \r, \", \', \\ and \hh.
func (s *scanner) quoted() (string, error) {
	var out []byte
	begin := s.at()
	for s.pos++; s.pos < len(s.src); s.pos++ {
		switch c := s.src[s.pos]; c {
		case '"':
			s.pos++
			return string(out), nil
		case '\n':
			return "", begin.failf("a string over the end of its line")
		case '\\':
			b, err := s.escape(begin)
			if err != nil {
				return "", err
			}
			out = append(out, b)
		default:
			out = append(out, c)
		}
	}
	return "", begin.failf("a string without an end")
}

// escape reads what follows a backslash and leaves pos at its last byte.
func (s *scanner) escape(at node) (byte, error) {
	rest := s.src[s.pos+1:]
	if len(rest) > 0 {
		switch c := rest[0]; c {
		case 'n', 't', 'r':
			s.pos++
			return map[byte]byte{'n': '\n', 't': '\t', 'r': '\r'}[c], nil
		case '"', '\'', '\\':
			s.pos++
			return c, nil
		}
	}
	if len(rest) > 1 {
		if v, err := strconv.ParseUint(rest[:2], 16, 8); err == nil {
			s.pos += 2
			return byte(v), nil
		}
	}
	return 0, at.failf("a bad escape in a string")
}
