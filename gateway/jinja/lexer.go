package jinja

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// tokenKind is what a token is.
type tokenKind uint8

const (
	tEOF tokenKind = iota
	tData
	tBlockBegin
	tBlockEnd
	tVarBegin
	tVarEnd
	tName
	tString
	tInt
	tFloat
	tOp
)

var tokenNames = [...]string{"end of template", "text", "begin of statement block", "end of statement block", "begin of print statement", "end of print statement", "name", "string", "integer", "float", "operator"}

// token is a lexical unit. text is the text of data, the value of a string, else the source.
type token struct {
	kind tokenKind
	text string
	off  int // in the source
}

func (t token) String() string {
	switch t.kind {
	case tName, tOp, tInt, tFloat:
		return quote(t.text)
	}
	return tokenNames[t.kind]
}

// normalise is the source as the lexer sees it: lines end with \n, the last one has no end.
func normalise(src string) string {
	if strings.Contains(src, "\r") {
		src = strings.ReplaceAll(strings.ReplaceAll(src, "\r\n", "\n"), "\r", "\n")
	}
	return strings.TrimSuffix(src, "\n")
}

// lexer cuts a template into tokens. The rules are those of Jinja2 with trim_blocks and lstrip_blocks.
type lexer struct {
	src       string
	at        int
	lineStart bool // what was matched last ended a line
	out       []token
}

func (l *lexer) fail(off int, format string, args ...any) error {
	return at(fail(SyntaxError, format, args...), pos(off+1))
}

func (l *lexer) emit(k tokenKind, text string, off int) {
	l.out = append(l.out, token{k, text, off})
}

// run reads the whole template.
func (l *lexer) run() ([]token, error) {
	for {
		i := nextTag(l.src[l.at:])
		if i < 0 {
			if l.at < len(l.src) {
				l.emit(tData, l.src[l.at:], l.at)
			}
			l.emit(tEOF, "", len(l.src))
			return l.out, nil
		}
		if err := l.tag(l.at + i); err != nil {
			return nil, err
		}
	}
}

// nextTag is where the next of {% {{ {# begins.
func nextTag(s string) int {
	for i := 0; ; i++ {
		j := strings.IndexByte(s[i:], '{')
		if j < 0 || i+j+1 >= len(s) {
			return -1
		}
		i += j
		if c := s[i+1]; c == '%' || c == '{' || c == '#' {
			return i
		}
	}
}

// tag reads the text before a tag at i, and the tag.
func (l *lexer) tag(i int) error {
	kind := l.src[i+1]
	sign := byte(0)
	in := i + 2
	if in < len(l.src) && (l.src[in] == '-' || l.src[in] == '+') {
		sign = l.src[in]
		in++
	}
	data := l.lstrip(l.src[l.at:i], sign, kind != '{')
	if data != "" {
		l.emit(tData, data, l.at)
	}
	l.lineStart = false
	switch kind {
	case '#':
		return l.comment(i, in)
	case '%':
		if end, ok := l.rawBegin(in); ok {
			return l.raw(i, end)
		}
		l.emit(tBlockBegin, "", i)
		return l.code(in, '%')
	}
	l.emit(tVarBegin, "", i)
	return l.code(in, '}')
}

// lstrip is the text before a tag without the white space that the tag takes away.
func (l *lexer) lstrip(data string, sign byte, block bool) string {
	switch {
	case sign == '-':
		return strings.TrimRightFunc(data, isSpace)
	case sign == '+' || !block:
		return data
	}
	line := strings.LastIndexByte(data, '\n') + 1
	if (line > 0 || l.lineStart) && strings.TrimLeftFunc(data[line:], isSpace) == "" {
		return data[:line]
	}
	return data
}

// after is where text goes on behind a tag that ends at end: trim_blocks takes one newline, '-' all space.
func (l *lexer) after(end int, sign byte, block bool) int {
	switch {
	case sign == '-':
		end = len(l.src) - len(strings.TrimLeftFunc(l.src[end:], isSpace))
	case block && sign == 0 && end < len(l.src) && l.src[end] == '\n':
		end++
	}
	l.lineStart = end > 0 && l.src[end-1] == '\n'
	return end
}

func (l *lexer) comment(start, in int) error {
	n := strings.Index(l.src[in:], "#}")
	if n < 0 {
		return l.fail(start, "Missing end of comment tag")
	}
	end := in + n
	sign := byte(0)
	if n > 0 && (l.src[end-1] == '-' || l.src[end-1] == '+') {
		sign = l.src[end-1]
	}
	l.at = l.after(end+2, sign, true)
	return nil
}

func (l *lexer) space(i int) int {
	return len(l.src) - len(strings.TrimLeftFunc(l.src[i:], isSpace))
}

