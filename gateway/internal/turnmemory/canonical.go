package turnmemory

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weirgate/weir/abi/jsonscan"
)

// canonical makes bytes of JSON that are the same for the same value. Its memory is used again; the result
// is valid until the next call.
type canonical struct {
	text    []byte // of the arguments
	out     []byte
	tmp     []byte
	members []member
}

// member is a member of an object in out.
type member struct{ from, key, end int } // key: where its name ends

// sorted is how deep the members of objects are put in order; those of deeper ones stay as they came. It
// bounds how often a byte is moved.
const sorted = 16

// of returns the value of arguments, or false where they are not JSON. None are the empty object, as null
// is.
func (c *canonical) of(arguments string) ([]byte, bool) {
	if trimmed := strings.TrimSpace(arguments); trimmed == "" || trimmed == "null" {
		arguments = "{}"
	}
	c.text = append(c.text[:0], arguments...)
	c.out, c.members = c.out[:0], c.members[:0]
	r := jsonscan.NewReader(c.text)
	if c.value(r, 0) != nil || r.End() != nil {
		return nil, false
	}
	return c.out, true
}

// value appends one value: a letter for its type, then what it is.
func (c *canonical) value(r *jsonscan.Reader, depth int) error {
	switch r.Peek() {
	case jsonscan.String:
		at := c.open('s')
		var err error
		if c.out, err = r.Text(c.out); err != nil {
			return err
		}
		c.close(at)
		return nil
	case jsonscan.Object:
		return c.object(r, depth)
	case jsonscan.Array:
		c.out = append(c.out, 'a')
		err := r.Array(func(int) error { return c.value(r, depth+1) })
		c.out = append(c.out, 'e')
		return err
	}
	raw, err := r.Raw()
	if err != nil {
		return err
	}
	switch raw[0] {
	case 't', 'f', 'n':
		c.out = append(c.out, raw[0])
	default:
		c.number(raw)
	}
	return nil
}

// open begins a text whose length comes before it.
func (c *canonical) open(kind byte) int {
	c.out = append(c.out, kind, 0, 0, 0, 0)
	return len(c.out)
}

func (c *canonical) close(at int) {
	binary.LittleEndian.PutUint32(c.out[at-4:], uint32(len(c.out)-at))
}

// number appends the double nearest to a literal, which is what it is after a client has read it. One that
// no double holds is null, as JavaScript writes it.
func (c *canonical) number(raw []byte) {
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil {
		c.out = append(c.out, 'n')
		return
	}
	if f == 0 {
		f = 0 // of either sign
	}
	c.out = binary.LittleEndian.AppendUint64(append(c.out, 'd'), math.Float64bits(f))
}

func (c *canonical) object(r *jsonscan.Reader, depth int) error {
	c.out = append(c.out, 'o')
	start, first := len(c.out), len(c.members)
	ordered := true
	if err := r.OpenObject(); err != nil {
		return err
	}
	for {
		key, ok, err := r.Member()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		m := member{from: len(c.out)}
		at := c.open('k')
		c.out = append(c.out, key...)
		c.close(at)
		m.key = len(c.out)
		if n := len(c.members); n > first {
			ordered = ordered && bytes.Compare(c.name(c.members[n-1]), c.name(m)) < 0
		}
		at = len(c.members)
		c.members = append(c.members, m)
		if err := c.value(r, depth+1); err != nil {
			return err
		}
		c.members[at].end = len(c.out)
	}
	if !ordered && depth < sorted {
		c.sort(c.members[first:], start)
	}
	c.members = c.members[:first]
	c.out = append(c.out, 'e')
	return nil
}

// name is a member's name.
func (c *canonical) name(m member) []byte { return c.out[m.from+5 : m.key] }

// sort puts the members of the object that begins at start in the order of their names, the last of each.
func (c *canonical) sort(members []member, start int) {
	slices.SortStableFunc(members, func(a, b member) int { return bytes.Compare(c.name(a), c.name(b)) })
	c.tmp = c.tmp[:0]
	for i, m := range members {
		if i+1 < len(members) && bytes.Equal(c.name(m), c.name(members[i+1])) {
			continue
		}
		c.tmp = append(c.tmp, c.out[m.from:m.end]...)
	}
	c.out = append(c.out[:start], c.tmp...)
}
