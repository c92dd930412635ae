// Package wire is what the surfaces share below their schemas: a reader of request bodies that knows
// the path it stands at, the members that mean the same everywhere, and the texts of faults.
package wire

import (
	"bytes"
	"errors"
	"math"
	"net/http"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/abi/plan"
	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/surface/recall"
)

// Limits of one body. Messages, parts, calls and tools count together; a policy's outline has no more
// rows.
const (
	maxItems   = plan.MaxRows
	maxIgnored = 32
	maxEarly   = 64
	maxPath    = 16 // steps of a path that are named; no schema has more

	meanMessage = 512 // bytes of body
	maxGuess    = 256 // messages
	meanTool    = 1024
	maxTools    = 16 // that are guessed
)

// Decoder pulls typed values out of one request body and remembers where it is. Every error it returns
// is a *fault.Error: a value of the wrong type names its path, bytes that are not JSON their offset.
// Nothing it returns refers to the body, unless it says so. A member that is null counts as absent.
// It is used for one body, and not copied.
type Decoder struct {
	r       jsonscan.Reader
	size    int           // of the body
	base    int           // offset of r's document in the body
	path    [maxPath]step // an array, so that a decoder can live on its caller's stack
	depth   int           // of the place that is being read
	texts   texts
	items   int
	ignored []string

	body    []byte
	checked int // of body is UTF-8 for sure, from its start on
	memory  *recall.Memory
	header  http.Header
	owner   *recall.Owner // of header, once it is asked for
	arrays  []interface{ keep(m *recall.Memory) }
	noting  bool
	notes   []string // while noting
}

// step is one step of a path: a member, or an element where key is nil.
type step struct {
	key   []byte
	index int
}

// Read begins with body, which must not change until the decoder is done.
func (d *Decoder) Read(body []byte) error {
	d.begin(body)
	return d.valid(len(body))
}

// Document reads a body that is an object from its beginning to its end, as Object does. Where it fails, the body may
// have been read in part. With Recall, it is remembered.
func (d *Decoder) Document(body []byte, member func(key []byte) error) error {
	d.begin(body)
	err := d.Object(member)
	if err == nil {
		err = d.End()
	}
	// What is taken over is not looked at here: the rest is, when it is known how much that is. Bytes that are not UTF-8
	// are told before anything else.
	if err := d.valid(len(body)); err != nil {
		return err
	}
	if err != nil {
		return err
	}
	for _, a := range d.arrays {
		a.keep(d.memory)
	}
	return nil
}

func (d *Decoder) begin(body []byte) {
	d.r = *jsonscan.NewReader(body)
	d.body, d.size = body, len(body)
	d.texts.left, d.texts.most = len(body), maxPiece
	if d.memory.Takes(len(body)) {
		d.texts.most = firstPiece
	}
}

// valid checks that the body is UTF-8 up to an offset where a rune begins.
func (d *Decoder) valid(to int) error {
	for at := d.checked; !utf8.Valid(d.body[at:to]); {
		r, n := utf8.DecodeRune(d.body[at:to])
		if r == utf8.RuneError && n == 1 {
			return fault.New(fault.Invalid, "the body is not JSON: byte %d: expected UTF-8", at)
		}
		at += n
	}
	d.checked = to
	return nil
}

// Messages guesses from the size of the body how many messages it has, for memory that need not be moved.
func (d *Decoder) Messages() int { return min(d.size/meanMessage, maxGuess) + 1 }

// Tools guesses, as Messages does, how many tools there are, where there is one.
func (d *Decoder) Tools() int { return min(d.size/meanTool, maxTools) + 1 }

// Type tells the type of the next value.
func (d *Decoder) Type() jsonscan.Type { return d.r.Peek() }

// End checks that nothing follows.
func (d *Decoder) End() error { return d.syntax(d.r.End()) }

// Skip passes over the next value.
func (d *Decoder) Skip() error {
	_, err := d.r.Raw()
	return d.syntax(err)
}

// Object reads an object and calls f at each member that is not null. f must read the value.
func (d *Decoder) Object(f func(key []byte) error) error {
	if err := d.expect(jsonscan.Object, "an object"); err != nil {
		return err
	}
	at := d.depth
	err := d.r.OpenObject()
	for err == nil {
		var key []byte
		var ok bool
		if key, ok, err = d.r.Member(); err != nil || !ok {
			break
		}
		if d.r.Peek() == jsonscan.Null {
			err = d.Skip()
			continue
		}
		d.enter(at, step{key: key})
		err = f(key)
	}
	d.depth = at
	return d.syntax(err)
}