// rawBegin reports that a raw block begins in a tag whose inside starts at i, and where its text starts.
func (l *lexer) rawBegin(i int) (int, bool) {
	i = l.space(i)
	if !strings.HasPrefix(l.src[i:], "raw") {
		return 0, false
	}
	i = l.space(i + len("raw"))
	switch rest := l.src[i:]; {
	case strings.HasPrefix(rest, "-%}"):
		return l.space(i + 3), true
	case strings.HasPrefix(rest, "%}"):
		return i + 2, true
	}
	return 0, false
}

func (l *lexer) raw(start, from int) error {
	l.lineStart = from > 0 && l.src[from-1] == '\n'
	for i := from; ; i += 2 {
		n := strings.Index(l.src[i:], "{%")
		if n < 0 {
			return l.fail(start, "Missing end of raw directive")
		}
		i += n
		in, sign := i+2, byte(0)
		if in < len(l.src) && (l.src[in] == '-' || l.src[in] == '+') {
			sign = l.src[in]
			in++
		}
		if in = l.space(in); !strings.HasPrefix(l.src[in:], "endraw") {
			continue
		}
		in = l.space(in + len("endraw"))
		endSign := byte(0)
		if in < len(l.src) && (l.src[in] == '-' || l.src[in] == '+') {
			endSign = l.src[in]
			in++
		}
		if !strings.HasPrefix(l.src[in:], "%}") {
			continue
		}
		if data := l.lstrip(l.src[from:i], sign, true); data != "" {
			l.emit(tData, data, from)
		}
		l.at = l.after(in+2, endSign, true)
		return nil
	}
}

// code reads the inside of a block or print tag up to its end, whose first byte is end.
func (l *lexer) code(i int, end byte) error {
	var open []byte // brackets that are open
	for {
		if i = l.space(i); i >= len(l.src) {
			return l.fail(i, "unexpected end of template in a tag")
		}
		if len(open) == 0 {
			if n, sign := tagEnd(l.src[i:], end); n > 0 {
				kind := tBlockEnd
				if end == '}' {
					kind = tVarEnd
				}
				l.emit(kind, "", i)
				l.at = l.after(i+n, sign, end == '%')
				return nil
			}
		}
		n, err := l.word(i, &open)
		if err != nil {
			return err
		}
		i += n
	}
}

// tagEnd is the length of the end of a tag at the start of s and its sign.
func tagEnd(s string, end byte) (int, byte) {
	sign := byte(0)
	if s[0] == '-' || s[0] == '+' && end == '%' {
		sign = s[0]
		s = s[1:]
	}
	if len(s) < 2 || s[0] != end || s[1] != '}' {
		return 0, 0
	}
	if sign != 0 {
		return 3, sign
	}
	return 2, 0
}

func (l *lexer) word(i int, open *[]byte) (int, error) {
	s := l.src[i:]
	switch c := s[0]; {
	case c >= '0' && c <= '9':
		n, float := number(s, i > 0 && l.src[i-1] == '.')
		kind := tInt
		if float {
			kind = tFloat
		}
		l.emit(kind, strings.ReplaceAll(s[:n], "_", ""), i)
		return n, nil
	case c == '\'' || c == '"':
		n := closing(s)
		if n < 0 {
			return 0, l.fail(i, "unexpected char %s", quote(s[:1]))
		}
		v, err := unescape(s[1:n])
		if err != nil {
			return 0, at(err, pos(i+1))
		}
		l.emit(tString, v, i)
		return n + 1, nil
	}
	if n := nameLen(s); n > 0 {
		if r, _ := utf8.DecodeRuneInString(s); !unicode.IsLetter(r) && r != '_' {
			return 0, l.fail(i, "Invalid character in identifier")
		}
		l.emit(tName, s[:n], i)
		return n, nil
	}
	n := operator(s)
	if n == 0 {
		r, size := utf8.DecodeRuneInString(s)
		return 0, l.fail(i, "unexpected char %s", quote(s[:max(size, utf8.RuneLen(r))]))
	}
	if err := l.balance(s[0], i, open); err != nil {
		return 0, err
	}
	l.emit(tOp, s[:n], i)
	return n, nil
}

func (l *lexer) balance(c byte, i int, open *[]byte) error {
	switch c {
	case '(':
		*open = append(*open, ')')
	case '[':
		*open = append(*open, ']')
	case '{':
		*open = append(*open, '}')
	case ')', ']', '}':
		n := len(*open)
		if n == 0 {
			return l.fail(i, "unexpected '%c'", c)
		}
		if want := (*open)[n-1]; want != c {
			return l.fail(i, "unexpected '%c', expected '%c'", c, want)
		}
		*open = (*open)[:n-1]
	}
	return nil
}
