package wire

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/weirgate/weir/abi/jsonscan"
)

// m3 stands before each tag of MiniMax-M3's markup; it is one token.
const m3 = "]<]minimax[>["

// nestedCall is a call with a tag for each member at any depth, and one named item for each element of an
// array.
type nestedCall struct{}

func (nestedCall) append(dst []byte, _ int, b *Block) []byte {
	dst = append(append(append(dst, m3+`<invoke name="`...), b.Name...), `">`...)
	at := len(dst)
	args := arguments(b)
	r := jsonscan.NewReader([]byte(args))
	dst, err := appendNested(dst, r)
	if err != nil || r.End() != nil {
		dst = append(append(append(dst[:at], m3+"<arguments>"...), args...), m3+"</arguments>"...)
	}
	return append(dst, m3+"</invoke>"...)
}

// appendNested writes the value that r stands at.
func appendNested(dst []byte, r *jsonscan.Reader) ([]byte, error) {
	var err error
	switch r.Peek() {
	case jsonscan.Object:
		err = r.Object(func(key []byte) error {
			if r.Peek() == jsonscan.Null { // absent and null are one
				_, err := r.Raw()
				return err
			}
			name := string(key)
			dst = append(append(append(dst, m3+"<"...), name...), '>')
			if dst, err = appendNested(dst, r); err != nil {
				return err
			}
			dst = append(append(append(dst, m3+"</"...), name...), '>')
			return nil
		})
	case jsonscan.Array:
		err = r.Array(func(int) error {
			dst = append(dst, m3+"<item>"...)
			if dst, err = appendNested(dst, r); err != nil {
				return err
			}
			dst = append(dst, m3+"</item>"...)
			return nil
		})
	case jsonscan.String:
		return r.Text(dst)
	default:
		var raw []byte
		raw, err = r.Raw()
		dst = append(dst, raw...)
	}
	return dst, err
}

func (nestedCall) check(b *Block) error {
	if err := checkTag("a name", b.Name, false); err != nil {
		return err
	}
	if err := checkMembers(b, nil); err != nil {
		return err
	}
	return checkNested(jsonscan.NewReader([]byte(arguments(b))))
}

// checkNested checks the value that r stands at, which is JSON.
func checkNested(r *jsonscan.Reader) error {
	switch r.Peek() {
	case jsonscan.Object:
		seen := map[string]bool{}
		return r.Object(func(key []byte) error {
			if err := checkTag("a member's name", string(key), false); err != nil {
				return err
			}
			if seen[string(key)] {
				return cannot("member %q comes twice", key)
			}
			seen[string(key)] = true
			if r.Peek() == jsonscan.Null {
				return cannot("member %q is null", key)
			}
			return checkNested(r)
		})
	case jsonscan.Array:
		return r.Array(func(int) error { return checkNested(r) })
	case jsonscan.Null:
		return cannot("an element is null")
	case jsonscan.String:
		text, err := r.Text(nil)
		if err == nil && bytes.Contains(text, []byte(m3)) {
			err = cannot("a value holds %q", m3)
		}
		return err
	}
	_, err := r.Raw()
	return err
}

func (nestedCall) marks() []string { return []string{m3} }

// pseudoCall is a call as an object without quotes around its keys, and with tokens around its strings.
type pseudoCall struct {
	open, quote, end string
	sorted           bool // keys at every depth stand in the order of their lower case
	all              bool // every value is written as a string
}

func (c pseudoCall) append(dst []byte, _ int, b *Block) []byte {
	dst = append(append(dst, c.open...), b.Name...)
	at := len(dst)
	args := arguments(b)
	r := jsonscan.NewReader([]byte(args))
	dst, err := c.object(dst, r)
	if err != nil || r.End() != nil {
		dst = append(append(append(dst[:at], "{arguments:"...), c.quote...), args...)
		dst = append(append(dst, c.quote...), '}')
	}
	return append(dst, c.end...)
}

// value writes the value that r stands at.
func (c pseudoCall) value(dst []byte, r *jsonscan.Reader) ([]byte, error) {
	switch t := r.Peek(); {
	case t == jsonscan.String:
		dst, err := r.Text(append(dst, c.quote...))
		return append(dst, c.quote...), err
	case t == jsonscan.Object && !c.all:
		return c.object(dst, r)
	case t == jsonscan.Array && !c.all:
		dst = append(dst, '[')
		err := r.Array(func(i int) (err error) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst, err = c.value(dst, r)
			return err
		})
		return append(dst, ']'), err
	}
	raw, err := r.Raw()
	if c.all {
		dst = append(append(dst, c.quote...), raw...)
		return append(dst, c.quote...), err
	}
	return append(dst, raw...), err
}

