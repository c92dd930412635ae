// Package schema tells which JSON types a tool's JSON Schema allows for a parameter.
//
// It types values that a model wrote as bare text, nothing more: it does not validate. Schemas come from
// clients and may be hostile, so that work, size and depth are bounded; what is beyond the bounds, not
// understood (remote references, patternProperties) or not JSON is unknown, and unknown means a string.
package schema

import (
	"strings"

	"github.com/weirgate/weir/abi/jsonscan"
)

// Limits of one schema.
const (
	maxSize  = 1 << 20 // bytes of a document that is read at all
	maxWork  = 8 << 20 // bytes looked at over the life of a document
	maxDepth = 32      // combinators and references within each other
	maxEnum  = 256     // members kept of an enum
)

// Types is a set of JSON types.
type Types uint8

// Types. Any number is allowed by Number, only whole ones by Integer.
const (
	Null Types = 1 << iota
	Boolean
	Integer
	Number
	String
	Array
	Object

	Scalars    = Null | Boolean | Integer | Number
	Containers = Array | Object
)

// Has reports whether t has one of the types in of.
func (t Types) Has(of Types) bool { return t&of != 0 }

// Literal is a member of an enum, or a const: a string's text, or another value as it is written.
type Literal struct {
	Text   string
	String bool
}

// document is what the nodes of one schema share.
type document struct {
	raw  []byte
	root *Node
	refs map[string]*Node
	work int // bytes that may still be looked at
}

// Node is a schema or a part of one. It reads its bytes when it is first asked. A nil Node knows nothing.
// It is used by one goroutine.
type Node struct {
	doc  *document
	raw  []byte
	read readState

	types    Types
	props    map[string]*Node
	extra    *Node // additionalProperties
	items    *Node
	prefix   []*Node
	literals []Literal
}

type readState uint8

const (
	unread readState = iota
	reading
	done
)

// Parse returns the root of a schema, nil if there is none or it is too large. raw must not change.
func Parse(raw []byte) *Node {
	if len(raw) == 0 || len(raw) > maxSize {
		return nil
	}
	d := &document{raw: raw, work: maxWork}
	d.root = &Node{doc: d, raw: raw}
	return d.root
}

// Types are the types that n allows, none when it is unknown.
func (n *Node) Types() Types {
	if n == nil {
		return 0
	}
	n.compile(0)
	return n.types
}

// Literals are the members of an enum where not all of them are strings.
func (n *Node) Literals() []Literal {
	if n == nil {
		return nil
	}
	n.compile(0)
	return n.literals
}

// Property is the schema of an object's member, nil when it is unknown.
func (n *Node) Property(name []byte) *Node {
	if n == nil {
		return nil
	}
	n.compile(0)
	if p, ok := n.props[string(name)]; ok {
		return p
	}
	return n.extra
}

// Item is the schema of element i of an array, nil when it is unknown.
func (n *Node) Item(i int) *Node {
	if n == nil {
		return nil
	}
	n.compile(0)
	if i < len(n.prefix) {
		return n.prefix[i]
	}
	return n.items
}

// parts is what one pass over a schema's members found.
type parts struct {
	declared Types // by type
	values   Types // of enum and const
	strings  int   // members of the enum that are strings
	nullable bool
	ref      string
	all, any []*Node
}

// compile reads n once. A schema that is being read further up adds nothing: that ends cycles.
func (n *Node) compile(depth int) {
	if n.read != unread {
		return
	}
	n.read = reading
	defer func() { n.read = done }()
	if n.doc.work -= len(n.raw) + 1; n.doc.work < 0 || depth > maxDepth {
		return
	}
	var p parts
	r := jsonscan.NewReader(n.raw)
	if r.Peek() != jsonscan.Object {
		return
	}
	if err := r.Object(func(key []byte) error { return n.member(r, &p, key) }); err != nil {
		*n = Node{doc: n.doc, raw: n.raw}
		return
	}
	n.settle(&p, depth)
}

// settle makes the set of types from what was found.
func (n *Node) settle(p *parts, depth int) {
	t := p.declared
	if t == 0 {
		t = p.values
	}
	if t == 0 && (n.props != nil || n.extra != nil) {
		t = Object
	}
	if t == 0 && (n.items != nil || n.prefix != nil) {
		t = Array
	}
	if p.ref != "" {
		if to := n.doc.resolve(p.ref); to != nil {
			to.compile(depth + 1)
			t = meet(t, to.types)
			n.merge(to)
		}
	}
	for _, c := range p.all {
		c.compile(depth + 1)
		t = meet(t, c.types)
		n.merge(c)
	}
	var union Types
	for _, c := range p.any {
		c.compile(depth + 1)
		if c.types == 0 {
			union |= String
		}
		union |= c.types
		n.merge(c)
	}
	t = meet(t, union)
	if p.nullable && t != 0 {
		t |= Null
	}
	n.types = t
	if t&^(String|Null) == 0 && p.strings == len(n.literals) {
		n.literals = nil
	}
}

// meet is what both sets allow; an empty set knows nothing, and sets that contradict leave the first.
func meet(a, b Types) Types {
	if a == 0 {
		return b
	}
	if b == 0 {
		return a
	}
	both := a & b
	if a.Has(Number) && b.Has(Integer) || a.Has(Integer) && b.Has(Number) {
		both |= Integer
		if a&b&Number != 0 {
			both |= Number
		}
	}
	if both == 0 {
		return a
	}
	return both
}

