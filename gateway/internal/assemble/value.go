package assemble

import (
	"bytes"

	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/abi/record"
	"github.com/weirgate/weir/gateway/internal/assemble/internal/literal"
	"github.com/weirgate/weir/gateway/internal/assemble/internal/schema"
	"github.com/weirgate/weir/gateway/internal/assemble/internal/unescape"
)

// Limits of values that wait, in bytes. A longer one is a string.
const (
	maxScalar = 4096
	maxEither = 64 << 10 // a value that may be a string or a container
)

type mode uint8

const (
	idle      mode = iota // no value is open
	undecided             // its type is not known yet
	inText                // a string, written as it comes
	inLiteral             // translated from JSON or Python as it comes
)

// value types one value by the wire's word or the tool's schema.
//
// Where a string is allowed, only what the schema names exactly is anything else: null and booleans if
// declared, members of an enum, and a whole object or array if declared; numbers are not, since a string
// must never become a number. Where none is allowed, what does not parse as a declared scalar is a string
// still, so that the client can say what is wrong with it.
type value struct {
	mode  mode
	any   bool // JSON by the wire: any type but text
	types schema.Types
	node  *schema.Node
	held  []byte
	tried int    // bytes of held that were read as a container; 0 if it is none
	alt   []byte // the container so far
	esc   unescape.Decoder
	fix   repair
	lit   *literal.Machine // of the turn's first such value on
}

func (v *value) begin(dst []byte, kind uint32, node *schema.Node) []byte {
	v.mode, v.any, v.node, v.types, v.held = undecided, false, nil, 0, v.held[:0]
	v.tried, v.alt = 0, v.alt[:0]
	switch kind {
	case record.ValueJSON:
		v.any, v.types = true, schema.Scalars|schema.Containers
	case record.ValueSchema:
		v.node, v.types = node, node.Types()
	}
	if v.types == 0 || v.types == schema.String && len(node.Literals()) == 0 {
		v.mode = inText
		return append(dst, '"')
	}
	return dst
}

// feed takes unescaped bytes and appends what is decided; false means that the value cannot be written.
func (v *value) feed(dst, b []byte) ([]byte, bool) {
	switch v.mode {
	case inText:
		return jsonscan.AppendEscaped(dst, v.fix.feed(b)), true
	case inLiteral:
		dst, s := v.lit.Append(dst, b)
		return dst, s != jsonscan.Bad
	}
	v.held = append(v.held, b...)
	if v.types.Has(schema.String) {
		if v.mayDiffer() {
			return dst, true
		}
		return v.text(dst), true
	}
	return v.decide(dst)
}

// text makes a string of the value.
func (v *value) text(dst []byte) []byte {
	v.mode = inText
	return jsonscan.AppendEscaped(append(dst, '"'), v.fix.feed(v.held))
}

// mayDiffer reports whether what is held may still be something else than a string, where one is allowed.
func (v *value) mayDiffer() bool {
	if v.types.Has(schema.Containers) {
		switch p := trimLeft(v.held); {
		case len(v.held)-len(p) > maxLead:
		case len(p) == 0:
			return true
		case v.opens(p[0]):
			return len(v.held) <= maxEither && v.try(p)
		}
	}
	for _, w := range words {
		if v.types.Has(w.types) && begins(w.from, v.held) {
			return true
		}
	}
	for _, l := range v.node.Literals() {
		if !l.String && begins(l.Text, v.held) {
			return true
		}
	}
	return false
}

// try reads on in a value that may be a container, whose text from its bracket on is p; false means that it
// cannot be one.
func (v *value) try(p []byte) bool {
	if v.tried == 0 {
		v.resetLiteral()
		v.tried = len(v.held) - len(p)
	}
	var s jsonscan.Status
	v.alt, s = v.lit.Append(v.alt, v.held[v.tried:])
	v.tried = len(v.held)
	return s != jsonscan.Bad
}

func (v *value) resetLiteral() {
	if v.lit == nil {
		v.lit = &literal.Machine{}
	}
	v.lit.Reset()
}

func begins(word string, b []byte) bool { return len(b) <= len(word) && word[:len(b)] == string(b) }

func (v *value) opens(c byte) bool {
	return c == '{' && v.types.Has(schema.Object) || c == '[' && v.types.Has(schema.Array)
}

