package schema

import (
	"strconv"
	"strings"

	"github.com/weirgate/weir/abi/jsonscan"
)

// resolve finds the target of a reference within the document.
func (d *document) resolve(ref string) *Node {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	if pointer == "" {
		return d.root
	}
	if n, ok := d.refs[pointer]; ok {
		return n
	}
	if d.refs == nil {
		d.refs = make(map[string]*Node)
	}
	var n *Node
	if raw := d.find(pointer); raw != nil {
		n = &Node{doc: d, raw: raw}
	}
	d.refs[pointer] = n
	return n
}

// find follows a JSON pointer (RFC 6901, percent-encoded as in a fragment).
func (d *document) find(pointer string) []byte {
	if pointer[0] != '/' {
		return nil
	}
	at := d.raw
	for step := range strings.SplitSeq(pointer[1:], "/") {
		if d.work -= len(at) + 1; d.work < 0 {
			return nil
		}
		if at = member(at, unescapeStep(step)); at == nil {
			return nil
		}
	}
	return at
}

func unescapeStep(s string) string {
	if strings.IndexByte(s, '%') >= 0 {
		var b []byte
		for i := 0; i < len(s); i++ {
			if s[i] == '%' && i+2 < len(s) {
				if v, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
					b = append(b, byte(v))
					i += 2
					continue
				}
			}
			b = append(b, s[i])
		}
		s = string(b)
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "~1", "/"), "~0", "~")
}

// member is the first member of an object, or the element of an array, that a pointer's step names.
func member(raw []byte, step string) (found []byte) {
	r := jsonscan.NewReader(raw)
	take := func(here bool) error {
		v, err := r.Raw()
		if here && found == nil {
			found = v
		}
		return err
	}
	var err error
	switch r.Peek() {
	case jsonscan.Object:
		err = r.Object(func(key []byte) error { return take(string(key) == step) })
	case jsonscan.Array:
		err = r.Array(func(i int) error { return take(strconv.Itoa(i) == step) })
	}
	if err != nil {
		return nil
	}
	return found
}
