package wire

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/jsonscan"
)

// ErrCannot is wrapped by errors of Append about what a format cannot say.
var ErrCannot = errors.New("the format cannot say it")

func cannot(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), ErrCannot)
}

// check finds the first block that the format cannot say where it stands.
func (s *Style) check(blocks []Block) error {
	marks := s.marks()
	n := 0
	var prev *Block
	for i := range blocks {
		b := &blocks[i]
		if b.Text == "" && (b.Kind == Text || b.Kind == Reasoning && s.think != nil) {
			continue
		}
		if b.Kind == Call {
			n++
		}
		err := s.checkBlock(b, marks)
		if err == nil {
			err = s.checkPlace(prev, b, n)
		}
		if err != nil {
			return fmt.Errorf("block %d: %w", i, err)
		}
		prev = b
	}
	return nil
}

// checkPlace checks b, which is one by itself, behind prev; n counts the calls up to it.
func (s *Style) checkPlace(prev, b *Block, n int) error {
	c := s.calls
	switch {
	case b.Kind == Call && c != nil && c.max > 0 && n > c.max:
		return cannot("call %d of a turn that takes %d", n, c.max)
	case prev == nil:
		return nil
	case c != nil && c.last && prev.Kind == Call && b.Kind != Call:
		return cannot("a block after calls")
	case c != nil && c.alone && (prev.Kind == Text && b.Kind == Call || prev.Kind == Call && b.Kind != Call):
		return cannot("text beside calls")
	case prev.Kind == Text && b.Kind == Text:
		return cannot("text directly after text")
	case b.Kind == Call && prev.Kind != Call:
		return s.checkLine(prev)
	case b.Kind != Call && prev.Kind != Call:
		return s.checkQuotes(prev, b)
	}
	return nil
}

// checkLine finds an opener of calls that would stand in a code span, where it is text.
func (s *Style) checkLine(prev *Block) error {
	between := s.calls.before
	if prev.Kind == Reasoning {
		between = s.think.close
	}
	line := prev.Text[strings.LastIndexByte(prev.Text, '\n')+1:]
	if !strings.Contains(between, "\n") && strings.Count(line, "`")%2 != 0 {
		return cannot("a call in an open code span")
	}
	return nil
}

// checkQuotes finds a marker that would stand between quotes, where it is text.
func (s *Style) checkQuotes(prev, b *Block) error {
	if s.think == nil || prev.Kind == b.Kind || prev.Text == "" || b.Text == "" {
		return nil
	}
	between := s.think.close
	if b.Kind == Reasoning {
		if s.frame == nil {
			return nil // a line ends before it
		}
		between = s.think.open
	}
	last := prev.Text[len(prev.Text)-1]
	if between == strings.TrimSpace(between) && last == b.Text[0] && strings.IndexByte("`\"'", last) >= 0 {
		return cannot("a marker between two quotes")
	}
	return nil
}

// checkBlock checks a block by itself.
func (s *Style) checkBlock(b *Block, marks []string) error {
	switch b.Kind {
	case Reasoning:
		if s.think == nil {
			return cannot("reasoning")
		}
		return checkText("reasoning", b.Text, marks)
	case Text:
		if s.calls != nil && s.calls.alone {
			if open := strings.TrimSpace(s.calls.open); open != "" && strings.HasPrefix(strings.TrimSpace(b.Text), open) ||
				open == "" && strings.HasPrefix(strings.TrimSpace(b.Text), "{") {
				return cannot("text that begins like a call")
			}
		}
		return checkText("text", b.Text, marks)
	case Call:
		if s.calls == nil {
			return cannot("a call")
		}
		return s.calls.grammar.check(b)
	}
	return cannot("a block of kind %d", b.Kind)
}

// checkText finds markers in text.
func checkText(what, text string, marks []string) error {
	if !utf8.ValidString(text) {
		return cannot("%s that is not UTF-8", what)
	}
	for _, m := range marks {
		if strings.Contains(text, m) {
			return cannot("%s that holds %q", what, m)
		}
	}
	return nil
}

// checkName checks a name that stands between markers.
func checkName(what, name string) error {
	if strings.ContainsAny(name, "[]()|") {
		return cannot("%s like %q", what, name)
	}
	return checkTag(what, name, false)
}

// checkTag checks a name that stands in a tag; in attributes most characters are escaped.
func checkTag(what, name string, attribute bool) error {
	if name == "" || len(name) > abi.MaxHeader/2 || !utf8.ValidString(name) {
		return cannot("%s of %d bytes", what, len(name))
	}
	for i := range len(name) {
		switch c := name[i]; {
		case c <= ' ' || c == 0x7f, strings.IndexByte("<>`={}'", c) >= 0, !attribute && c == '"':
			return cannot("%s like %q", what, name)
		}
	}
	return nil
}

// checkObject checks that the arguments are a JSON object, and that the name is one.
func checkObject(b *Block) error {
	switch {
	case b.Name == "" || len(b.Name) > abi.MaxHeader/2 || !utf8.ValidString(b.Name):
		return cannot("a name of %d bytes", len(b.Name))
	case b.Custom && !utf8.ValidString(b.Arguments):
		return cannot("input that is not UTF-8")
	case b.Custom || strings.TrimSpace(b.Arguments) == "":
		return nil
	}
	args := []byte(b.Arguments)
	if jsonscan.TypeOf(args) != jsonscan.Object || !utf8.Valid(args) || !jsonscan.Valid(args) {
		return cannot("arguments that are not an object")
	}
	return nil
}

// checkMembers checks that the arguments are an object whose members have different names, and each member
// with f, which is given a string's text and the JSON of all else.
func checkMembers(b *Block, f func(key, value string, t jsonscan.Type) error) error {
	if err := checkObject(b); err != nil {
		return err
	}
	seen := map[string]bool{}
	r := jsonscan.NewReader([]byte(arguments(b)))
	return r.Object(func(key []byte) error {
		name := string(key)
		if seen[name] {
			return cannot("parameter %q comes twice", name)
		}
		seen[name] = true
		var value []byte
		var err error
		t := r.Peek()
		if t == jsonscan.String {
			value, err = r.Text(nil)
		} else {
			value, err = r.Raw()
		}
		if err != nil || f == nil {
			return err
		}
		return f(name, string(value), t)
	})
}