// decide looks at the first byte of a value that is not meant to be a string.
func (v *value) decide(dst []byte) ([]byte, bool) {
	p := trimLeft(v.held)
	scalar := v.types.Has(schema.Scalars)
	switch {
	case len(v.held)-len(p) > maxLead:
		return v.giveUp(dst)
	case len(p) == 0:
		return dst, true
	case (p[0] == '{' || p[0] == '[' || p[0] == '(') && v.types.Has(schema.Containers),
		(p[0] == '"' || p[0] == '\'') && v.any:
		v.mode = inLiteral
		v.resetLiteral()
		dst, s := v.lit.Append(dst, p)
		return dst, s != jsonscan.Bad
	case !scalar || len(v.held) > maxScalar:
		return v.giveUp(dst)
	}
	return dst, true
}

// giveUp makes a string of a value of another type; what should be a container cannot become one.
func (v *value) giveUp(dst []byte) ([]byte, bool) {
	if v.types.Has(schema.Containers) && !v.types.Has(schema.Scalars&^schema.Null) {
		return dst, false
	}
	return v.text(dst), true
}

// end ends the value.
func (v *value) end(dst []byte) ([]byte, bool) {
	if v.mode == undecided {
		out, ok := v.whole(dst)
		if ok {
			v.mode = idle
			return out, true
		}
		if v.types.Has(schema.String) {
			dst = v.text(dst)
		} else if dst, ok = v.giveUp(dst); !ok {
			return dst, false
		}
	}
	ok := true
	switch v.mode {
	case inText:
		dst = jsonscan.AppendEscaped(dst, v.fix.flush())
		dst = append(dst, '"')
	case inLiteral:
		var s jsonscan.Status
		dst, s = v.lit.End(dst)
		ok = s == jsonscan.Done
	}
	v.mode = idle
	return dst, ok
}

// words are the literals of JSON and Python that are values.
var words = [...]struct {
	from, to string
	types    schema.Types
}{
	{"null", "null", schema.Null},
	{"None", "null", schema.Null},
	{"true", "true", schema.Boolean},
	{"false", "false", schema.Boolean},
	{"True", "true", schema.Boolean},
	{"False", "false", schema.Boolean},
}

// whole writes a value that waited for its end; false means that it is not of a declared type.
func (v *value) whole(dst []byte) ([]byte, bool) {
	text := v.held
	free := v.types.Has(schema.String)
	if !free {
		text = trim(text)
	}
	if len(text) == 0 && !free {
		return v.empty(dst)
	}
	for _, l := range v.node.Literals() {
		if l.Text == string(text) {
			return append(dst, text...), !l.String
		}
	}
	for _, w := range words {
		if v.types.Has(w.types) && w.from == string(text) {
			return append(dst, w.to...), true
		}
	}
	if !free {
		return v.number(dst, text)
	}
	if v.tried > 0 {
		var s jsonscan.Status
		v.alt, s = v.lit.End(v.alt)
		return append(dst, v.alt...), s == jsonscan.Done
	}
	return dst, false
}

// empty writes a value without any text: null if that is declared, an empty container where nothing else
// is; an empty string is left to the caller.
func (v *value) empty(dst []byte) ([]byte, bool) {
	switch {
	case v.any:
		return dst, false
	case v.types.Has(schema.Null):
		return append(dst, "null"...), true
	case v.types.Has(schema.Scalars):
		return dst, false
	case v.types.Has(schema.Object):
		return append(dst, "{}"...), true
	}
	return append(dst, "[]"...), true
}

// number writes a number with its digits as they are; a whole number loses a fraction of zeros.
func (v *value) number(dst, text []byte) ([]byte, bool) {
	if !v.types.Has(schema.Integer|schema.Number) || !literal.IsNumber(text) {
		return dst, false
	}
	if v.types.Has(schema.Number) {
		return append(dst, text...), true
	}
	exponent := bytes.IndexAny(text, "eE")
	point := bytes.IndexByte(text, '.')
	switch {
	case point < 0 && (exponent < 0 || text[exponent+1] != '-'):
		return append(dst, text...), true
	case exponent < 0 && len(bytes.Trim(text[point+1:], "0")) == 0:
		return append(dst, text[:point]...), true
	}
	return dst, false
}
