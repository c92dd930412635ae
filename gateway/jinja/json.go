package jinja

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/weirgate/weir/abi/jsonscan"
)

// FromJSON reads one JSON document as json.loads does: members keep their order, of members with one name
// the last value counts, integers and floats are told apart. All strings and member names in it are of
// origin o.
func FromJSON(doc []byte, o Origin) (Value, error) {
	d := decoder{r: jsonscan.NewReader(doc), org: o.pack()}
	v, err := d.value()
	if err == nil {
		err = d.r.End()
	}
	if err != nil {
		return Value{}, fmt.Errorf("json: %w", err)
	}
	return v, nil
}

type decoder struct {
	r   *jsonscan.Reader
	org uint64
}

func (d *decoder) value() (Value, error) {
	switch d.r.Peek() {
	case jsonscan.Object:
		return d.object()
	case jsonscan.Array:
		var items []Value
		err := d.r.Array(func(int) error {
			v, err := d.value()
			items = append(items, v)
			return err
		})
		return List(items...), err
	case jsonscan.String:
		raw, err := d.r.Raw()
		if err != nil {
			return Value{}, err
		}
		s, err := unquote(raw)
		return Value{k: kStr, s: s, n: d.org}, err
	}
	raw, err := d.r.Raw()
	if err != nil {
		return Value{}, err
	}
	switch raw[0] {
	case 'n':
		return None(), nil
	case 't', 'f':
		return Bool(raw[0] == 't'), nil
	}
	return jsonNumber(string(raw))
}

func (d *decoder) object() (Value, error) {
	if err := d.r.OpenObject(); err != nil {
		return Value{}, err
	}
	out := newDict(4)
	for {
		key, ok, err := d.r.Member()
		if err != nil {
			return Value{}, err
		}
		if !ok {
			return out.value(), nil
		}
		name := Value{k: kStr, s: valid(string(key)), n: d.org}
		v, err := d.value()
		if err != nil {
			return Value{}, err
		}
		out.set(name, v)
	}
}

// unquote is the text of a JSON string.
func unquote(raw []byte) (string, error) {
	in := raw[1 : len(raw)-1]
	if bytes.IndexByte(in, '\\') < 0 {
		return valid(string(in)), nil
	}
	out, err := jsonscan.AppendUnescaped(make([]byte, 0, len(in)), in)
	if err != nil {
		return "", err
	}
	return valid(string(out)), nil
}

func jsonNumber(s string) (Value, error) {
	if strings.ContainsAny(s, ".eE") {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil && f == 0 {
			return Value{}, err
		}
		return Float(f), nil // out of range is infinite, as in Python
	}
	return parseInt(s, 10)
}
