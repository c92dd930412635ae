package toolname_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weirgate/weir/abi/toolname"
)

func TestOf(t *testing.T) {
	long := strings.Repeat("é", 40)
	for _, tt := range []struct{ name, space, tool, want string }{
		{"alone", "", "f", "f"},
		{"alone and long", "", long, long},
		{"in a namespace", "ns", "f", "ns__f"},
		{"of 64 bytes", "ns", strings.Repeat("a", 60), "ns__" + strings.Repeat("a", 60)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := toolname.Of(tt.space, tt.tool); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	a, b := toolname.Of("mcp", long), toolname.Of("mcp", long+"x")
	if len(a) > 64 || len(b) > 64 || a == b || a != toolname.Of("mcp", long) || !strings.HasPrefix(a, "mcp__é") || !utf8.ValidString(a) {
		t.Errorf("%q and %q", a, b)
	}
	if got := toolname.Of(strings.Repeat("\x80", 70), "f"); len(got) > 64 {
		t.Errorf("no text: %q", got)
	}
}
