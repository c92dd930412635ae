package config

import (
	"errors"
	"strings"
)

// Limits of a document, checked before the TOML library sees it: its recursion and its tables of whole
// key paths are bounded by nothing else.
const (
	maxFile  = 2 << 20
	maxDepth = 8
	maxKey   = 128
)

// node is a key, table, array or array element of a document and the line where it was first named.
type node struct {
	line   int
	kids   map[string]*node
	elems  []*node
	tables bool // an array of tables written with [[headers]]
}

// kid returns the node below key, or n itself where the document does not name it, so that what is
// missing is reported where it is missing.
func (n *node) kid(key string) *node {
	if k := n.kids[key]; k != nil {
		return k
	}
	return n
}

// elem returns the node of element i.
func (n *node) elem(i int) *node {
	if i < len(n.elems) {
		return n.elems[i]
	}
	return n
}

func (n *node) add(key string, line int) *node {
	if k := n.kids[key]; k != nil {
		return k
	}
	if n.kids == nil {
		n.kids = map[string]*node{}
	}
	k := &node{line: line}
	n.kids[key] = k
	return k
}

func (n *node) push(line int) *node {
	e := &node{line: line}
	n.elems = append(n.elems, e)
	return e
}

// errSyntax ends the scan of a document that is not TOML: the library then says what is wrong with it.
var errSyntax = errors.New("not TOML")

// limitError is a document over a limit.
type limitError struct {
	line      int
	got, want string
}

func (e *limitError) Error() string { return "got " + e.got + ", want " + e.want }

// scanner walks a document for the lines of its keys. It accepts all that is TOML and some that is not:
// the library, which runs after it, is the judge of syntax and the source of every value.
type scanner struct {
	s    string
	i    int
	line int
	root *node
}

// scan indexes a document. Where it is not TOML the index covers what stands before the fault, and the
// error is errSyntax; a document over a limit gives a *limitError.
func scan(doc string) (*node, error) {
	s := &scanner{s: strings.TrimPrefix(doc, "\xef\xbb\xbf"), line: 1, root: &node{line: 1}}
	return s.root, s.document()
}

func (s *scanner) document() error {
	cur, depth := s.root, 0
	for {
		s.blank()
		var err error
		switch {
		case s.i >= len(s.s):
			return nil
		case s.s[s.i] == '[':
			cur, depth, err = s.header()
		default:
			err = s.pair(cur, depth)
		}
		if err == nil {
			err = s.endOfLine()
		}
		if err != nil {
			return err
		}
	}
}

// blank skips white space, line ends and comments.
func (s *scanner) blank() {
	for s.i < len(s.s) {
		switch s.s[s.i] {
		case '\n':
			s.line++
			s.i++
		case ' ', '\t', '\r':
			s.i++
		case '#':
			s.comment()
		default:
			return
		}
	}
}

func (s *scanner) space() {
	for s.i < len(s.s) && (s.s[s.i] == ' ' || s.s[s.i] == '\t') {
		s.i++
	}
}

func (s *scanner) comment() {
	if n := strings.IndexByte(s.s[s.i:], '\n'); n >= 0 {
		s.i += n
		return
	}
	s.i = len(s.s)
}

func (s *scanner) endOfLine() error {
	s.space()
	if s.i < len(s.s) && s.s[s.i] == '#' {
		s.comment()
	}
	if strings.HasPrefix(s.s[s.i:], "\r\n") {
		s.i++
	}
	if s.i < len(s.s) && s.s[s.i] != '\n' {
		return errSyntax
	}
	return nil
}

func (s *scanner) accept(b byte) bool {
	if s.i < len(s.s) && s.s[s.i] == b {
		s.i++
		return true
	}
	return false
}

// header reads [a.b] or [[a.b]] and returns the table that follows it.
func (s *scanner) header() (*node, int, error) {
	line := s.line
	s.i++
	array := s.accept('[')
	parts, err := s.key()
	if err != nil {
		return nil, 0, err
	}
	if !s.accept(']') || array && !s.accept(']') {
		return nil, 0, errSyntax
	}
	if len(parts) > maxDepth {
		return nil, 0, tooDeep(line)
	}
	n := s.root
	for i, p := range parts {
		n = n.add(p, line)
		last := i == len(parts)-1
		if array && last {
			n.tables = true
			n = n.push(line)
		} else if n.tables {
			n = n.elem(len(n.elems) - 1)
		}
	}
	return n, len(parts), nil
}

// pair reads key = value below n.
func (s *scanner) pair(n *node, depth int) error {
	line := s.line
	parts, err := s.key()
	if err != nil {
		return err
	}
	if !s.accept('=') {
		return errSyntax
	}
	depth += len(parts)
	if depth > maxDepth {
		return tooDeep(line)
	}
	for _, p := range parts {
		n = n.add(p, line)
	}
	return s.value(n, depth)
}

// key reads a dotted key and the space around it.
func (s *scanner) key() ([]string, error) {
	var parts []string
	for {
		s.space()
		p, err := s.keyPart()
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
		s.space()
		if !s.accept('.') {
			return parts, nil
		}
	}
}

func (s *scanner) keyPart() (string, error) {
	start := s.i
	if s.i < len(s.s) && (s.s[s.i] == '"' || s.s[s.i] == '\'') {
		raw, err := s.quoted()
		if err != nil {
			return "", err
		}
		return s.checkKey(raw)
	}
	for s.i < len(s.s) && isBare(s.s[s.i]) {
		s.i++
	}
	if s.i == start {
		return "", errSyntax
	}
	return s.checkKey(s.s[start:s.i])
}

func (s *scanner) checkKey(k string) (string, error) {
	if len(k) > maxKey {
		return "", &limitError{s.line, "a key of " + count(len(k), "byte"), "at most " + count(maxKey, "byte")}
	}
	return k, nil
}

func tooDeep(line int) error {
	return &limitError{line, "keys nested over " + count(maxDepth, "level"), "fewer"}
}

func isBare(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '_' || b == '-' || b >= 0x80
}

// value reads a value and indexes what it contains below n.
func (s *scanner) value(n *node, depth int) error {
	s.space()
	if s.i >= len(s.s) {
		return errSyntax
	}
	switch s.s[s.i] {
	case '[':
		return s.array(n, depth)
	case '{':
		return s.inline(n, depth)
	case '"', '\'':
		return s.text()
	}
	start := s.i
	for s.i < len(s.s) && strings.IndexByte(",]}#\n", s.s[s.i]) < 0 {
		s.i++
	}
	if s.i == start {
		return errSyntax
	}
	return nil
}

func (s *scanner) array(n *node, depth int) error {
	if depth++; depth > maxDepth {
		return tooDeep(s.line)
	}
	s.i++
	for {
		s.blank()
		if s.accept(']') {
			return nil
		}
		if err := s.value(n.push(s.line), depth); err != nil {
			return err
		}
		s.blank()
		if !s.accept(',') {
			if s.accept(']') {
				return nil
			}
			return errSyntax
		}
	}
}

func (s *scanner) inline(n *node, depth int) error {
	s.i++
	for {
		s.blank()
		if s.accept('}') {
			return nil
		}
		if err := s.pair(n, depth); err != nil {
			return err
		}
		s.blank()
		if !s.accept(',') {
			if s.accept('}') {
				return nil
			}
			return errSyntax
		}
	}
}
