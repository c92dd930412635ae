package config

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
)

// document is a file being decoded, and what was found wrong with it.
type document struct {
	file   string
	faults Faults
}

// read parses a document and returns its top table, or nil where it is not TOML and the fault is noted.
func (d *document) read(text string) *table {
	fail := func(line int, path, got, want string) *table {
		d.faults = append(d.faults, Fault{File: d.file, Line: line, Path: path, Got: got, Want: want})
		return nil
	}
	if len(text) > maxFile {
		return fail(0, "", count(len(text), "byte"), "at most "+formatSize(maxFile))
	}
	if !utf8.ValidString(text) {
		return fail(1+strings.Count(text[:invalidAt(text)], "\n"), "syntax", "bytes that are not UTF-8", "UTF-8")
	}
	root, err := scan(text)
	if limit, ok := errors.AsType[*limitError](err); ok {
		return fail(limit.line, "syntax", limit.got, limit.want)
	}
	tree, err := parseTOML(text)
	if syntax, ok := errors.AsType[toml.ParseError](err); ok {
		// The library's line is one short at the end of a file, its offset is right.
		body := strings.TrimPrefix(text, "\xef\xbb\xbf")
		start := min(max(syntax.Position.Start, 0), len(body))
		return fail(1+strings.Count(body[:start], "\n"), "syntax", strings.TrimSpace(syntax.Message), "")
	}
	if err != nil {
		return fail(0, "syntax", err.Error(), "")
	}
	return &table{d: d, m: tree, at: root}
}

func invalidAt(s string) int {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(s)
}

// parseTOML runs the library, which panics where it finds itself inconsistent.
func parseTOML(text string) (tree map[string]any, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("a document that the TOML parser cannot read")
		}
	}()
	_, err = toml.Decode(text, &tree)
	return tree, err
}

// table is one table of the document. Every method names a key that may stand in it; a value that is
// absent leaves its destination as it is.
type table struct {
	d     *document
	path  string
	m     map[string]any
	at    *node
	known map[string]bool
}

func (t *table) origin() origin { return origin{t.d.file, t.path, t.at} }

func (t *table) fault(key, got, want string) {
	t.d.faults = append(t.d.faults, t.origin().fault(key, got, want))
}

// know lets a key stand in the table.
func (t *table) know(key string) {
	if t.known == nil {
		t.known = map[string]bool{}
	}
	t.known[key] = true
}

func (t *table) take(key string) (any, bool) {
	t.know(key)
	v, ok := t.m[key]
	return v, ok
}

// require reports a key that the document does not have.
func (t *table) require(key, want string) {
	if _, ok := t.m[key]; !ok {
		t.fault(key, "nothing", want)
	}
}

// rule is what a text must be.
type rule struct {
	want string
	ok   func(string) bool
	show func(string) string // how a fault tells the text; nil: quoted
}

func (r rule) shown(v string) string {
	if r.show != nil {
		return r.show(v)
	}
	return showText(v)
}

func take[T any](t *table, key, want string) (v T, ok bool) {
	raw, there := t.take(key)
	if !there {
		return v, false
	}
	if v, ok = raw.(T); !ok {
		t.fault(key, show(raw), want)
	}
	return v, ok
}

func (t *table) text(key string, dst *string, rules ...rule) {
	v, ok := take[string](t, key, "a string")
	if !ok {
		return
	}
	for _, r := range rules {
		if !r.ok(v) {
			t.fault(key, r.shown(v), r.want)
			return
		}
	}
	*dst = v
}

// oneOf reads a string of a closed set.
func oneOf[T ~string](t *table, key string, dst *T, set []T) {
	v, ok := take[string](t, key, "a string: "+choice(set))
	if !ok {
		return
	}
	if !slices.Contains(set, T(v)) {
		t.fault(key, showText(v), choice(set))
		return
	}
	*dst = T(v)
}

// optional is oneOf where the empty string stands for none.
func optional(t *table, key string, dst *string, set []string) {
	if v, ok := t.m[key].(string); ok && v == "" {
		t.know(key)
		*dst = ""
		return
	}
	oneOf(t, key, dst, set)
}

func (t *table) flag(key string, dst *bool) {
	if v, ok := take[bool](t, key, "true or false"); ok {
		*dst = v
	}
}

func (t *table) number(key string, dst *int, least, most int) {
	want := "an integer from " + show(int64(least)) + " to " + show(int64(most))
	v, ok := take[int64](t, key, want)
	if !ok {
		return
	}
	if v < int64(least) || v > int64(most) {
		t.fault(key, show(v), want)
		return
	}
	*dst = int(v)
}