// Array reads an array and calls f at each element; f must read it.
func (d *Decoder) Array(f func(i int) error) error {
	if err := d.expect(jsonscan.Array, "an array"); err != nil {
		return err
	}
	at := d.depth
	err := d.r.Array(func(i int) error {
		d.enter(at, step{index: i})
		return f(i)
	})
	d.depth = at
	return d.syntax(err)
}

// enter goes one step down from the place of depth at.
func (d *Decoder) enter(at int, s step) {
	if at < maxPath {
		d.path[at] = s
	}
	d.depth = at + 1
}

// member is one that came before the member that says how to read it.
type member struct {
	key, raw []byte
	at       int
}

// Tagged is Object for an object whose member tag, a string, says how to read the others: f is called
// for each of those with the tag's value, which is empty when there was none. Members before the tag
// wait for it. The value is returned too.
func (d *Decoder) Tagged(tag string, f func(kind, key []byte) error) (kind []byte, err error) {
	var few [4]member
	early, known := few[:0], false
	err = d.Object(func(key []byte) error {
		if string(key) == tag {
			b, scratch, err := d.text()
			if scratch {
				b = bytes.Clone(b)
			}
			kind, known = b, true
			return err
		}
		if known {
			return f(kind, key)
		}
		if len(early) == maxEarly {
			return d.Bad("more than %d members before %q", maxEarly, tag)
		}
		raw, err := d.r.Raw()
		early = append(early, member{key: key, raw: raw, at: d.base + d.r.Offset() - len(raw)})
		return d.syntax(err)
	})
	for i := 0; i < len(early) && err == nil; i++ {
		err = d.replay(early[i], func() error { return f(kind, early[i].key) })
	}
	return kind, err
}

func (d *Decoder) replay(m member, f func() error) error {
	r, base, at := d.r, d.base, d.depth
	d.r, d.base = *jsonscan.NewReader(m.raw), m.at
	d.enter(at, step{key: m.key})
	err := f()
	d.r, d.base, d.depth = r, base, at
	return err
}

// Bytes reads a string. The result is part of the body or of a scratch buffer, valid until the next
// string is read.
func (d *Decoder) Bytes() ([]byte, error) {
	b, _, err := d.text()
	return b, err
}

// text is Bytes; scratch says that the text had escapes, so that it is not part of the body.
func (d *Decoder) text() (b []byte, scratch bool, err error) {
	if err := d.expect(jsonscan.String, "a string"); err != nil {
		return nil, false, err
	}
	b, scratch, err = d.r.Unquote(d.texts.room())
	return b, scratch, d.syntax(err)
}

// String reads a string.
func (d *Decoder) String() (string, error) {
	b, scratch, err := d.text()
	return d.kept(b, scratch), err
}

// kept is a string that text read.
func (d *Decoder) kept(b []byte, scratch bool) string {
	if scratch {
		return d.texts.written(b)
	}
	return text(d.texts.keep(b))
}

// Word is String for a member whose values are mostly a few words that all requests share.
func (d *Decoder) Word() (string, error) {
	b, scratch, err := d.text()
	for _, w := range words {
		if w == string(b) {
			return w, err
		}
	}
	return d.kept(b, scratch), err
}

// words are roles, and types of parts, blocks and tools.
var words = [...]string{
	"system", "user", "assistant", "tool", "developer", "text", "function", "custom", "image_url", "enabled", "auto", "json_schema",
}

// RawObject reads an object as it stands. The escapes of its strings are not looked at. The bytes have memory in common
// with texts: an append moves them, and who keeps them for longer than the request copies them, as with a text.
func (d *Decoder) RawObject() ([]byte, error) {
	raw, err := d.rawObject()
	return d.texts.keep(raw), err
}

// ObjectText is RawObject as a text.
func (d *Decoder) ObjectText() (string, error) {
	raw, err := d.rawObject()
	return text(d.texts.keep(raw)), err
}

func (d *Decoder) rawObject() ([]byte, error) {
	if err := d.expect(jsonscan.Object, "an object"); err != nil {
		return nil, err
	}
	raw, err := d.r.Raw()
	return raw, d.syntax(err)
}

// RawObjects reads an array of objects as it stands, as RawObject does each.
func (d *Decoder) RawObjects() ([]byte, error) {
	if err := d.expect(jsonscan.Array, "an array of objects"); err != nil {
		return nil, err
	}
	from := d.r.Offset()
	if err := d.Array(func(int) error {
		if err := d.expect(jsonscan.Object, "an object"); err != nil {
			return err
		}
		return d.Skip()
	}); err != nil {
		return nil, err
	}
	return d.texts.keep(d.r.Since(from)), nil
}

