package parser_test

import (
	"bufio"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/guesttest"
	"github.com/weirgate/weir/plugins/parser/parsertest"
)

// cases reads the numbers of CASES.md.
func cases(t *testing.T) []string {
	t.Helper()
	f, err := os.Open("../CASES.md")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	row := regexp.MustCompile(`^\| ([A-Z]+-[0-9]+) \|`)
	var ids []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if m := row.FindStringSubmatch(lines.Text()); m != nil {
			ids = append(ids, m[1])
		}
	}
	if len(ids) < 40 {
		t.Fatalf("CASES.md has %d cases", len(ids))
	}
	return ids
}

// TestCases checks that every grammar answers every case, and that its answers are true.
func TestCases(t *testing.T) {
	corpus := map[string]guesttest.Case{}
	configs := map[string]string{}
	for _, f := range parsertest.Families() {
		for _, c := range f.Cases {
			corpus[f.Name+"/"+c.Name] = c
			configs[f.Name+"/"+c.Name] = f.Config
		}
	}
	ids := cases(t)
	for family, answers := range parsertest.Answers() {
		known := map[string]bool{}
		for _, id := range ids {
			known[id] = true
			t.Run(family+"/"+id, func(t *testing.T) {
				a := answers[id]
				switch {
				case a.NA != "":
				case a.Broken != "":
					if passes(t, a.Config, a.Input) {
						t.Errorf("known broken (%s), and it passes", a.Broken)
					}
				case a.Example == "":
					t.Error("no answer")
				default:
					c, ok := corpus[a.Example]
					if !ok || c.Want == "" {
						t.Fatalf("the corpus has no %s with a trace", a.Example)
					}
					if !passes(t, configs[a.Example], c) {
						t.Errorf("%s fails", a.Example)
					}
				}
			})
		}
		for id := range answers {
			if !known[id] {
				t.Errorf("%s answers %s, which CASES.md does not have", family, id)
			}
		}
	}
}

// passes reports whether c gives its trace, whole and in single bytes.
func passes(t *testing.T, config string, c guesttest.Case) bool {
	t.Helper()
	for _, split := range []func(int) []int{guesttest.Whole, guesttest.Every(1)} {
		got, err := guesttest.Trace(open(t, config), c, split)
		if err != nil || strings.TrimSpace(got) != strings.TrimSpace(c.Want) {
			return false
		}
	}
	return true
}
