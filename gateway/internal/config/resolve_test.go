package config_test

import (
	"strings"
	"testing"

	"github.com/weirgate/weir/gateway/internal/config"
)

func TestResolve(t *testing.T) {
	t.Parallel()
	const sim = "\nengines = [\"sim\"]\nfamily = \"qwen3\"\n"
	c := mustParse(t, "engines.sim.kind = \"sim\""+
		"\n[[models]]\nid = \"one\"\naliases = [\"*\", \"claude-*\", \"exact\", \"*-mini\"]"+sim+
		"[[models]]\nid = \"two\"\naliases = [\"claude-opus-*\", \"gpt-*\", \"mini-*\"]"+sim+
		"[[models]]\nid = \"claude-opus-4\"\naliases = [\"claude-*[1m]\", \"gpt-4*-x\"]"+sim)
	for _, tt := range []struct{ name, asked, want string }{
		{"id", "two", "two"},
		{"alias", "exact", "one"},
		{"id before pattern", "claude-opus-4", "claude-opus-4"},
		{"longer pattern", "claude-opus-5", "two"},
		{"shorter pattern", "claude-haiku", "one"},
		{"longest by letters, not by place", "claude-x[1m]", "claude-opus-4"},
		{"longest of two in one name", "claude-opus-9[1m]", "two"},
		{"catch-all", "anything", "one"},
		{"tie goes to the first in the file", "mini-mini", "one"},
		{"inner star", "gpt-4o-x", "claude-opus-4"},
		{"empty name", "", "one"},
		{"case counts", "TWO", "one"},
		{"too long", strings.Repeat("a", 200), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := ""
			if m := c.Resolve(tt.asked); m != nil {
				got = m.ID
			}
			if got != tt.want {
				t.Errorf("%q: got %q, want %q", tt.asked, got, tt.want)
			}
		})
	}
	if m := mustParse(t, "").Resolve("llama"); m != nil {
		t.Errorf("no entry matches, got %s", m.ID)
	}
}

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"a", "a", true},
		{"a", "ab", false},
		{"", "", true},
		{"", "a", false},
		{"*", "", true},
		{"*", "a", true},
		{"a*", "a", true},
		{"a*", "b", false},
		{"*a", "ba", true},
		{"*a", "ab", false},
		{"a*a", "a", false},
		{"a*a", "aa", true},
		{"a*b*c", "abc", true},
		{"a*b*c", "a-c-b-c", true},
		{"a*b*c", "acb", false},
		{"*a*a*a*", "aa", false},
		{"*a*a*a*", "xaxaxax", true},
		{"*ab", "aab", true},
		{"*aab*b", "aaabb", true},
	} {
		if got := config.Match(tt.pattern, tt.name); got != tt.want {
			t.Errorf("Match(%q, %q) = %v", tt.pattern, tt.name, got)
		}
	}
}
