package kit_test

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/weirgate/weir/gateway/internal/kit"
)

// TestGoProjectWithoutClone is written where no clone of this module is near: what it lacks is told when it is
// written, and when its build fails for that.
func TestGoProjectWithoutClone(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("GOFLAGS", "-mod=readonly")
	t.Setenv("GOWORK", "off")
	t.Setenv("GOPROXY", "off")
	if _, err := kit.New(kit.Project{Lang: "go", Kind: "parser", Name: "acme", Dir: "acme"}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join("acme", "go.mod"))
	if err != nil || !bytes.Contains(b, []byte("require github.com/weirgate/weir v0.0.0\n")) || bytes.Contains(b, []byte("replace")) {
		t.Errorf("got %q, %v", b, err)
	}
	const want = "go mod edit -replace github.com/weirgate/weir=PATH_OF_A_CLONE"
	if got := kit.Before("acme"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	var log bytes.Buffer
	if _, err := kit.Build(t.Context(), kit.BuildOptions{Dir: "acme", Log: &log}); err == nil || !strings.HasSuffix(err.Error(), "; first, in acme: "+want) {
		t.Errorf("got %v, want one that ends in %q", err, want)
	}
}

func TestBefore(t *testing.T) {
	t.Parallel()
	const replace, tidy = "go mod edit -replace github.com/weirgate/weir=PATH_OF_A_CLONE", "go mod tidy"
	for _, tt := range []struct{ name, mod, sum, want string }{
		{"no go.mod", "", "", ""},
		{"nothing required", "module x\n", "", ""},
		{"this module", "module github.com/weirgate/weir\n", "", ""},
		{"no version", "module x\n\nrequire github.com/weirgate/weir v0.0.0\n", "", replace},
		{"no version, in a block", "module x\n\nrequire (\n\tother v1.0.0\n\tgithub.com/weirgate/weir v0.0.0 // indirect\n)\n", "x", replace},
		{"replaced", "module x\n\nrequire github.com/weirgate/weir v0.0.0\n\nreplace github.com/weirgate/weir => ../weir\n", "", ""},
		{"replaced in a block, first", "module x\n\nreplace (\n\tgithub.com/weirgate/weir v0.0.0 => ../weir\n)\n\nrequire github.com/weirgate/weir v0.0.0\n", "", ""},
		{"replaced in a comment", "module x\n\nrequire github.com/weirgate/weir v0.0.0 // replace github.com/weirgate/weir => ../weir\n", "", replace},
		{"a version without sums", "module x\n\nrequire github.com/weirgate/weir v1.2.3\n", "", tidy},
		{"a version with sums", "module x\n\nrequire github.com/weirgate/weir v1.2.3\n", "x", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, text := range map[string]string{"go.mod": tt.mod, "go.sum": tt.sum} {
				if text == "" {
					continue
				}
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if got := kit.Before(dir); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestPublished(t *testing.T) {
	t.Parallel()
	const module, sum = "github.com/weirgate/weir", "h1:x"
	for _, tt := range []struct {
		name string
		m    debug.Module
		want string
	}{
		{"downloaded", debug.Module{Path: module, Version: "v1.2.3", Sum: sum}, "v1.2.3"},
		{"downloaded at a commit", debug.Module{Path: module, Version: "v0.0.0-20260101000000-abcdefabcdef", Sum: sum}, "v0.0.0-20260101000000-abcdefabcdef"},
		{"a clone at a tag", debug.Module{Path: module, Version: "v1.2.3"}, kit.NoVersion},
		{"a clone with changes", debug.Module{Path: module, Version: "v1.2.4-0.20260101000000-abcdefabcdef+dirty"}, kit.NoVersion},
		{"no version", debug.Module{Path: module, Version: "(devel)"}, kit.NoVersion},
		{"another module", debug.Module{Path: "example.com/x", Version: "v1.2.3", Sum: sum}, kit.NoVersion},
	} {
		if got := kit.Published(&tt.m); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