// merge takes over the members that other knows and n does not.
func (n *Node) merge(other *Node) {
	if other.read == reading {
		return
	}
	if n.doc.work -= 32 * len(other.props); n.doc.work < 0 {
		return
	}
	for k, v := range other.props {
		if _, ok := n.props[k]; !ok {
			if n.props == nil {
				n.props = make(map[string]*Node, len(other.props))
			}
			n.props[k] = v
		}
	}
	if n.extra == nil {
		n.extra = other.extra
	}
	if n.items == nil && n.prefix == nil {
		n.items, n.prefix = other.items, other.prefix
	}
	if room := maxEnum - len(n.literals); room > 0 {
		n.literals = append(n.literals, other.literals[:min(room, len(other.literals))]...)
	}
}

func (n *Node) child(r *jsonscan.Reader) (*Node, error) {
	raw, err := r.Raw()
	return &Node{doc: n.doc, raw: raw}, err
}

func (n *Node) children(r *jsonscan.Reader) (out []*Node, err error) {
	if r.Peek() != jsonscan.Array {
		_, err = r.Raw()
		return nil, err
	}
	err = r.Array(func(int) error {
		c, err := n.child(r)
		out = append(out, c)
		return err
	})
	return out, err
}

// member reads one member of a schema; those that do not bear on types are passed over.
func (n *Node) member(r *jsonscan.Reader, p *parts, key []byte) (err error) {
	switch string(key) {
	case "type":
		return readTypes(r, &p.declared)
	case "enum":
		if r.Peek() == jsonscan.Array {
			return r.Array(func(int) error { return n.literal(r, p) })
		}
	case "const":
		return n.literal(r, p)
	case "nullable":
		raw, err := r.Raw()
		p.nullable = string(raw) == "true"
		return err
	case "$ref":
		if r.Peek() == jsonscan.String {
			text, err := r.Text(nil)
			p.ref = string(text)
			return err
		}
	case "allOf":
		p.all, err = n.children(r)
		return err
	case "anyOf", "oneOf":
		c, err := n.children(r)
		p.any = append(p.any, c...)
		return err
	case "properties":
		if r.Peek() == jsonscan.Object {
			return n.properties(r)
		}
	case "additionalProperties":
		if r.Peek() == jsonscan.Object {
			n.extra, err = n.child(r)
			return err
		}
	case "prefixItems":
		n.prefix, err = n.children(r)
		return err
	case "items":
		switch r.Peek() {
		case jsonscan.Object:
			n.items, err = n.child(r)
			return err
		case jsonscan.Array:
			n.prefix, err = n.children(r)
			return err
		}
	}
	_, err = r.Raw()
	return err
}

func (n *Node) properties(r *jsonscan.Reader) error {
	if n.props == nil {
		n.props = make(map[string]*Node)
	}
	return r.Object(func(name []byte) error {
		c, err := n.child(r)
		if _, ok := n.props[string(name)]; !ok {
			n.props[string(name)] = c
		}
		return err
	})
}

// literal reads a member of an enum.
func (n *Node) literal(r *jsonscan.Reader, p *parts) error {
	raw, err := r.Raw()
	if err != nil {
		return err
	}
	l := Literal{Text: string(raw)}
	switch jsonscan.TypeOf(raw) {
	case jsonscan.String:
		text, err := jsonscan.AppendUnquoted(nil, raw)
		if err != nil {
			return err
		}
		l = Literal{Text: string(text), String: true}
		p.values |= String
	case jsonscan.Null:
		p.values |= Null
	case jsonscan.Bool:
		p.values |= Boolean
	case jsonscan.Number:
		p.values |= Integer
		if strings.ContainsAny(l.Text, ".eE") {
			p.values |= Number
		}
	case jsonscan.Array:
		p.values |= Array
	case jsonscan.Object:
		p.values |= Object
	}
	if len(n.literals) < maxEnum {
		if l.String {
			p.strings++
		}
		n.literals = append(n.literals, l)
	}
	return nil
}

func readTypes(r *jsonscan.Reader, t *Types) error {
	switch r.Peek() {
	case jsonscan.String:
		name, err := r.Text(nil)
		*t |= typeOf(string(name))
		return err
	case jsonscan.Array:
		return r.Array(func(int) error {
			if r.Peek() == jsonscan.String {
				return readTypes(r, t)
			}
			_, err := r.Raw()
			return err
		})
	}
	_, err := r.Raw()
	return err
}

// typeOf knows JSON Schema's names and those that Python tools and OpenAPI dialects write instead.
func typeOf(name string) Types {
	switch name = strings.ToLower(name); name {
	case "null", "none", "nonetype":
		return Null
	case "boolean", "bool":
		return Boolean
	case "integer", "int", "int32", "int64", "long", "short", "uint", "uint32", "uint64", "unsigned", "bigint":
		return Integer
	case "number", "num", "float", "float32", "float64", "double", "decimal":
		return Number
	case "string", "str", "text", "varchar", "char", "enum":
		return String
	case "array", "list", "tuple", "arr":
		return Array
	case "object", "dict", "map":
		return Object
	}
	return 0
}
