// Package exemplar makes a small JSON value that satisfies a JSON schema.
//
// It knows what tool and answer schemas use: types, enum, const, default, required properties, bounds,
// formats, patterns, local references, allOf, anyOf and oneOf. Keywords that only narrow further
// (not, if, dependent...) are not looked at.
package exemplar

import (
	"encoding/json"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/weirgate/weir/abi/jsonscan"
)

// Bounds on hostile schemas.
const (
	maxDepth = 24
	maxNodes = 2000
	maxItems = 16
	maxChars = 4096
)

// Member is a member that an object is to have.
type Member struct {
	Name string
	JSON string
}

// JSON makes a value for schema; null where the schema cannot be read.
func JSON(schema []byte) []byte {
	g := newGenerator(schema)
	return g.value(nil, g.root, 0)
}

// Object makes an object for schema with its required properties. A given member takes the place of a
// generated one; one that the schema does not name is left out, unless the schema names none at all.
func Object(schema []byte, given ...Member) []byte {
	g := newGenerator(schema)
	s := g.resolve(g.root, 0)
	dst, n := g.properties([]byte{'{'}, s, given, 0)
	props := s.object("properties")
	required := s.strings("required")
	for _, m := range given {
		if _, named := props[m.Name]; (named || len(props) == 0) && !slices.Contains(required, m.Name) {
			dst = member(dst, n, m.Name)
			dst = append(dst, m.JSON...)
			n++
		}
	}
	return append(dst, '}')
}

// Properties reports whether schema's top level names a property.
func Properties(schema []byte, name string) bool {
	g := newGenerator(schema)
	_, ok := g.resolve(g.root, 0).object("properties")[name]
	return ok
}

// Type is the JSON type that a value of the top-level property name would get; jsonscan.None without one.
func Type(schema []byte, name string) jsonscan.Type {
	g := newGenerator(schema)
	raw, ok := g.resolve(g.root, 0).object("properties")[name]
	if !ok {
		return jsonscan.None
	}
	return jsonscan.TypeOf(g.value(nil, raw, 1))
}

// schema is one level of a JSON schema.
type schema map[string]json.RawMessage

func (s schema) object(key string) schema {
	var o schema
	if json.Unmarshal(s[key], &o) != nil {
		return nil
	}
	return o
}

func (s schema) array(key string) []json.RawMessage {
	var a []json.RawMessage
	if json.Unmarshal(s[key], &a) != nil {
		return nil
	}
	return a
}

func (s schema) strings(key string) []string {
	var a []string
	if json.Unmarshal(s[key], &a) != nil {
		return nil
	}
	return a
}

func (s schema) text(key string) string {
	var t string
	if json.Unmarshal(s[key], &t) != nil {
		return ""
	}
	return t
}

func (s schema) number(key string) (float64, bool) {
	var f float64
	if s[key] == nil || json.Unmarshal(s[key], &f) != nil {
		return 0, false
	}
	return f, true
}

func (s schema) count(key string, missing int) int {
	f, ok := s.number(key)
	if !ok || f < 0 {
		return missing
	}
	return int(min(f, math.MaxInt32))
}

type generator struct {
	root json.RawMessage
	left int
}

func newGenerator(root []byte) *generator {
	if len(root) == 0 || !jsonscan.Valid(root) {
		root = []byte(`{}`)
	}
	return &generator{root: root, left: maxNodes}
}

// resolve reads one level with its references and combinations folded in.
func (g *generator) resolve(raw json.RawMessage, depth int) schema {
	var s schema
	if json.Unmarshal(raw, &s) != nil || depth > maxDepth || g.left <= 0 {
		return schema{}
	}
	g.left--
	if ref := s.text("$ref"); ref != "" {
		delete(s, "$ref")
		s.merge(g.resolve(g.lookup(ref), depth+1))
	}
	for _, sub := range s.array("allOf") {
		s.merge(g.resolve(sub, depth+1))
	}
	for _, key := range [...]string{"anyOf", "oneOf"} {
		branches := s.array(key)
		for i, sub := range branches {
			b := g.resolve(sub, depth+1)
			if b.text("type") != "null" || i == len(branches)-1 {
				s.merge(b)
				break
			}
		}
	}
	return s
}

