package gateway_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
)

// section is one file of an archive.
type section struct {
	name string
	data string
}

// archive is text in sections, each under a line "-- NAME --"; head stands before the first.
type archive struct {
	head     string
	sections []section
}

func readArchive(tb testing.TB, path string) *archive {
	tb.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	a := &archive{}
	to := &a.head
	for line := range strings.Lines(string(b)) {
		name, ok := strings.CutPrefix(strings.TrimSuffix(line, " --\n"), "-- ")
		if !ok || !strings.HasSuffix(line, " --\n") {
			*to += line
			continue
		}
		a.sections = append(a.sections, section{name: name})
		to = &a.sections[len(a.sections)-1].data
	}
	return a
}

// section returns the data of a section, empty where there is none.
func (a *archive) section(name string) string {
	for _, s := range a.sections {
		if s.name == name {
			return s.data
		}
	}
	return ""
}

// compare checks a section, or, with update, replaces it.
func (a *archive) compare(t *testing.T, name, got string, update bool) {
	t.Helper()
	if want := a.section(name); update {
		a.set(name, got)
	} else if got != want {
		t.Errorf("section %s differs; got:\n%s\nwant:\n%s", name, got, want)
	}
}

func (a *archive) set(name, data string) {
	for i := range a.sections {
		if a.sections[i].name == name {
			a.sections[i].data = data
			return
		}
	}
	a.sections = append(a.sections, section{name, data})
}

func (a *archive) write(tb testing.TB, path string) {
	tb.Helper()
	out := bytes.NewBufferString(a.head)
	for _, s := range a.sections {
		fmt.Fprintf(out, "-- %s --\n%s", s.name, s.data)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		tb.Fatal(err)
	}
}
