package responses

import (
	"bytes"
	"unicode/utf8"

	"github.com/weirgate/weir/abi/jsonscan"
)

// appendJSON appends JSON as a decoder let it through, without what a frame or a strict reader does not take: line
// breaks, and in strings control characters and bytes that are not UTF-8.
func appendJSON(b, raw []byte) []byte {
	raw = bytes.TrimSpace(raw)
	if clean(raw) {
		return append(b, raw...)
	}
	r := jsonscan.NewReader(raw)
	out, err := appendValue(b, r)
	if err != nil || r.End() != nil {
		return append(b, "null"...)
	}
	return out
}

// clean reports that nothing has to be done to JSON that was decoded before.
func clean(raw []byte) bool {
	for _, c := range raw {
		if c < ' ' {
			return false
		}
	}
	return len(raw) > 0 && utf8.Valid(raw)
}

func appendValue(b []byte, r *jsonscan.Reader) ([]byte, error) {
	switch r.Peek() {
	case jsonscan.Object:
		b = append(b, '{')
		first := true
		err := r.Object(func(key []byte) (err error) {
			if !first {
				b = append(b, ',')
			}
			first = false
			b, err = appendValue(append(jsonscan.AppendString(b, key), ':'), r)
			return err
		})
		return append(b, '}'), err
	case jsonscan.Array:
		b = append(b, '[')
		err := r.Array(func(i int) (err error) {
			if i > 0 {
				b = append(b, ',')
			}
			b, err = appendValue(b, r)
			return err
		})
		return append(b, ']'), err
	case jsonscan.String:
		text, _, err := r.Unquote(nil)
		return jsonscan.AppendString(b, text), err
	}
	raw, err := r.Raw()
	return append(b, raw...), err
}

// given reports that the client said something.
func given(raw []byte) bool { return len(raw) > 0 && jsonscan.TypeOf(raw) != jsonscan.Null }

// member is a member that an object has to have, and what it is where the client left it out.
type member struct{ name, value string }

// appendObject appends an object as received with the members that it lacks behind its own. Another value is
// appended as it is.
func appendObject(b, raw []byte, want ...member) []byte {
	start := len(b)
	b = appendJSON(b, raw)
	if b[start] != '{' {
		return b
	}
	b = b[:len(b)-1]
	empty := true
	r := jsonscan.NewReader(raw)
	err := r.Object(func(key []byte) error {
		empty = false
		for i := range want {
			if want[i].name == string(key) {
				want[i].name = "" // it is there
			}
		}
		_, err := r.Raw()
		return err
	})
	if err != nil {
		return append(b[:start], "null"...)
	}
	for _, m := range want {
		if m.name == "" {
			continue
		}
		if !empty {
			b = append(b, ',')
		}
		empty = false
		b = append(jsonscan.AppendString(b, m.name), ':')
		b = append(b, m.value...)
	}
	return append(b, '}')
}

// look returns the value of a member of an object, nil where it has none.
func look(raw []byte, name string) (value []byte) {
	if jsonscan.TypeOf(raw) != jsonscan.Object {
		return nil
	}
	r := jsonscan.NewReader(raw)
	err := r.Object(func(key []byte) error {
		v, err := r.Raw()
		if string(key) == name {
			value = v
		}
		return err
	})
	if err != nil {
		return nil
	}
	return value
}

// appendTools appends the tools of a request; functions have every member that clients check for.
func appendTools(b, raw []byte) []byte {
	if !given(raw) || jsonscan.TypeOf(raw) != jsonscan.Array {
		return append(b, `[]`...)
	}
	start := len(b)
	b = append(b, '[')
	r := jsonscan.NewReader(raw)
	err := r.Array(func(i int) error {
		if i > 0 {
			b = append(b, ',')
		}
		tool, err := r.Raw()
		if err != nil {
			return err
		}
		if string(look(tool, "type")) == `"function"` {
			b = appendObject(b, tool, member{"description", "null"}, member{"parameters", "null"}, member{"strict", "null"})
		} else {
			b = appendJSON(b, tool)
		}
		return nil
	})
	if err != nil {
		return append(b[:start], `[]`...)
	}
	return append(b, ']')
}

const plainText = `{"type":"text"}`

// appendText appends what the request said of text: a format is always there.
func appendText(b, raw []byte) []byte {
	format := look(raw, "format")
	switch {
	case !given(format):
		if verbosity := look(raw, "verbosity"); given(verbosity) {
			b = append(b, `{"format":`+plainText+`,"verbosity":`...)
			return append(appendJSON(b, verbosity), '}')
		}
		return append(b, `{"format":`+plainText+`}`...)
	case string(look(format, "type")) != `"json_schema"`:
		return appendJSON(b, raw)
	}
	b = appendObject(append(b, `{"format":`...), format, member{"description", "null"}, member{"strict", "false"})
	if verbosity := look(raw, "verbosity"); given(verbosity) {
		b = appendJSON(append(b, `,"verbosity":`...), verbosity)
	}
	return append(b, '}')
}
