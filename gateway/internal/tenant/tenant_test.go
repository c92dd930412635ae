package tenant_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/weirgate/weir/gateway/internal/config"
	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/tenant"
)

const models = `
engines.sim.kind = "sim"
[[models]]
id = "qwen-a"
aliases = ["claude-*"]
engines = ["sim"]
family = "qwen3"
[[models]]
id = "llama-b"
engines = ["sim"]
family = "qwen3"
`

func load(tb testing.TB, text string) *config.Config {
	tb.Helper()
	c, err := config.Parse("weir.toml", []byte(text), config.Options{
		Known: config.Known{
			Engines: []string{"sim"}, Families: []string{"qwen3", "qwen3_coder"}, Reasoning: []string{"qwen3"},
			Tools: []string{"hermes", "qwen3_coder"}, Policies: []string{"qwen3", "keep_all", "drop_all"},
		},
		LookupEnv: func(string) (string, bool) { return "", false },
	})
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func entry(name string, rest string, keys ...string) string {
	text := fmt.Sprintf("\n[[tenants]]\nname = %q\n%s\n", name, rest)
	for i, k := range keys {
		keys[i] = fmt.Sprintf("%q", tenant.HashKey(k))
	}
	if len(keys) > 0 {
		text += "keys = [" + strings.Join(keys, ", ") + "]\n"
	}
	return text
}

func TestAdmit(t *testing.T) {
	t.Parallel()
	keyed := models + entry("ops", "", "ops-1", "ops-2") + entry("evals", `models = ["qwen-*"]`, "evals-1")
	open := keyed + entry("guests", "any_key = true\nmodels = [\"llama-b\"]")
	for _, tt := range []struct {
		name, config, key, model string
		tenant, id               string
		kind                     fault.Kind
		public                   string
	}{
		{name: "first key", config: keyed, key: "ops-1", model: "llama-b", tenant: "ops", id: "llama-b"},
		{name: "second key", config: keyed, key: "ops-2", model: "qwen-a", tenant: "ops", id: "qwen-a"},
		{name: "alias", config: keyed, key: "ops-1", model: "claude-opus", tenant: "ops", id: "qwen-a"},
		{name: "allowed through an alias", config: keyed, key: "evals-1", model: "claude-opus", tenant: "evals", id: "qwen-a"},
		{
			name: "not allowed", config: keyed, key: "evals-1", model: "llama-b", kind: fault.Forbidden,
			public: `this API key may not use model "llama-b"`,
		},
		{name: "unknown model", config: keyed, key: "ops-1", model: "gpt", kind: fault.NotFound, public: `model "gpt" does not exist`},
		{
			name: "long model", config: keyed, key: "ops-1", model: strings.Repeat("x", 500), kind: fault.NotFound,
			public: `model "` + strings.Repeat("x", 128) + `..." does not exist`,
		},
		{
			name: "no key", config: keyed, model: "qwen-a", kind: fault.Unauthorized,
			public: "no API key: send it as Authorization: Bearer or x-api-key",
		},
		{name: "wrong key", config: keyed, key: "ops-3", model: "qwen-a", kind: fault.Unauthorized, public: "unknown API key"},
		{name: "wrong key and model", config: keyed, key: "x", model: "gpt", kind: fault.Unauthorized, public: "unknown API key"},
		{name: "the hash is no key", config: keyed, key: tenant.HashKey("ops-1"), model: "qwen-a", kind: fault.Unauthorized, public: "unknown API key"},
		{name: "own key beside any", config: open, key: "ops-1", model: "qwen-a", tenant: "ops", id: "qwen-a"},
		{name: "any key", config: open, key: "x", model: "llama-b", tenant: "guests", id: "llama-b"},
		{name: "no key where any will do", config: open, model: "llama-b", tenant: "guests", id: "llama-b"},
		{
			name: "any key, other model", config: open, key: "x", model: "qwen-a", kind: fault.Forbidden,
			public: `this API key may not use model "qwen-a"`,
		},
		{name: "embedded default", key: "anything", model: "claude-x", tenant: "default", id: "weir/sim"},
		{name: "embedded default, no key", model: "weir/sim-coder", tenant: "default", id: "weir/sim-coder"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			who, m, err := tenant.New(load(t, tt.config), nil).Admit(tt.key, tt.model)
			if tt.kind != "" {
				f := fault.From(err)
				if err == nil || f.Kind != tt.kind || f.Public != tt.public || (who == nil) != (tt.kind == fault.Unauthorized) || m != nil {
					t.Errorf("got %v, want %s: %s", err, tt.kind, tt.public)
				}
				if f.Kind != fault.Unauthorized && f.Param != "model" {
					t.Errorf("param %q", f.Param)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if who.Name != tt.tenant || m.ID != tt.id {
				t.Errorf("got %s, %s", who.Name, m.ID)
			}
		})
	}
}

func TestModels(t *testing.T) {
	t.Parallel()
	r := tenant.New(load(t, models+entry("ops", "", "o")+entry("evals", `models = ["*-b"]`, "e")), nil)
	for key, want := range map[string]string{"o": "qwen-a llama-b", "e": "llama-b"} {
		who, err := r.Authenticate(key)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, m := range r.Models(who) {
			ids = append(ids, m.ID)
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("%s: got %s, want %s", key, got, want)
		}
	}
}

func TestAcquire(t *testing.T) {
	t.Parallel()
	first := tenant.New(load(t, models+entry("a", "max_concurrent = 2", "a")+entry("b", "", "b")), nil)
	a, _ := first.Authenticate("a")
	b, _ := first.Authenticate("b")
	p1, err1 := a.Acquire()
	_, err2 := a.Acquire()
	_, err3 := a.Acquire()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if f := fault.From(err3); err3 == nil || f.Kind != fault.Quota || f.RetryAfter <= 0 {
		t.Fatalf("over the limit: %v", err3)
	}
	if _, err := b.Acquire(); err != nil {
		t.Fatalf("another tenant, without a limit: %v", err)
	}
	// A reload lowers the limit: running turns count on, and give back to the same count.
	second := tenant.New(load(t, models+entry("a", "max_concurrent = 1", "new")+entry("c", "", "c")), first)
	if _, err := second.Authenticate("a"); fault.From(err).Kind != fault.Unauthorized {
		t.Errorf("revoked key: %v", err)
	}
	after, _ := second.Authenticate("new")
	if after.Running() != 2 {
		t.Errorf("running %d", after.Running())
	}
	p1.Release()
	p1.Release()
	if _, err := after.Acquire(); err == nil || after.Running() != 1 {
		t.Errorf("one still runs: %v, %d", err, after.Running())
	}
}

func TestAcquireHammer(t *testing.T) {
	t.Parallel()
	who, _ := tenant.New(load(t, models+entry("a", "max_concurrent = 3", "a")), nil).Authenticate("a")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 2000 {
				p, err := who.Acquire()
				if err != nil {
					continue
				}
				if n := who.Running(); n < 1 || n > 3 {
					t.Errorf("%d running", n)
				}
				p.Release()
			}
		})
	}
	wg.Wait()
	if who.Running() != 0 {
		t.Errorf("%d left", who.Running())
	}
}

func TestKeyOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, authorization, apiKey, want string }{
		{"none", "", "", ""},
		{"bearer", "Bearer k", "", "k"},
		{"case of the scheme", "bearer k", "", "k"},
		{"spaces", "  Bearer   k ", "", "k"},
		{"api key", "", "k", "k"},
		{"both", "Bearer a", "b", "a"},
		{"empty bearer", "Bearer ", "b", "b"},
		{"another scheme", "Basic dTpw", "b", "b"},
		{"bare", "k", "", ""},
	} {
		h := http.Header{}
		if tt.authorization != "" {
			h.Set("Authorization", tt.authorization)
		}
		if tt.apiKey != "" {
			h.Set("x-api-key", tt.apiKey)
		}
		if got := tenant.KeyOf(h); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestNewKey(t *testing.T) {
	t.Parallel()
	k1, h1 := tenant.NewKey()
	k2, _ := tenant.NewKey()
	if k1 == k2 || !regexp.MustCompile(`^weir_[0-9a-f]{64}$`).MatchString(k1) {
		t.Errorf("keys %s %s", k1, k2)
	}
	if h1 != tenant.HashKey(k1) || !regexp.MustCompile(`^sha256:[0-9a-f]{64}$`).MatchString(h1) {
		t.Errorf("hash %s", h1)
	}
	who, err := tenant.New(load(t, models+entry("a", "", k1)), nil).Authenticate(k1)
	if err != nil || who.Name != "a" {
		t.Errorf("a new key does not work: %v", err)
	}
}

func BenchmarkAdmit(b *testing.B) {
	long, _ := tenant.NewKey()
	keys := make([]string, 1000)
	for i := range keys {
		keys[i] = fmt.Sprint("key-", i)
	}
	r := tenant.New(load(b, models+entry("a", "", append(keys, long)...)), nil)
	for _, c := range []struct{ name, key string }{{"short", "key-500"}, {"made by NewKey", long}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := r.Admit(c.key, "claude-opus"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