// Whole reads a value by read and returns it as it stands too, as RawObject does.
func (d *Decoder) Whole(read func() error) ([]byte, error) {
	d.r.Peek() // passes over white space
	from := d.r.Offset()
	if err := read(); err != nil {
		return nil, err
	}
	return d.texts.keep(d.r.Since(from)), nil
}

// Bool reads true or false.
func (d *Decoder) Bool() (bool, error) {
	if err := d.expect(jsonscan.Bool, "true or false"); err != nil {
		return false, err
	}
	raw, err := d.r.Raw()
	return string(raw) == "true", d.syntax(err)
}

// Int reads an integer from lo to hi, written in any way that JSON has for one.
func (d *Decoder) Int(lo, hi int64) (int64, error) {
	if err := d.expect(jsonscan.Number, "an integer"); err != nil {
		return 0, err
	}
	raw, err := d.r.Raw()
	if err != nil {
		return 0, d.syntax(err)
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		f, ferr := strconv.ParseFloat(string(raw), 64)
		if ferr != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
			return 0, d.Bad("expected an integer, got %s", clip(raw))
		}
		n = int64(f)
	}
	if n < lo || n > hi {
		return 0, d.Bad("expected an integer from %d to %d, got %s", lo, hi, clip(raw))
	}
	return n, nil
}

// Float reads a number from lo to hi.
func (d *Decoder) Float(lo, hi float64) (float64, error) {
	if err := d.expect(jsonscan.Number, "a number"); err != nil {
		return 0, err
	}
	raw, err := d.r.Raw()
	if err != nil {
		return 0, d.syntax(err)
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f < lo || f > hi {
		return 0, d.Bad("expected a number from %g to %g, got %s", lo, hi, clip(raw))
	}
	return f, nil
}

// clip bounds what of the client's bytes goes into a text. No member that has a meaning is longer.
func clip(raw []byte) []byte { return raw[:min(len(raw), 32)] }

// Item counts a message, part, call or tool against the limit of one body.
func (d *Decoder) Item() error {
	if d.items++; d.items > maxItems {
		return d.Bad("more than %d messages, parts and tools", maxItems)
	}
	return nil
}

// Ignore notes something that was understood and has no effect here.
func (d *Decoder) Ignore(name string) {
	d.ignored = noted(d.ignored, name)
	if d.noting {
		d.notes = noted(d.notes, name)
	}
}

func noted(list []string, name string) []string {
	if len(list) < maxIgnored && !slices.Contains(list, name) {
		list = append(list, name)
	}
	return list
}

// Ignored returns what was noted, each once.
func (d *Decoder) Ignored() []string { return d.ignored }

// Bad is an invalid value at the place that is being read.
func (d *Decoder) Bad(format string, args ...any) error {
	return fault.At(fault.Invalid, d.Path(""), format, args...)
}

// BadMember is an invalid or missing member of the object at the place that is being read.
func (d *Decoder) BadMember(name, format string, args ...any) error {
	return fault.At(fault.Invalid, d.Path(name), format, args...)
}

// BadType is a value of a type that does not fit where it stands.
func (d *Decoder) BadType(want string) error {
	got := d.r.Peek()
	if got == jsonscan.None {
		return d.Skip()
	}
	return d.Bad("expected %s, got %s", want, got)
}

// Path is the JSON path of the place that is being read, or of a member there.
func (d *Decoder) Path(member string) string {
	var b []byte
	for _, s := range d.path[:min(d.depth, maxPath)] {
		if s.key == nil {
			b = append(strconv.AppendInt(append(b, '['), int64(s.index), 10), ']')
			continue
		}
		if len(b) > 0 {
			b = append(b, '.')
		}
		b = append(b, clip(s.key)...)
	}
	if member != "" && len(b) > 0 {
		b = append(b, '.')
	}
	return string(append(b, member...))
}

func (d *Decoder) expect(t jsonscan.Type, want string) error {
	if d.r.Peek() == t {
		return nil
	}
	return d.BadType(want)
}

// syntax makes a fault of a scanner's error; a fault passes through.
func (d *Decoder) syntax(err error) error {
	if err == nil {
		return nil
	}
	return d.fault(err)
}

func (d *Decoder) fault(err error) error {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f
	}
	if e, ok := errors.AsType[*jsonscan.Error](err); ok {
		return fault.New(fault.Invalid, "the body is not JSON: byte %d: expected %s", d.base+e.Offset, e.Want)
	}
	return fault.New(fault.Invalid, "the body is not read: %v", err)
}
