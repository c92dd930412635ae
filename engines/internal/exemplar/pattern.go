package exemplar

import (
	"regexp"
	"regexp/syntax"
	"strings"
)

// Match makes a short string that pattern matches. It reports false for patterns that Go does not
// read, or that want more than it tries.
func Match(pattern string) (string, bool) {
	if len(pattern) > maxChars {
		return "", false
	}
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "", false
	}
	var b strings.Builder
	write(&b, re, 0)
	check, err := regexp.Compile(pattern)
	if err != nil || b.Len() > maxChars || !check.MatchString(b.String()) {
		return "", false
	}
	return b.String(), true
}

// write takes the shortest way through the expression, and one turn of what may be left out only
// where the expression has nothing else.
func write(b *strings.Builder, re *syntax.Regexp, depth int) {
	if depth > maxDepth || b.Len() > maxChars {
		return
	}
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		b.WriteRune(classMember(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('w')
	case syntax.OpCapture, syntax.OpPlus:
		write(b, re.Sub[0], depth+1)
	case syntax.OpRepeat:
		for range re.Min {
			write(b, re.Sub[0], depth+1)
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			write(b, sub, depth+1)
		}
	case syntax.OpAlternate:
		write(b, re.Sub[0], depth+1)
	}
}

// classMember is one character of a class, given as pairs of bounds: a letter or digit where it has one.
func classMember(pairs []rune) rune {
	for _, want := range "wa0A" {
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i] <= want && want <= pairs[i+1] {
				return want
			}
		}
	}
	if len(pairs) == 0 {
		return 'w'
	}
	return pairs[0]
}