// shareWant is what a share must be.
const shareWant = "a number over 0 and up to 1, such as 0.05"

// share reads a part of a whole.
func (t *table) share(key string, dst *float64) {
	raw, there := t.take(key)
	if !there {
		return
	}
	v, ok := raw.(float64)
	if n, whole := raw.(int64); whole {
		v, ok = float64(n), true
	}
	if within := v > 0 && v <= 1; !ok || !within { // which NaN is not
		t.fault(key, show(raw), shareWant)
		return
	}
	*dst = v
}

func (t *table) duration(key string, dst *time.Duration, least, most time.Duration) {
	want := "a duration from " + formatDuration(least) + " to " + formatDuration(most)
	form := want + ", as a string such as " + showText(formatDuration(*dst))
	v, ok := take[string](t, key, form)
	if !ok {
		return
	}
	n, err := time.ParseDuration(v)
	switch {
	case err != nil:
		t.fault(key, showText(v), form)
	case n < least || n > most:
		t.fault(key, showText(v), want)
	default:
		*dst = n
	}
}

func (t *table) size(key string, dst *int64, least, most int64) {
	want := "a size from " + formatSize(least) + " to " + formatSize(most)
	form := want + ", as a string such as " + showText(formatSize(*dst))
	v, ok := take[string](t, key, form)
	if !ok {
		return
	}
	n, ok := parseSize(v)
	switch {
	case !ok:
		t.fault(key, showText(v), form)
	case n < least || n > most:
		t.fault(key, showText(v), want)
	default:
		*dst = n
	}
}

// texts reads an array of strings; faulty elements are reported one by one.
func (t *table) texts(key string, dst *[]string, r rule) {
	raw, ok := take[[]any](t, key, "an array of strings")
	if !ok {
		return
	}
	list := make([]string, 0, len(raw))
	for i, e := range raw {
		at := t.element(key, i)
		switch v, ok := e.(string); {
		case !ok:
			t.d.faults = append(t.d.faults, at.here(show(e), "a string"))
		case !r.ok(v):
			t.d.faults = append(t.d.faults, at.here(r.shown(v), r.want))
		default:
			list = append(list, v)
		}
	}
	*dst = list
}

// element is the place of element i of an array.
func (t *table) element(key string, i int) origin { return t.origin().element(key, i) }

func (o origin) element(key string, i int) origin {
	e := origin{file: o.file, path: join(o.path, key) + "[" + show(int64(i)) + "]"}
	if o.at != nil {
		e.at = o.at.kid(key).elem(i)
	}
	return e
}

// here is a fault of the place itself.
func (o origin) here(got, want string) Fault {
	f := Fault{File: o.file, Path: o.path, Got: got, Want: want}
	if o.at != nil {
		f.Line = o.at.line
	}
	return f
}

// sub calls read with the table under key, if there is one.
func (t *table) sub(key string, read func(*table)) {
	m, ok := take[map[string]any](t, key, "a table")
	if !ok {
		return
	}
	s := &table{d: t.d, path: join(t.path, key), m: m, at: t.at.kid(key)}
	read(s)
	s.end()
}

// subs reads an array of tables and reports whether the document has one.
func (t *table) subs(key string, read func(*table)) bool {
	raw, there := t.take(key)
	if !there {
		return false
	}
	var list []any
	switch v := raw.(type) {
	case []any:
		list = v
	case []map[string]any:
		for _, m := range v {
			list = append(list, m)
		}
	default:
		t.fault(key, show(raw), "an array of tables, each under [["+key+"]]")
		return true
	}
	for i, e := range list {
		o := t.element(key, i)
		m, ok := e.(map[string]any)
		if !ok {
			t.d.faults = append(t.d.faults, o.here(show(e), "a table"))
			continue
		}
		s := &table{d: t.d, path: o.path, m: m, at: o.at}
		read(s)
		s.end()
	}
	return true
}

// end reports the keys that no method named.
func (t *table) end() {
	var known []string
	for key := range t.m {
		if t.known[key] {
			continue
		}
		if known == nil {
			known = slices.Sorted(maps.Keys(t.known))
		}
		want := choice(known)
		if n := nearest(key, known); n != "" {
			want = n + " perhaps, or " + want
		}
		t.fault(key, "an unknown key", want)
	}
}

// nearest returns the known key that key may be a misspelling of, or nothing.
func nearest(key string, known []string) string {
	best, name := 3, ""
	for _, k := range known {
		if d := distance(key, k); d < best && d < len(k) {
			best, name = d, k
		}
	}
	return name
}

// distance counts the edits from a to b; keys are at most maxKey bytes long.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diag := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diag
			if a[i] != b[j] {
				cost++
			}
			diag = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
