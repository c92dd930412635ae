// Package weir_test holds the repository to its own rules: who may import whom, what documents what, and
// what must not be in a file.
package weir_test

import (
	"bytes"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Lines of a source file: more than wanted is logged, more than allowed fails.
const (
	wantedLines  = 450
	allowedLines = 700
)

// each calls f for every file of the repository that is meant to be committed. Tests run in the root.
func each(t *testing.T, f func(path string, d fs.DirEntry)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && (d.Name() == ".git" || d.Name() == "node_modules" || d.Name() == "target" || d.Name() == "dist") {
			return filepath.SkipDir
		}
		if d.Type().IsRegular() {
			f(path, d)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestPackageComments wants exactly one package comment a directory, which begins as godoc expects.
func TestPackageComments(t *testing.T) {
	type directory struct {
		sources, comments int
		name, text        string
	}
	dirs := map[string]*directory{}
	fset := token.NewFileSet()
	each(t, func(path string, _ fs.DirEntry) {
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "testdata/") {
			return
		}
		f, err := parser.ParseFile(fset, path, nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Error(err)
			return
		}
		d := dirs[filepath.Dir(path)]
		if d == nil {
			d = &directory{}
			dirs[filepath.Dir(path)] = d
		}
		d.sources++
		d.name = f.Name.Name
		if f.Doc != nil {
			d.comments++
			d.text = f.Doc.Text()
		}
	})
	for path, d := range dirs {
		if d.comments != 1 {
			t.Errorf("%s has %d package comments in %d files, expected 1", path, d.comments, d.sources)
			continue
		}
		begin := "Package " + d.name + " "
		if d.name == "main" {
			begin = "Command "
		}
		if !strings.HasPrefix(d.text, begin) {
			t.Errorf("%s: the package comment begins %.40q, expected %q", path, d.text, begin)
		}
	}
}

func TestFileLengths(t *testing.T) {
	each(t, func(path string, _ fs.DirEntry) {
		if !strings.HasSuffix(path, ".go") {
			return
		}
		switch n := bytes.Count(read(t, path), []byte("\n")); {
		case n > allowedLines:
			t.Errorf("%s has %d lines, at most %d", path, n, allowedLines)
		case n > wantedLines:
			t.Logf("%s has %d lines, wanted are at most %d", path, n, wantedLines)
		}
	})
}

// TestGoMod wants no replace: `go install` refuses a module that has one.
func TestGoMod(t *testing.T) {
	each(t, func(path string, d fs.DirEntry) {
		if d.Name() != "go.mod" {
			return
		}
		if path != "go.mod" && !strings.HasPrefix(path, "plugins"+string(filepath.Separator)+"examples") && !strings.HasPrefix(path, "scripts") {
			t.Errorf("%s: the repository is one module", path)
		}
		for line := range strings.Lines(string(read(t, path))) {
			if strings.HasPrefix(strings.TrimSpace(line), "replace") {
				t.Errorf("%s: %s", path, strings.TrimSpace(line))
			}
		}
	})
}

// TestNoMachinePaths looks in every file, binaries included, for the place where this copy of the
// repository lies.
func TestNoMachinePaths(t *testing.T) {
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	needles := [][]byte{[]byte(root)}
	if up := filepath.Dir(root); len(up) > 1 {
		needles = append(needles, []byte(up+string(filepath.Separator)))
	}
	if home, err := os.UserHomeDir(); err == nil && strings.Count(home, string(filepath.Separator)) > 1 {
		needles = append(needles, []byte(home+string(filepath.Separator)))
	}
	each(t, func(path string, _ fs.DirEntry) {
		b := read(t, path)
		for _, needle := range needles {
			if at := pathAt(b, needle); at >= 0 {
				t.Errorf("%s: %q stands in it", path, b[at:min(len(b), at+60)])
			}
		}
	})
}

// pathAt is where needle begins in b as an absolute path, or -1: what goes on from a longer path, as in
// a URL, is none.
func pathAt(b, needle []byte) int {
	for from := 0; ; {
		i := bytes.Index(b[from:], needle)
		if i < 0 {
			return -1
		}
		at := from + i
		if at == 0 || !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./~}$", rune(b[at-1])) {
			return at
		}
		from = at + 1
	}
}
