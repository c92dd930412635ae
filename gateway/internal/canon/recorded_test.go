package canon_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/gateway/internal/canon/canontest"
)

// recorded are the requests of real clients, by the name of their scenario and in order.
func recorded(t *testing.T) map[string][]*conv.Request {
	t.Helper()
	out := map[string][]*conv.Request{}
	for _, r := range canontest.Recorded(t) {
		name := r.Client + "/" + r.Scenario
		out[name] = append(out[name], r.Conv)
	}
	return out
}

// lines are the parts of a conversation, those that the client takes away again apart.
func lines(req *conv.Request) (kept, volatile []string) {
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			line := fmt.Sprintf("%v %d %q", m.Role, p.Kind, p.Text)
			switch {
			case p.Call != nil:
				line += fmt.Sprintf(" %+v", *p.Call)
			case p.Result != nil:
				line += fmt.Sprintf(" %+v", *p.Result)
			}
			if p.Volatile {
				volatile = append(volatile, line)
			} else {
				kept = append(kept, line)
			}
		}
	}
	return kept, volatile
}

// TestRecordedPrefixes wants what is left of each request, once its volatile end is off, to be what the next
// one of the conversation begins with; and its tools, those aside that come later.
func TestRecordedPrefixes(t *testing.T) {
	t.Parallel()
	compared := 0
	for name, list := range recorded(t) {
		for i, req := range list[:len(list)-1] {
			next := list[i+1]
			before, _ := lines(req)
			after, _ := lines(next)
			first := slices.IndexFunc(before, func(s string) bool { return strings.HasPrefix(s, "user") })
			if strings.Contains(name, "sysrole400") || first < 0 || len(after) <= first || !slices.Equal(before[:first+1], after[:first+1]) {
				continue // other conversations; and one that was sent again in another form when it was refused
			}
			compared++
			if len(after) < len(before) || !slices.Equal(before, after[:len(before)]) {
				t.Errorf("%s, %d: what was\n%s\nis\n%s", name, i, strings.Join(before, "\n"), strings.Join(after, "\n"))
			}
			if a, b := stock(req), stock(next); a != b {
				t.Errorf("%s, %d: the tools were\n%s\nare\n%s", name, i, a, b)
			}
		}
	}
	t.Logf("%d pairs of requests compared", compared)
}

// stock are the tools that stand in the prompt from the beginning.
func stock(req *conv.Request) (s string) {
	for _, d := range req.Tools {
		if !d.Deferred {
			s += fmt.Sprintf("%s %s %s\n", d.Name, d.Description, d.Schema)
		}
	}
	return s
}

// TestRecordedVolatile wants the rules to meet the blocks that they were made for, and no others.
func TestRecordedVolatile(t *testing.T) {
	t.Parallel()
	met := 0
	for name, list := range recorded(t) {
		for i, req := range list {
			_, volatile := lines(req)
			want := 0
			if strings.HasPrefix(name, "openclaw") || name == "claude-code/ccz_autocompact" && i == 2 {
				want = 1
			}
			if met += len(volatile); len(volatile) != want {
				t.Errorf("%s, %d: volatile %q", name, i, volatile)
			}
		}
	}
	t.Logf("%d blocks", met)
}

// TestRecordedPreambles wants no metadata line in any prompt.
func TestRecordedPreambles(t *testing.T) {
	t.Parallel()
	for name, list := range recorded(t) {
		for i, req := range list {
			kept, _ := lines(req)
			if s := strings.Join(kept, "\n"); strings.Contains(s, "x-anthropic-billing-header") {
				t.Errorf("%s, %d: %.200s", name, i, s)
			}
		}
	}
}
