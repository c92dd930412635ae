package gateway_test

import (
	"strings"
	"testing"
)

// TestPrefixIsTold says on each transport what of a prompt was seen before: in a header of an HTTP response, and in the
// first frame of a socket that asked for it.
func TestPrefixIsTold(t *testing.T) {
	t.Parallel()
	w := start(t, options{})
	onEach(t, func(t *testing.T, s surface) {
		w := *w
		w.tb = t
		long := strings.Repeat("many words of "+s.name+" ", 200)
		for _, want := range []string{"reused=0; cause=", "cause=none"} {
			resp, _ := w.post(s.path, s.body("sim", long, `"max_tokens":9`))
			if got := resp.Header.Get("X-Weir-Prefix"); !strings.Contains(got, want) {
				t.Errorf("x-weir-prefix %q, want %q", got, want)
			}
		}
		if s.name == "responses" { // whose messages have no place for it
			return
		}
		for _, asks := range []bool{false, true} {
			var header []string
			if asks {
				header = []string{"X-Weir-Prefix", "1"}
			}
			k := w.dial(s.path, header...)
			k.request(`"a"`, s.body("sim", long, `"max_tokens":9`))
			frames := k.turn(`"a"`)
			for i, f := range frames {
				if told := strings.HasPrefix(f.Prefix, "reused="); told != (asks && i == 0) {
					t.Errorf("asks %v: frame %d: %+v", asks, i, f)
				}
			}
		}
	})
}