// object writes an object's members.
func (c pseudoCall) object(dst []byte, r *jsonscan.Reader) ([]byte, error) {
	type member struct {
		key  string
		from int
		to   int
	}
	var members []member
	dst = append(dst, '{')
	at := len(dst)
	err := r.Object(func(key []byte) (err error) {
		m := member{key: string(key), from: len(dst)}
		dst = append(append(dst, key...), ':')
		dst, err = c.value(dst, r)
		dst = append(dst, ',')
		m.to = len(dst)
		members = append(members, m)
		return err
	})
	if err != nil {
		return dst, err
	}
	if len(members) == 0 {
		return append(dst, '}'), nil
	}
	order := func(a, b member) int { return strings.Compare(strings.ToLower(a.key), strings.ToLower(b.key)) }
	if c.sorted && !slices.IsSortedFunc(members, order) {
		slices.SortStableFunc(members, order)
		moved := make([]byte, 0, len(dst)-at)
		for _, m := range members {
			moved = append(moved, dst[m.from:m.to]...)
		}
		dst = append(dst[:at], moved...)
	}
	dst[len(dst)-1] = '}'
	return dst, nil
}

func (c pseudoCall) check(b *Block) error {
	if err := checkName("a name", b.Name); err != nil {
		return err
	}
	if err := checkMembers(b, nil); err != nil {
		return err
	}
	return c.checkValue(jsonscan.NewReader([]byte(arguments(b))))
}

// checkValue checks the value that r stands at, which is JSON.
func (c pseudoCall) checkValue(r *jsonscan.Reader) error {
	switch r.Peek() {
	case jsonscan.Object:
		seen := map[string]bool{}
		return r.Object(func(key []byte) error {
			if err := checkName("a key", string(key)); err != nil {
				return err
			}
			if seen[string(key)] {
				return cannot("key %q comes twice", key)
			}
			seen[string(key)] = true
			return c.checkValue(r)
		})
	case jsonscan.Array:
		return r.Array(func(int) error { return c.checkValue(r) })
	case jsonscan.String:
		text, err := r.Text(nil)
		if err == nil && bytes.Contains(text, []byte(c.quote)) {
			err = cannot("a string holds %q", c.quote)
		}
		return err
	}
	_, err := r.Raw()
	return err
}

func (c pseudoCall) marks() []string { return []string{strings.TrimSuffix(c.open, "call:"), c.end} }

// pyCall is a call as a call in Python with keyword arguments.
type pyCall struct {
	quote byte // around strings
	json  bool // what is no string is JSON
}

func (c pyCall) append(dst []byte, _ int, b *Block) []byte {
	dst = append(append(dst, b.Name...), '(')
	at := len(dst)
	args := arguments(b)
	r := jsonscan.NewReader([]byte(args))
	err := r.Object(func(key []byte) (err error) {
		if len(dst) > at {
			dst = append(dst, ", "...)
		}
		dst = append(append(dst, key...), '=')
		dst, err = c.value(dst, r)
		return err
	})
	if err != nil || r.End() != nil {
		dst = c.text(append(dst[:at], "arguments="...), args)
	}
	return append(dst, ')')
}

// value writes the value that r stands at.
func (c pyCall) value(dst []byte, r *jsonscan.Reader) ([]byte, error) {
	t := r.Peek()
	if c.json && t != jsonscan.String {
		raw, err := r.Raw()
		return append(dst, raw...), err
	}
	switch t {
	case jsonscan.String:
		text, err := r.Text(nil)
		return c.text(dst, string(text)), err
	case jsonscan.Object:
		dst = append(dst, '{')
		first := true
		err := r.Object(func(key []byte) (err error) {
			if !first {
				dst = append(dst, ", "...)
			}
			first = false
			dst = append(c.text(dst, string(key)), ": "...)
			dst, err = c.value(dst, r)
			return err
		})
		return append(dst, '}'), err
	case jsonscan.Array:
		dst = append(dst, '[')
		err := r.Array(func(i int) (err error) {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst, err = c.value(dst, r)
			return err
		})
		return append(dst, ']'), err
	}
	raw, err := r.Raw()
	switch string(raw) {
	case "true":
		return append(dst, "True"...), err
	case "false":
		return append(dst, "False"...), err
	case "null":
		return append(dst, "None"...), err
	}
	return append(dst, raw...), err
}

// text writes a string literal.
func (c pyCall) text(dst []byte, s string) []byte {
	dst = append(dst, c.quote)
	for i := range len(s) {
		switch ch := s[i]; {
		case ch == c.quote || ch == '\\':
			dst = append(dst, '\\', ch)
		case ch == '\n':
			dst = append(dst, `\n`...)
		case ch == '\r':
			dst = append(dst, `\r`...)
		case ch == '\t':
			dst = append(dst, `\t`...)
		case ch < ' ' || ch == 0x7f:
			dst = append(dst, `\x`...)
			if ch < 0x10 {
				dst = append(dst, '0')
			}
			dst = strconv.AppendUint(dst, uint64(ch), 16)
		default:
			dst = append(dst, ch)
		}
	}
	return append(dst, c.quote)
}

func (c pyCall) check(b *Block) error {
	if !identifier(strings.ReplaceAll(b.Name, ".", "_")) {
		return cannot("%q is no name of a function", b.Name)
	}
	return checkMembers(b, func(key, _ string, _ jsonscan.Type) error {
		if !identifier(key) {
			return cannot("%q is no name of a parameter", key)
		}
		return nil
	})
}

func (c pyCall) marks() []string { return nil }

// identifier reports an identifier of Python in ASCII.
func identifier(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || i > 0 && c >= '0' && c <= '9':
		default:
			return false
		}
	}
	return s != ""
}
