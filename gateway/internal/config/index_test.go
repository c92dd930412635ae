package config

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// find walks an index by a path such as a.b[1].c; a key with dots is quoted with '.
func find(t *testing.T, n *node, path string) int {
	t.Helper()
	for path != "" {
		path = strings.TrimPrefix(path, ".")
		if rest, ok := strings.CutPrefix(path, "["); ok {
			i := int(rest[0] - '0')
			if i >= len(n.elems) {
				t.Fatalf("no element at %s", path)
			}
			n, path = n.elems[i], rest[2:]
			continue
		}
		key := path
		if rest, ok := strings.CutPrefix(path, "'"); ok {
			key, path, _ = strings.Cut(rest, "'")
		} else if end := strings.IndexAny(path, ".["); end >= 0 {
			key, path = path[:end], path[end:]
		} else {
			path = ""
		}
		if n.kids[key] == nil {
			t.Fatalf("no key %q", key)
		}
		n = n.kids[key]
	}
	return n.line
}

func TestLines(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, doc string
		want      map[string]int
	}{
		{"keys", "a = 1\n\nb = 2 # x = 3\n", map[string]int{"a": 1, "b": 3}},
		{"no newline at the end", "a = 1\nb = 2", map[string]int{"b": 2}},
		{"crlf", "a = 1\r\nb = 'x'\r\n[c]\r\nd = [\r\n1,\r\n2]\r\n", map[string]int{"b": 2, "c.d": 4, "c.d[1]": 6}},
		{"tables", "[a]\nb = 1\n[a.c]\nd = 1\n[ x . y ]\nz = 1", map[string]int{"a": 1, "a.b": 2, "a.c": 3, "a.c.d": 4, "x": 5, "x.y.z": 6}},
		{"dotted", "a.b.c = 1\na.d = 2\n[t]\na . \"b\" . 'c' = 3", map[string]int{"a": 1, "a.b.c": 1, "a.d": 2, "t.a.b.c": 4}},
		{"quoted keys", "\"a.b\" = 1\n'c d' = 2\n\"\\u00e9\\t\" = 3\n\"\" = 4", map[string]int{"'a.b'": 1, "'c d'": 2, "é\t": 3, "''": 4}},
		{
			"arrays of tables", "[[m]]\nid = 1\n[[m]]\nid = 2\n[m.sub]\nx = 1\n[[m.list]]\ny = 1\n[[m.list]]\ny = 2\n[[m]]\nid = 3",
			map[string]int{"m": 1, "m[0]": 1, "m[0].id": 2, "m[1]": 3, "m[1].id": 4, "m[1].sub.x": 6, "m[1].list[1].y": 10, "m[2].id": 12},
		},
		{"inline", "a = { b = 1, c.d = { e = 'x' } }\nf = 1", map[string]int{"a.b": 1, "a.c.d.e": 1, "f": 2}},
		{"inline over lines", "a = {\n b = 1, # }\n c = [ { d = 1 },\n { d = 2 } ],\n}\nf = 1", map[string]int{"a.b": 2, "a.c[0].d": 3, "a.c[1].d": 4, "f": 6}},
		{"array", "a = [ # ]\n 'x',\n\n [1,\n2], \"]\", ]\nb = 1", map[string]int{"a[0]": 2, "a[1]": 4, "a[1][1]": 5, "a[2]": 5, "b": 6}},
		{"basic string", "a = \"# \\\" = \\\\\"\nb = 1", map[string]int{"b": 2}},
		{"raw string", "a = '\\'\nb = '# \"'\nc = 1", map[string]int{"b": 2, "c": 3}},
		{"long basic", "a = \"\"\"\nb = 1\n\\\"\"\" \"\" \\\n\n\"\"\"\"\nc = 1", map[string]int{"c": 6}},
		{"long raw", "a = '''x\n[b]\n\\''''\nc = 1", map[string]int{"c": 4}},
		{"empty strings", "a = \"\"\nb = ''\nc = \"\"\"\"\"\"\nd = ''''''\ne = 1", map[string]int{"b": 2, "c": 3, "d": 4, "e": 5}},
		{"scalars", "a = 1979-05-27 07:32:00Z # x\nb = +inf\nc = 0x1F\nd = true\ne = 1", map[string]int{"b": 2, "c": 3, "d": 4, "e": 5}},
		{"byte order mark", "\xef\xbb\xbfa = 1\nb = 2", map[string]int{"a": 1, "b": 2}},
		{"nothing", "", nil},
		{"comments alone", "# a = 1\n\t# b", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			root, err := scan(tt.doc)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := parseTOML(tt.doc); err != nil {
				t.Fatalf("the case itself is not TOML: %v", err)
			}
			for path, line := range tt.want {
				if got := find(t, root, path); got != line {
					t.Errorf("%s: line %d, want %d", path, got, line)
				}
			}
		})
	}
}

func TestScanRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, doc string
		line      int // 0: not TOML, for the library to tell
	}{
		{"deep array", "a = 1\nb = " + strings.Repeat("[", 1<<20), 2},
		{"deep inline", "a = " + strings.Repeat("{a=", 1<<16), 1},
		{"deep mix", "a = " + strings.Repeat("[{a=", 1<<16), 1},
		{"long dotted key", strings.Repeat("a.", 1<<16) + "a = 1", 1},
		{"long header", "\n[" + strings.Repeat("a.", 1<<16) + "a]", 2},
		{"long name", strings.Repeat("a", 200) + " = 1", 1},
		{"long quoted name", "\"" + strings.Repeat("a", 200) + "\" = 1", 1},
		{"open string", "a = \"x\nb = 1", 0},
		{"open long string", "a = '''x\nb = 1", 0},
		{"open array", "a = [1,", 0},
		{"open table", "a = {b = 1", 0},
		{"no value", "a =\nb = 1", 0},
		{"no key", "= 1", 0},
		{"two values", "a = 'x' 'y'", 0},
		{"open header", "[a\nb = 1", 0},
		{"half an array header", "[[a]\nb = 1", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := scan(tt.doc)
			var limit *limitError
			switch {
			case tt.line == 0 && !errors.Is(err, errSyntax):
				t.Errorf("got %v", err)
			case tt.line > 0 && (!errors.As(err, &limit) || limit.line != tt.line):
				t.Errorf("got %v, want a limit at line %d", err, tt.line)
			}
		})
	}
}

func TestSizes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		want int64 // -1: not a size
	}{
		{"0B", 0},
		{"1B", 1},
		{"1kB", 1000},
		{"1KiB", 1024},
		{"32MiB", 32 << 20},
		{"2 GB", 2e9},
		{"3GiB", 3 << 30},
		{"", -1},
		{"1", -1},
		{"B", -1},
		{"-1B", -1},
		{"+1B", -1},
		{"1.5MiB", -1},
		{"1KB", -1},
		{"1mib", -1},
		{"1  B", -1},
		{"9223372036854775807B", 1<<63 - 1},
		{"9223372036854775808B", -1},
		{"9007199254740993GiB", -1},
	} {
		got, ok := parseSize(tt.text)
		if !ok {
			got = -1
		}
		if got != tt.want {
			t.Errorf("%q: got %d, want %d", tt.text, got, tt.want)
		}
	}
}

// FuzzParse wants no panic, a place for every fault, and an index of everything that the library accepts.
func FuzzParse(f *testing.F) {
	for _, doc := range []string{
		"", "[server]\nlisten = \"127.0.0.1:0\"", "a.b = [{c=1},\n'x']", "[[models]]\nid = \"\"\"x\"\"\"\n[[models]]\n",
		"\"\\u0061\" = '''\n'''", "[engines.a]\nkind = \"openai\"\nurl = \"http://x\"", "seal.keys = [\"env:A\", \"file:x\", \"a\"]\nstore.path = \"~/x\"\n[responses]\nsocket_ttl = \"1h\"",
		"engines.sim.kind = \"sim\"\n[[models]]\nid = \"openai/a\"\naliases = [\"a\", \"anthropic/*\"]\nengines = [\"sim\"]\nfamily = \"qwen3\"\n[models.codex]\nreasoning_levels = [\"max\"]",
		"tenants = [{name = \"a\", keys = [1]}]", "\xff\xfe[[[",
	} {
		f.Add(doc)
	}
	known := Known{Engines: []string{"sim", "openai"}, Families: []string{"qwen3", "qwen3_coder"}, Reasoning: []string{"qwen3"}, Tools: []string{"hermes", "qwen3_coder"}, Policies: []string{"qwen3", "keep_all", "drop_all"}}
	f.Fuzz(func(t *testing.T, doc string) {
		o := Options{Known: known, LookupEnv: func(string) (string, bool) { return "", false }}
		c, err := Parse("f.toml", []byte(doc), o)
		if err == nil {
			if err := c.CheckListen(c.Server.Listen); err != nil {
				t.Fatalf("loaded with an open listener: %v", err)
			}
			for _, m := range c.Models {
				for _, name := range m.Names() {
					if found, listed := c.Lookup(name); found.ID != m.ID || listed != name {
						t.Fatalf("model %s is not found by %s", m.ID, name)
					}
					if vendor := "openai/" + name; len(vendor) <= maxModelName && c.Resolve(vendor) == nil {
						t.Fatalf("nothing is found by %s", vendor)
					}
				}
				if levels, level := m.ReasoningLevels(), m.DefaultReasoning(); (level == "") != (len(levels) == 0) || level != "" && !slices.Contains(levels, level) {
					t.Fatalf("model %s: level %q of %q", m.ID, level, levels)
				}
			}
		}
		var faults Faults
		if err != nil && !errors.As(err, &faults) {
			t.Fatalf("error is no fault: %v", err)
		}
		for _, fault := range faults {
			if fault.Line < 1 || fault.Line > 1+strings.Count(doc, "\n") || fault.Got == "" {
				t.Fatalf("fault without a place: %+v", fault)
			}
		}
		if _, lib := parseTOML(doc); lib == nil {
			if _, err := scan(doc); errors.Is(err, errSyntax) && !strings.HasPrefix(doc, "\xff\xfe") && !strings.HasPrefix(doc, "\xfe\xff") {
				t.Fatal("the library reads what the index does not")
			}
		}
	})
}
