package config_test

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weirgate/weir/configs"
	"github.com/weirgate/weir/gateway/internal/config"
)

var (
	headerLine  = regexp.MustCompile(`^#?\[+([a-z.]+)[a-z0-9]*\]+$`)
	settingLine = regexp.MustCompile(`^#?([a-z_]+) = `)
)

// fields asks the decoder itself which keys each table may have: it lists them where one is unknown.
func fields(t *testing.T) map[string][]string {
	t.Helper()
	tables := map[string]string{
		"server": "[server]\nno = 1", "log": "[log]\nno = 1", "plugins": "[plugins]\nno = 1", "memory": "[memory]\nno = 1",
		"seal": "[seal]\nno = 1", "store": "[store]\nno = 1", "responses": "[responses]\nno = 1",
		"engines.sim":    "[engines.x]\nkind = \"sim\"\nno = 1",
		"engines.openai": "[engines.x]\nkind = \"openai\"\nno = 1",
		"models":         "[[models]]\nno = 1",
		"models.codex":   "[[models]]\n[models.codex]\nno = 1",
		"tenants":        "[[tenants]]\nno = 1",
	}
	known := map[string][]string{}
	for name, text := range tables {
		_, err := parse(t, text)
		if err == nil {
			t.Fatalf("%s: an unknown key is accepted", name)
		}
		for line := range strings.Lines(err.Error()) {
			if _, list, ok := strings.Cut(strings.TrimSpace(line), "no: got an unknown key, want "); ok {
				_, list, _ = strings.Cut(list, "one of ")
				known[name] = strings.Split(list, ", ")
			}
		}
		if len(known[name]) == 0 {
			t.Fatalf("%s: no list of keys in\n%v", name, err)
		}
	}
	return known
}

// TestDefaultNamesEveryField wants each setting in default.toml, given or commented out.
func TestDefaultNamesEveryField(t *testing.T) {
	t.Parallel()
	written, table := map[string][]string{}, ""
	for line := range strings.Lines(configs.Default()) {
		line = strings.TrimRight(line, "\n")
		if m := headerLine.FindStringSubmatch(line); m != nil {
			table = m[1]
			if i := strings.LastIndexByte(table, '.'); i >= 0 {
				written[table[:i]] = append(written[table[:i]], table[i+1:])
			}
			if table == "engines.vllm" {
				table = "engines.openai"
			}
		} else if m := settingLine.FindStringSubmatch(line); m != nil {
			written[table] = append(written[table], m[1])
		}
	}
	for table, keys := range fields(t) {
		for _, key := range keys {
			if !slices.Contains(written[table], key) {
				t.Errorf("default.toml does not name %s.%s", table, key)
			}
		}
		for _, key := range written[table] {
			if !slices.Contains(keys, key) {
				t.Errorf("default.toml names %s.%s, which is no setting", table, key)
			}
		}
	}
}

// TestDefaultShowsDefaults takes the comments off every setting of default.toml but the parser, which
// excludes others, and wants the same configuration beside the engine that is only shown.
func TestDefaultShowsDefaults(t *testing.T) {
	t.Parallel()
	shown := regexp.MustCompile(`(?m)^#(\[|[a-z_]+ = )`).ReplaceAllString(configs.Default(), "$1")
	got, err := parse(t, shown)
	if err != nil {
		t.Fatal(err)
	}
	want, err := config.Default(options(t))
	if err != nil {
		t.Fatal(err)
	}
	bare := mustParse(t, "[engines.vllm]\nkind = \"openai\"\nurl = \"http://127.0.0.1:9000/v1\"\n"+
		"[[models]]\nid = \"x\"\nengines = [\"vllm\"]\nfamily = \"qwen3\"")
	for _, tt := range []struct {
		name      string
		got, want any
	}{
		{"server", strip(got.Server), strip(want.Server)},
		{"log", got.Log, want.Log},
		{"plugins", got.Plugins, want.Plugins},
		{"memory", got.Memory, want.Memory},
		{"seal", got.Seal, want.Seal},
		{"store", got.Store, want.Store},
		{"responses", got.Responses, want.Responses},
		{"sim", got.Engine("sim").Sim, want.Engine("sim").Sim},
		{"openai", got.Engine("vllm").OpenAI, bare.Engine("vllm").OpenAI},
		{"models", public(got.Models), public(want.Models)},
		{"tenants", public(got.Tenants), public(want.Tenants)},
	} {
		if !reflect.DeepEqual(tt.got, tt.want) {
			t.Errorf("%s: default.toml shows\n%+v, but the default is\n%+v", tt.name, tt.got, tt.want)
		}
	}
}

// strip makes an empty list of a missing one.
func strip(s config.Server) config.Server {
	s.Hosts, s.Origins = slices.Concat([]string{}, s.Hosts), slices.Concat([]string{}, s.Origins)
	return s
}

// public copies the exported fields of structs, without the places where they stood.
func public[T any](list []T) []map[string]any {
	var out []map[string]any
	for _, e := range list {
		v, m := reflect.ValueOf(e), map[string]any{}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && (v.Field(i).Kind() != reflect.Slice || v.Field(i).Len() > 0) {
				m[f.Name] = v.Field(i).Interface()
			}
		}
		out = append(out, m)
	}
	return out
}

// TestEmbedded checks what a weir without a file does.
func TestEmbedded(t *testing.T) {
	t.Parallel()
	c, err := config.Default(options(t))
	if err != nil {
		t.Fatal(err)
	}
	if c.Server.Listen != "127.0.0.1:8000" || c.Engine("sim").Sim == nil {
		t.Errorf("got %+v", c.Server)
	}
	if n := c.Tenants[0]; len(c.Tenants) != 1 || !n.AnyKey || n.Models[0] != "*" || !n.StripPreamble {
		t.Errorf("tenant %+v", n)
	}
	for _, name := range []string{"weir/sim", "claude-opus-4-5", "gpt-5.2-codex", "codex-mini"} {
		if m := c.Resolve(name); m == nil || m.ID != "weir/sim" || !m.Thinking {
			t.Errorf("%s: got %+v", name, m)
		}
	}
}
