package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirgate/weir/gateway/internal/config"
)

// TestKept reads what says how conversations are kept.
func TestKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "seal.key"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Parse(filepath.Join(dir, "weir.toml"), []byte(`
[seal]
keys = ["env:SEAL_KEY", "file:seal.key"]
strict = true
[store]
path = "kept/weir.db"
max = "1GiB"
ttl = "24h"
[responses]
reasoning_names = "open"
socket_ttl = "5m"
socket_memory = "1MiB"
deflate = false
[[tenants]]
name = "a"
any_key = true
store = false
websocket = false
`), options(t))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"env:SEAL_KEY", "file:" + filepath.Join(dir, "seal.key")}; !slices.Equal(c.Seal.Keys, want) || !c.Seal.Strict {
		t.Errorf("got %+v, want %q", c.Seal, want)
	}
	if want := (config.Store{Path: filepath.Join(dir, "kept/weir.db"), Max: 1 << 30, TTL: 24 * time.Hour}); c.Store != want {
		t.Errorf("got %+v, want %+v", c.Store, want)
	}
	if want := (config.Responses{OpenNames: true, SocketTTL: 5 * time.Minute, SocketMemory: 1 << 20}); c.Responses != want {
		t.Errorf("got %+v, want %+v", c.Responses, want)
	}
	if n := c.Tenants[0]; n.Store || n.WebSocket {
		t.Errorf("tenant %+v", n)
	}
	d := mustParse(t, "")
	if len(d.Seal.Keys) > 0 || d.Seal.Strict || d.Store != (config.Store{Max: 256 << 20, TTL: 720 * time.Hour}) ||
		d.Responses != (config.Responses{SocketTTL: time.Hour, SocketMemory: 32 << 20, Deflate: true}) || !d.Tenants[0].Store || !d.Tenants[0].WebSocket {
		t.Errorf("defaults %+v %+v %+v %+v", d.Seal, d.Store, d.Responses, d.Tenants[0])
	}
	if c := mustParse(t, "store.path = \"~/x.db\"\nresponses.reasoning_names = \"openai\""); c.Store.Path != "/home/weir/x.db" || c.Responses.OpenNames {
		t.Errorf("got %+v %+v", c.Store, c.Responses)
	}
}

// TestKeptWithoutHome wants no path from ~/ to be taken for none.
func TestKeptWithoutHome(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.LookupEnv = func(string) (string, bool) { return "", false }
	_, err := config.Parse("weir.toml", []byte("seal.keys = [\"file:~/x\"]\nstore.path = \"~/x\""), o)
	want := `weir.toml:1: seal.keys[0]: got "file:~/x" where no home folder is known, want a variable or file that holds a key
weir.toml:2: store.path: got "~/x" where no home folder is known, want an absolute path`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

// TestKeptReload has seals and sockets change while weir runs, and not the store.
func TestKeptReload(t *testing.T) {
	t.Parallel()
	old := mustParse(t, "")
	live := mustParse(t, "seal = { keys = [\"env:SEAL_KEY\"], strict = true }\n"+
		"responses = { reasoning_names = \"open\", socket_ttl = \"2m\", socket_memory = \"2MiB\", deflate = false }")
	if err := config.Diff(old, live); err != nil {
		t.Error(err)
	}
	err := config.Diff(old, mustParse(t, "[store]\npath = \"/x\"\nmax = \"1MiB\"\nttl = \"1h\""))
	if err == nil || strings.Count(err.Error(), "restart") != 3 {
		t.Errorf("got %v", err)
	}
}