// merge adds what another schema demands of the same value.
func (s schema) merge(o schema) {
	for k, v := range o {
		switch {
		case s[k] == nil:
			s[k] = v
		case k == "properties":
			p := s.object(k)
			if p == nil {
				p = schema{}
			}
			for name, sub := range o.object(k) {
				if p[name] == nil {
					p[name] = sub
				}
			}
			s[k] = mustJSON(p)
		case k == "required":
			s[k] = mustJSON(append(s.strings(k), o.strings(k)...))
		}
	}
}

// mustJSON encodes what was decoded from JSON a moment ago.
func mustJSON(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return b
}

// lookup follows a local reference, a JSON pointer in a fragment.
func (g *generator) lookup(ref string) json.RawMessage {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	if p, err := url.PathUnescape(pointer); err == nil {
		pointer = p
	}
	at := g.root
	for i, part := range strings.Split(pointer, "/") {
		if i == 0 {
			continue
		}
		part = strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
		switch jsonscan.TypeOf(at) {
		case jsonscan.Object:
			var o schema
			if json.Unmarshal(at, &o) != nil {
				return nil
			}
			at = o[part]
		case jsonscan.Array:
			var a []json.RawMessage
			n, err := strconv.Atoi(part)
			if json.Unmarshal(at, &a) != nil || err != nil || n < 0 || n >= len(a) {
				return nil
			}
			at = a[n]
		default:
			return nil
		}
	}
	return at
}

func (g *generator) value(dst []byte, raw json.RawMessage, depth int) []byte {
	if depth > maxDepth || g.left <= 0 {
		return append(dst, "null"...)
	}
	s := g.resolve(raw, depth)
	if list := s.array("enum"); len(list) > 0 {
		return append(dst, list[0]...)
	}
	if c := s["const"]; c != nil {
		return append(dst, c...)
	}
	kind := s.kind()
	if d := s["default"]; d != nil && fits(d, kind) {
		return append(dst, d...)
	}
	switch kind {
	case "object":
		dst, _ = g.properties(append(dst, '{'), s, nil, depth)
		return append(dst, '}')
	case "array":
		return g.items(dst, s, depth)
	case "integer", "number":
		return s.numeral(dst, kind == "integer")
	case "boolean":
		return append(dst, "false"...)
	case "null":
		return append(dst, "null"...)
	}
	return jsonscan.AppendString(dst, s.sample())
}

// kind is the type to make: the first that is not null, else what the keywords speak of.
func (s schema) kind() string {
	if t := s.text("type"); t != "" {
		return t
	}
	if types := s.strings("type"); len(types) > 0 {
		for _, t := range types {
			if t != "null" {
				return t
			}
		}
		return "null"
	}
	for _, k := range [...]struct{ key, kind string }{
		{"properties", "object"},
		{"required", "object"},
		{"items", "array"},
		{"prefixItems", "array"},
		{"minItems", "array"},
		{"minimum", "number"},
		{"maximum", "number"},
		{"multipleOf", "number"},
	} {
		if s[k.key] != nil {
			return k.kind
		}
	}
	return "string"
}

// fits reports whether a default is of the type that is wanted: many schemas say null for "none".
func fits(raw json.RawMessage, kind string) bool {
	switch jsonscan.TypeOf(raw) {
	case jsonscan.Object:
		return kind == "object"
	case jsonscan.Array:
		return kind == "array"
	case jsonscan.Bool:
		return kind == "boolean"
	case jsonscan.Null:
		return kind == "null"
	case jsonscan.String:
		return kind == "string"
	case jsonscan.Number:
		return kind == "number" || kind == "integer" && !strings.ContainsAny(string(raw), ".eE")
	}
	return false
}

