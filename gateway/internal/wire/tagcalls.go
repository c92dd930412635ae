package wire

import (
	"strconv"
	"strings"

	"github.com/weirgate/weir/abi/jsonscan"
)

// paramCall is a call with its parameters in tags. Strings stand in them as they are, and all else as the
// JSON it is.
//
//	open NAME named (key KEY (str | other) VALUE valueEnd)* end
type paramCall struct {
	open       string
	again      string // the name once more, behind this
	count      string // the number of the call from 1, behind this
	named      string
	key        string
	str        string // between a key and a string
	typed      string // between a key and the name of its JSON type; empty: no such name
	other      string // between a key, or its type, and what is no string; empty: as str
	valueEnd   string
	empty      string // in place of parameters where there are none
	end        string
	attributes bool     // names and keys are written with the escapes of attributes
	openers    []string // what is no text
	closers    []string // what cannot stand in a value
}

// attribute escapes a name or key.
func (c paramCall) attribute(s string) string {
	if !c.attributes || !strings.ContainsAny(s, `&"`) {
		return s
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "&", "&amp;"), `"`, "&quot;")
}

func (c paramCall) append(dst []byte, n int, b *Block) []byte {
	name := c.attribute(b.Name)
	dst = append(append(dst, c.open...), name...)
	if c.again != "" {
		dst = append(append(dst, c.again...), name...)
	}
	if c.count != "" {
		dst = strconv.AppendInt(append(dst, c.count...), int64(n+1), 10)
	}
	dst = append(dst, c.named...)
	dst = c.parameters(dst, b)
	return append(dst, c.end...)
}

// parameters writes the members of the arguments in their order. Arguments that are not an object (a
// broken call in a history) become one parameter.
func (c paramCall) parameters(dst []byte, b *Block) []byte {
	if !b.Custom && strings.TrimSpace(b.Arguments) == "" {
		return append(dst, c.empty...)
	}
	at := len(dst)
	args := arguments(b)
	r := jsonscan.NewReader([]byte(args))
	err := r.Object(func(key []byte) (err error) {
		dst = append(append(dst, c.key...), c.attribute(string(key))...)
		if r.Peek() == jsonscan.String {
			dst, err = r.Text(append(dst, c.str...))
		} else {
			dst = c.untext(dst, r.Peek())
			var raw []byte
			raw, err = r.Raw()
			dst = append(dst, raw...)
		}
		dst = append(dst, c.valueEnd...)
		return err
	})
	switch {
	case err != nil || r.End() != nil:
		dst = append(append(append(dst[:at], c.key...), "arguments"...), c.str...)
		return append(append(dst, args...), c.valueEnd...)
	case len(dst) == at:
		return append(dst, c.empty...)
	}
	return dst
}

// untext writes what stands between a key and a value that is no string.
func (c paramCall) untext(dst []byte, t jsonscan.Type) []byte {
	if c.typed != "" {
		name := t.String()
		if t == jsonscan.Bool {
			name = "boolean"
		}
		dst = append(append(dst, c.typed...), name...)
	}
	if c.other == "" {
		return append(dst, c.str...)
	}
	return append(dst, c.other...)
}

func (c paramCall) check(b *Block) error {
	if err := checkTag("a name", b.Name, c.attributes); err != nil {
		return err
	}
	return checkMembers(b, func(key, value string, _ jsonscan.Type) error {
		if err := checkTag("a parameter's name", key, c.attributes); err != nil {
			return err
		}
		for _, s := range c.closers {
			if strings.Contains(value, s) {
				return cannot("parameter %q holds %q", key, s)
			}
		}
		return nil
	})
}

func (c paramCall) marks() []string { return append([]string{c.open, c.end}, c.openers...) }
