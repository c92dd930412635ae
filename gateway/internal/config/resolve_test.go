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

// TestVendors has clients put a vendor before a name: the longer name goes first where it is one.
func TestVendors(t *testing.T) {
	t.Parallel()
	const sim = "\nengines = [\"sim\"]\nfamily = \"qwen3\"\n"
	c := mustParse(t, "engines.sim.kind = \"sim\""+
		"\n[[models]]\nid = \"one\"\naliases = [\"short\", \"gpt-*\", \"openai/claude-*\"]"+sim+
		"[[models]]\nid = \"openai/one\"\naliases = [\"anthropic/mine\", \"claude-*\", \"openai/*\"]"+sim+
		"[[models]]\nid = \"three\"\naliases = [\"openai/openai/openai/short\", \"openai/gpt-5-*\", \"*\"]"+sim)
	for _, tt := range []struct{ name, asked, want, listed string }{
		{"id", "one", "one", "one"},
		{"id with a vendor is an id", "openai/one", "openai/one", "openai/one"},
		{"the longer name goes first", "openai/openai/one", "openai/one", "openai/one"},
		{"other vendor", "anthropic/one", "one", "one"},
		{"both", "openai/anthropic/one", "one", "one"},
		{"both, to a name with a vendor", "anthropic/openai/one", "openai/one", "openai/one"},
		{"alias", "short", "one", "short"},
		{"alias under a vendor", "openai/short", "one", "short"},
		{"alias twice under a vendor", "openai/openai/short", "one", "short"},
		{"alias with vendors", "openai/openai/openai/short", "three", "openai/openai/openai/short"},
		{"alias with a vendor", "anthropic/mine", "openai/one", "anthropic/mine"},
		{"alias with a vendor under another", "openai/anthropic/mine", "openai/one", "anthropic/mine"},
		{"not without its own vendor", "mine", "three", "three"},
		{"exact name before a pattern with more text", "openai/three", "three", "three"},
		{"pattern", "gpt-4", "one", "one"},
		{"pattern for a vendor", "openai/else", "openai/one", "openai/one"},
		{"pattern for a vendor has more of its own", "openai/gpt-4", "openai/one", "openai/one"},
		{"pattern for a vendor and a name", "openai/gpt-5-x", "three", "three"},
		{"pattern behind a vendor", "anthropic/gpt-4", "one", "one"},
		{"the pattern with more text, with the vendor", "openai/claude-x", "one", "one"},
		{"and behind another", "anthropic/claude-x", "openai/one", "openai/one"},
		{"another vendor", "google/one", "three", "three"},
		{"case counts", "OpenAI/one", "three", "three"},
		{"vendor inside", "x/openai/one", "three", "three"},
		{"vendor alone", "openai/", "openai/one", "openai/one"},
		{"no slash", "openaione", "three", "three"},
		{"too long", strings.Repeat("openai/", 18) + "one", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m, listed := c.Lookup(tt.asked)
			got := ""
			if m != nil {
				got = m.ID
			}
			if got != tt.want || listed != tt.listed || m != c.Resolve(tt.asked) {
				t.Errorf("%q: got %q as %q, want %q as %q", tt.asked, got, listed, tt.want, tt.listed)
			}
		})
	}
	if m := mustParse(t, "").Resolve("openai/llama"); m != nil {
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
