// Package split cuts text with the patterns of vocabularies: a compiler for the regular expressions that
// occur in them, and hand-written scanners for the best-known ones.
//
// A pattern outside of the subset is refused when it is compiled, never guessed: look-behind,
// back-references, anchors other than the end of the text, and repeated groups. Within the subset the
// result is that of a backtracking matcher, the first alternative that fits and not the longest, with the
// character classes of Unicode 16.0.
package split

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// ErrUnsupported is wrapped by the errors of Compile.
var ErrUnsupported = errors.New("unsupported pattern")

// Dialect is the engine that a pattern was written for.
type Dialect uint8

// The dialects: Oniguruma's of tokenizer.json, and that of rank files, whose possessive counts
// Oniguruma reads otherwise.
const (
	Oniguruma Dialect = iota
	Fancy
)

// Pattern finds the matches of a regular expression. It does not change and is safe for concurrent use.
type Pattern struct {
	source string
	scan   func(s string, i int) int // end of the match at i, -1: none; nil: start is run
	prog   program
}

// Compile compiles a pattern. Its errors wrap ErrUnsupported.
func Compile(pattern string, dialect Dialect) (*Pattern, error) {
	if scan := known(pattern); scan != nil {
		return &Pattern{source: pattern, scan: scan}, nil
	}
	return CompileGeneric(pattern, dialect)
}

// CompileGeneric is Compile without the hand-written scanners.
func CompileGeneric(pattern string, dialect Dialect) (*Pattern, error) {
	if len(pattern) > maxPattern || !utf8.ValidString(pattern) {
		return nil, fmt.Errorf("%w: %d bytes, want UTF-8 of at most %d", ErrUnsupported, len(pattern), maxPattern)
	}
	ps := parser{src: pattern, dialect: dialect, sets: make(map[string]ranges)}
	alts, err := ps.alternatives()
	if err != nil {
		return nil, err
	}
	if ps.more() {
		return nil, ps.fail("a ) too many")
	}
	p := &Pattern{source: pattern}
	if err := p.prog.build(alts); err != nil {
		return nil, fmt.Errorf("%w: %w in %q", ErrUnsupported, err, pattern)
	}
	return p, nil
}

// String returns the pattern's source.
func (p *Pattern) String() string { return p.source }

// Next returns the leftmost match in s at or after from, which stands between characters; start == end:
// there is none. s is valid UTF-8.
func (p *Pattern) Next(s string, from int) (start, end int) {
	if p.scan == nil {
		return p.prog.next(s, from)
	}
	for i := from; i < len(s); {
		if end := p.scan(s, i); end > i {
			return i, end
		}
		if s[i] < utf8.RuneSelf {
			i++
		} else {
			_, n := utf8.DecodeRuneInString(s[i:])
			i += n
		}
	}
	return len(s), len(s)
}

// Fast reports whether a hand-written scanner stands in for the matcher.
func (p *Pattern) Fast() bool { return p.scan != nil }
