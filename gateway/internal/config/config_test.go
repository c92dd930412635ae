package config_test

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirgate/weir/configs"
	"github.com/weirgate/weir/gateway/internal/config"
)

var update = flag.Bool("update", false, "write the .want files of testdata")

func options(tb testing.TB) config.Options {
	tb.Helper()
	vars := map[string]string{
		"HOME": "/home/weir", "VLLM_API_KEY": "engine-key", "SEAL_KEY": "a secret key", "BAD_VALUE": "secret value",
	}
	return config.Options{
		Known: config.Known{
			Engines:   []string{"sim", "openai"},
			Families:  []string{"qwen2.5", "qwen3", "qwen3.5", "qwen3_coder"},
			Reasoning: []string{"deepseek_r1", "qwen3"},
			Tools:     []string{"hermes", "qwen3_coder"},
			Policies:  []string{"qwen3", "qwen3.5", "keep_all", "drop_all"},
		},
		LookupEnv: func(k string) (string, bool) { v, ok := vars[k]; return v, ok },
	}
}

func parse(tb testing.TB, text string) (*config.Config, error) {
	tb.Helper()
	return config.Parse("weir.toml", []byte(text), options(tb))
}

func mustParse(tb testing.TB, text string) *config.Config {
	tb.Helper()
	c, err := parse(tb, text)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// TestBad reads every bad file and compares all that is wrong with it, word by word.
func TestBad(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.bad.toml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no bad files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".bad.toml"), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, err = config.Parse(filepath.Base(file), data, options(t))
			if _, ok := errors.AsType[config.Faults](err); !ok {
				t.Fatalf("got error %v, want faults", err)
			}
			got := err.Error() + "\n"
			if strings.Contains(got, "secret") {
				t.Errorf("a secret is printed:\n%s", got)
			}
			wantFile := strings.TrimSuffix(file, ".bad.toml") + ".want"
			if *update {
				if err := os.WriteFile(wantFile, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(wantFile)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("faults differ\ngot:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

func TestGood(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.good.toml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no good files: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			if _, err := config.Load(file, options(t)); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestExamplesLoad(t *testing.T) {
	t.Parallel()
	examples, err := configs.Examples()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	err = fs.WalkDir(examples, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		n++
		data, err := fs.ReadFile(examples, path)
		if err != nil {
			return err
		}
		if _, err := config.Parse(path, data, options(t)); err != nil {
			t.Errorf("%v", err)
		}
		return nil
	})
	if err != nil || n < 3 {
		t.Fatalf("%d examples: %v", n, err)
	}
}

func TestLoadErrors(t *testing.T) {
	t.Parallel()
	if _, err := config.Load(filepath.Join(t.TempDir(), "none.toml"), options(t)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: got %v", err)
	}
	big := filepath.Join(t.TempDir(), "big.toml")
	if err := os.WriteFile(big, []byte(strings.Repeat("#\n", 2<<20)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := config.Load(big, options(t)); err == nil || !strings.Contains(err.Error(), "want at most 2MiB") {
		t.Errorf("big file: got %v", err)
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	c := mustParse(t, `
[server]
listen = "localhost:0"
hosts = ["Weir.Example.com", "10.0.0.1"]
origins = ["https://Chat.example.com:8443"]
max_body = "1 GiB"
keepalive = "1m30s"
header_wait = "0s"
[plugins]
dir = "/srv/weir/plugins/"
failure = "abort"
[engines.v]
kind = "openai"
url = "http://127.0.0.1:9000/v1//"
api_key_env = "VLLM_API_KEY"
model = "served"
[engines.s]
kind = "sim"
seed = 7
[[models]]
id = "Qwen/Qwen3-8B"
engines = ["v"]
family = "qwen3"
reasoning = "qwen3"
[[models]]
id = "b"
engines = ["v"]
engine_model = "own"
family = "qwen3"
reasoning = "qwen3"
thinking = "off"
[[models]]
id = "c"
engines = ["s"]
family = "qwen3"
display_name = "C"
[[tenants]]
name = "ops"
keys = ["sha256:FF00000000000000000000000000000000000000000000000000000000000001"]
strip_preamble = false
`)
	e := c.Engine("v").OpenAI
	for _, tt := range []struct {
		name      string
		got, want any
	}{
		{"hosts", strings.Join(c.Server.Hosts, " "), "weir.example.com 10.0.0.1"},
		{"origins", c.Server.Origins[0], "https://chat.example.com:8443"},
		{"max_body", c.Server.MaxBody, int64(1 << 30)},
		{"keepalive", c.Server.KeepAlive.String(), "1m30s"},
		{"header_wait", c.Server.HeaderWait.String(), "0s"},
		{"untouched default", c.Server.ShutdownGrace.String(), "10s"},
		{"plugin dir", c.Plugins.Dir, "/srv/weir/plugins"},
		{"failure", c.Plugins.Failure, config.FailureAbort},
		{"engine order", c.Engines[0].Name + c.Engines[1].Name, "sv"},
		{"seed", c.Engine("s").Sim.Seed, 7},
		{"no engine", c.Engine("x") == nil, true},
		{"url", e.URL, "http://127.0.0.1:9000/v1"},
		{"key", e.APIKey.Reveal(), "engine-key"},
		{"key hidden", e.APIKey.String(), "[redacted]"},
		{"engine model of engine", c.Models[0].EngineModel, "served"},
		{"engine model of model", c.Models[1].EngineModel, "own"},
		{"engine model of id", c.Models[2].EngineModel, "c"},
		{"thinking by parser", c.Models[0].Thinking, true},
		{"thinking off", c.Models[1].Thinking, false},
		{"no thinking without parser", c.Models[2].Thinking, false},
		{"display name", c.Models[2].DisplayName, "C"},
		{"display name of id", c.Models[1].DisplayName, "b"},
		{"tenant replaced", len(c.Tenants), 1},
		{"key hash", c.Tenants[0].Keys[0][0] == 0xff && c.Tenants[0].Keys[0][31] == 1, true},
		{"strip", c.Tenants[0].StripPreamble, false},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, tt.got, tt.want)
		}
	}
}

func TestDirectories(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text         string
		vars               map[string]string
		state, dir, caches string
	}{
		{"home", "", map[string]string{"HOME": "/home/u"}, "/home/u/.local/share/weir", "/home/u/.local/share/weir/plugins", "/home/u/.cache/weir"},
		{"xdg", "", map[string]string{"HOME": "/home/u", "XDG_DATA_HOME": "/d", "XDG_CACHE_HOME": "/c"}, "/d/weir", "/d/weir/plugins", "/c/weir"},
		{"relative xdg is ignored", "", map[string]string{"HOME": "/home/u", "XDG_DATA_HOME": "d"}, "/home/u/.local/share/weir", "/home/u/.local/share/weir/plugins", "/home/u/.cache/weir"},
		{"no home", "", nil, "", "", ""},
		{
			"given", "server.state_dir = \"~/s\"\nplugins = { dir = \"p/../q\", cache_dir = \"/abs\" }",
			map[string]string{"HOME": "/home/u"},
			"/home/u/s", "/etc/weir/q", "/abs",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := options(t)
			o.LookupEnv = func(k string) (string, bool) { v, ok := tt.vars[k]; return v, ok }
			c, err := config.Parse("/etc/weir/weir.toml", []byte(tt.text), o)
			if err != nil {
				t.Fatal(err)
			}
			if c.Server.StateDir != tt.state || c.Plugins.Dir != tt.dir || c.Plugins.CacheDir != tt.caches {
				t.Errorf("got %q %q %q", c.Server.StateDir, c.Plugins.Dir, c.Plugins.CacheDir)
			}
		})
	}
}

func TestCheckListen(t *testing.T) {
	t.Parallel()
	const keyed = `
[[tenants]]
name = "ops"
keys = ["sha256:6e4dd51bc3fdb9bb2b1e2c58e0c2d6e9c6dbe9c32cf0a5a8c1c4ad0f1bb6a001"]
`
	const open = keyed + `
[[tenants]]
name = "guests"
any_key = true
`
	const remedy = `, want an address of this machine alone, such as "127.0.0.1:8000"; or run "weir keys new", ` +
		`put the hash in keys of a [[tenants]] entry and take any_key = true out`
	for _, tt := range []struct{ name, text, addr, want string }{
		{"loopback", "", "127.0.0.1:8000", ""},
		{"all of 127", "", "127.9.9.9:8000", ""},
		{"v6 loopback", "", "[::1]:8000", ""},
		{"mapped loopback", "", "[::ffff:127.0.0.1]:8000", ""},
		{"localhost", "", "LocalHost:8000", ""},
		{"every address", "", ":8000", `--listen: got ":8000" while tenant "default", which holds where the file has no [[tenants]], takes any key` + remedy},
		{"v4", open, "0.0.0.0:8000", `--listen: got "0.0.0.0:8000" while tenant "guests" takes any key` + remedy},
		{"v6", open, "[::]:8000", `--listen: got "[::]:8000" while tenant "guests" takes any key` + remedy},
		{"a name", open, "localhost.example.com:80", `--listen: got "localhost.example.com:80" while tenant "guests" takes any key` + remedy},
		{"keys for all", keyed, "0.0.0.0:8000", ""},
		{"no port", keyed, "0.0.0.0", `--listen: got "0.0.0.0", want host:port, such as "127.0.0.1:8000"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := ""
			if err := mustParse(t, tt.text).CheckListen(tt.addr); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestDiff(t *testing.T) {
	t.Parallel()
	old := mustParse(t, "")
	if err := config.Diff(old, mustParse(t, "[log]\nlevel = \"debug\"\n[server]\nkeepalive = \"20s\"\nlisten = \"127.0.0.1:8000\"")); err != nil {
		t.Errorf("live settings: %v", err)
	}
	err := config.Diff(old, mustParse(t, "[log]\nformat = \"json\"\n[server]\nlisten = \"127.0.0.1:9000\"\n[plugins]\nwatch = false"))
	want := `weir.toml:2: log.format: got "json", want "text" as when weir started: restart to change it
weir.toml:4: server.listen: got "127.0.0.1:9000", want "127.0.0.1:8000" as when weir started: restart to change it
weir.toml:6: plugins.watch: got "false", want "true" as when weir started: restart to change it`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

// TestSyntaxLine wants the line of what is not TOML, also at the end of the file.
func TestSyntaxLine(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want string }{
		{"bad escape", "a = 1\nb = \"\\q\"\nc = 1", "weir.toml:2: syntax: "},
		{"open string at the end", "\n\na = \"x", "weir.toml:3: syntax: "},
		{"open string", "\n\na = \"x\nb = 1\n", "weir.toml:3: syntax: "},
		{"open array", "a = [1,\n2\n", "weir.toml:"},
		{"key alone", "[server]\nlisten\nadmin = \"\"", "weir.toml:2: syntax: "},
		{"duplicate table", "[log]\n[server]\n[log]\n", "weir.toml:3: syntax: "},
		{"byte order mark", "\xef\xbb\xbf[log]\n[log\n", "weir.toml:2: syntax: "},
		{"big number", "x = 1\ny = 99999999999999999999", "weir.toml:2: syntax: "},
		{"nul", "a = 1\nb = \"\x00\"", "weir.toml:2: syntax: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := parse(t, tt.text)
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got %v, want %s...", err, tt.want)
			}
		})
	}
}
