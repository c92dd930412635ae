package gateway_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirgate/weir/gateway"
)

// TestSealKey starts gateways on state folders of all kinds: one is made, one that cannot be made is done without and told,
// and a key that is there and is none is an error.
func TestSealKey(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		prepare func(t *testing.T, dir string)
		log     string // of the warning
		err     string
	}{
		{name: "a new folder", prepare: func(*testing.T, string) {}, log: "opened by this weir alone"},
		{name: "a file in its place", prepare: func(t *testing.T, dir string) {
			t.Helper()
			if err := os.WriteFile(dir, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, log: "memory: "},
		{name: "no key in it", prepare: func(t *testing.T, dir string) {
			t.Helper()
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "seal.key"), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, err: "seal.key"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			c.prepare(t, filepath.Join(home, "weir"))
			var log strings.Builder
			gw, err := gateway.New(t.Context(), gateway.Options{LogOutput: &log, LookupEnv: func(name string) (string, bool) {
				return map[string]string{"XDG_DATA_HOME": home, "XDG_CACHE_HOME": filepath.Join(home, "cache")}[name], true
			}})
			if err == nil {
				gw.Close()
			}
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("error %v, want %q", err, c.err)
			}
			if !strings.Contains(log.String(), c.log) {
				t.Errorf("the log says %s", log.String())
			}
		})
	}
}