func member(dst []byte, n int, name string) []byte {
	if n > 0 {
		dst = append(dst, ',')
	}
	return append(jsonscan.AppendString(dst, name), ':')
}

// properties writes the required properties, in the order in which they are required.
func (g *generator) properties(dst []byte, s schema, given []Member, depth int) ([]byte, int) {
	props, n := s.object("properties"), 0
	seen := map[string]bool{}
	for _, name := range s.strings("required") {
		if seen[name] {
			continue
		}
		seen[name] = true
		dst = member(dst, n, name)
		n++
		own := false
		for _, m := range given {
			if m.Name == name {
				dst, own = append(dst, m.JSON...), true
				break
			}
		}
		if own {
			continue
		}
		sub := props[name]
		if sub == nil {
			if sub = s["additionalProperties"]; jsonscan.TypeOf(sub) != jsonscan.Object {
				sub = json.RawMessage(`{}`)
			}
		}
		dst = g.value(dst, sub, depth+1)
	}
	return dst, n
}

func (g *generator) items(dst []byte, s schema, depth int) []byte {
	prefix := s.array("prefixItems")
	dst = append(dst, '[')
	for i := range min(s.count("minItems", 0), maxItems) {
		if i > 0 {
			dst = append(dst, ',')
		}
		item := s["items"]
		if i < len(prefix) {
			item = prefix[i]
		}
		if jsonscan.TypeOf(item) != jsonscan.Object {
			item = json.RawMessage(`{}`)
		}
		dst = g.value(dst, item, depth+1)
	}
	return append(dst, ']')
}

// numeral writes a number within bounds, the lower one where there is one, else 1.
func (s schema) numeral(dst []byte, integer bool) []byte {
	step := 1.0
	m, multiple := s.number("multipleOf")
	if multiple && m > 0 {
		step = m
	}
	low, high := math.Inf(-1), math.Inf(1)
	if f, ok := s.number("minimum"); ok {
		low = f
	}
	if f, ok := s.number("exclusiveMinimum"); ok && f >= low {
		low = f + step/2
	}
	if f, ok := s.number("maximum"); ok {
		high = f
	}
	if f, ok := s.number("exclusiveMaximum"); ok && f <= high {
		high = f - step/2
	}
	v := 1.0
	switch {
	case low >= 0:
		v = low
	case v < low || v > high:
		v = min(max(0, low), high)
	}
	if integer || multiple {
		if c := math.Ceil(v/step) * step; c <= high {
			v = c
		} else {
			v = math.Floor(v/step) * step
		}
	}
	if math.IsNaN(v) || math.IsInf(v, 0) {
		v = 0
	}
	if v == math.Trunc(v) && math.Abs(v) < 1<<62 {
		return strconv.AppendInt(dst, int64(v), 10)
	}
	return strconv.AppendFloat(dst, v, 'g', -1, 64)
}

// word is the text of a string that nothing else is asked of.
const word = "weir"

var formats = map[string]string{
	"date": "2026-01-01", "date-time": "2026-01-01T00:00:00Z", "time": "00:00:00Z", "duration": "PT1S",
	"email": "weir@example.org", "idn-email": "weir@example.org", "hostname": "example.org", "idn-hostname": "example.org",
	"ipv4": "192.0.2.1", "ipv6": "2001:db8::1", "uri": "https://example.org/", "url": "https://example.org/", "iri": "https://example.org/",
	"uri-reference": "/weir", "uuid": "00000000-0000-4000-8000-000000000000", "json-pointer": "/weir", "regex": "weir",
}

func (s schema) sample() string {
	if v, ok := formats[s.text("format")]; ok {
		return v
	}
	if p := s.text("pattern"); p != "" {
		if v, ok := Match(p); ok {
			return v
		}
	}
	v := word
	least, most := s.count("minLength", 0), s.count("maxLength", math.MaxInt32)
	if n := min(least, maxChars); utf8.RuneCountInString(v) < n {
		v = strings.Repeat(word, n/len(word)+1)[:n]
	}
	if len(v) > most {
		v = v[:most]
	}
	return v
}
