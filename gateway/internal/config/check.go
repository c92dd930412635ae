package config

import (
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/weirgate/weir/gateway/internal/secret"
)

// check compares the parts of a configuration with each other.
func (l *loader) check(c *Config) {
	l.checkEngines(c)
	l.checkModels(c)
	l.checkNames(c)
	l.checkTenants(c)
	l.checkGuards(c)
	l.checkListeners(c)
	l.checkSeal(c)
}

// apiKey takes the key of an engine from the environment. Its text never appears in a fault.
func (l *loader) apiKey(t *table, o *OpenAI) {
	if o.APIKeyEnv == "" {
		return
	}
	key, ok := l.env(o.APIKeyEnv)
	switch {
	case !ok || key == "":
		t.fault("api_key_env", showText(o.APIKeyEnv)+", which is not set", "the name of an environment variable that holds the key")
	case len(key) > 4096 || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		t.fault("api_key_env", showText(o.APIKeyEnv)+", whose value cannot stand in a header", "printable ASCII without spaces")
	default:
		o.APIKey = secret.New(key)
	}
}

func (l *loader) checkEngines(c *Config) {
	for _, e := range c.Engines {
		o := e.OpenAI
		if o == nil || !l.clean(e.origin, "mode") {
			continue
		}
		if o.Prompt == PromptIDs && o.Mode != ModeCompletions {
			l.add(e.origin.fault("prompt", showText(string(o.Prompt))+" with mode "+string(o.Mode), `mode = "completions", or "text"`))
		}
		if o.Structured && o.Mode != ModeChat {
			l.add(e.origin.fault("structured", "true with mode "+string(o.Mode), `mode = "chat", or false`))
		}
	}
}

func (l *loader) checkModels(c *Config) {
	if len(c.Models) == 0 && l.clean(c.origin, "models") {
		l.add(c.origin.fault("models", "none", "at least one model under [[models]]"))
	}
	engines, names := map[string]*Engine{}, []string{}
	for i := range c.Engines {
		engines[c.Engines[i].Name] = &c.Engines[i]
		names = append(names, c.Engines[i].Name)
	}
	for i := range c.Models {
		m := &c.Models[i]
		l.checkLengths(m)
		l.checkParsers(m)
		l.checkPrompts(m)
		for j, name := range m.Engines {
			l.checkEngineOf(m, j, engines[name], names)
		}
		if m.EngineModel == "" {
			m.EngineModel = m.ID
		}
		l.files(m)
		l.checkCodex(m)
	}
}

// checkEngineOf checks the j-th engine of a model; the first one's own name of the model counts for all.
func (l *loader) checkEngineOf(m *Model, j int, e *Engine, names []string) {
	if e == nil {
		if l.clean(m.origin, "engines") {
			l.add(m.origin.element("engines", j).here(showText(m.Engines[j]), choice(names)))
		}
		return
	}
	if slices.Contains(m.Engines[:j], m.Engines[j]) {
		l.add(m.origin.element("engines", j).here(showText(m.Engines[j])+" a second time", "each engine once"))
		return
	}
	l.checkRendering(m, e)
	if m.EngineModel == "" && e.OpenAI != nil {
		m.EngineModel = e.OpenAI.Model
	}
}

// checkNames refuses a model name that two entries claim.
func (l *loader) checkNames(c *Config) {
	owner := map[string]string{}
	claim := func(name, path string, at func(got, want string) Fault) {
		if name == "" {
			return
		}
		if first, taken := owner[name]; taken {
			l.add(at(showText(name)+", which "+first+" has already", "a name that no other entry has"))
			return
		}
		owner[name] = path
	}
	for _, m := range c.Models {
		claim(m.ID, m.origin.path, func(got, want string) Fault { return m.origin.fault("id", got, want) })
	}
	for _, m := range c.Models {
		if !l.clean(m.origin, "aliases") {
			continue
		}
		for i, a := range m.Aliases {
			claim(a, m.origin.path, m.origin.element("aliases", i).here)
		}
	}
}

func (l *loader) checkTenants(c *Config) {
	if len(c.Tenants) == 0 && l.clean(c.origin, "tenants") {
		l.add(c.origin.fault("tenants", "none", "at least one tenant under [[tenants]]"))
	}
	ids := map[string]bool{}
	for _, m := range c.Models {
		ids[m.ID] = true
	}
	names, keys, open := map[string]string{}, map[[32]byte]string{}, ""
	for _, t := range c.Tenants {
		path := t.origin.path
		if first, taken := names[t.Name]; taken && t.Name != "" {
			l.add(t.origin.fault("name", showText(t.Name)+", which "+first+" has already", "a name that no other entry has"))
		} else {
			names[t.Name] = path
		}
		good := l.clean(t.origin, "keys")
		switch {
		case t.AnyKey && open != "":
			l.add(t.origin.fault("any_key", "true, as in "+open, "one tenant at most that takes any key"))
		case t.AnyKey && len(t.Keys) > 0:
			l.add(t.origin.fault("any_key", "true beside keys", "either keys or any_key = true"))
		case !t.AnyKey && len(t.Keys) == 0 && good && l.clean(t.origin, "any_key"):
			l.add(t.origin.fault("keys", "none", `at least one, made by "weir keys new", or any_key = true`))
		}
		if t.AnyKey && open == "" {
			open = path
		}
		for i, k := range t.Keys {
			if first, taken := keys[k]; taken && good {
				l.add(t.origin.element("keys", i).here("a key that "+first+" has already", "a key of one tenant"))
			} else if !taken {
				keys[k] = path
			}
		}
		l.checkTenantModels(ids, t)
	}
}

// checkTenantModels wants exact names to be those of models; a pattern may match what is still to come.
func (l *loader) checkTenantModels(ids map[string]bool, t Tenant) {
	if !l.clean(t.origin, "models") {
		return
	}
	if len(t.Models) == 0 {
		l.add(t.origin.fault("models", "an empty list", `model ids or patterns, such as "*"`))
	}
	for i, name := range t.Models {
		if !ids[name] && !strings.Contains(name, "*") {
			l.add(t.origin.element("models", i).here(showText(name), "the id of a model, or a pattern with *"))
		}
	}
}

// checkGuards refuses a guard that is asked for and that an engine would undo: one that gets no tokens makes
// its own of the prompt. Where the file says nothing, the guard holds for the engines where it can.
func (l *loader) checkGuards(c *Config) {
	for i := range c.Tenants {
		t := &c.Tenants[i]
		if !t.Guard || t.origin.at == nil || t.origin.at.kids["guard"] == nil || !l.clean(t.origin, "models") {
			continue
		}
		if m, e := c.unguarded(t); m != nil {
			l.add(t.origin.fault("guard", "true, while engine "+e.Name+" of model "+showText(m.ID)+" takes no tokens", `engines with prompt = "ids", or false`))
		}
	}
}

// unguarded finds a model that a tenant may use, and an engine of it that gets no tokens.
func (c *Config) unguarded(t *Tenant) (*Model, *Engine) {
	for i := range c.Models {
		m := &c.Models[i]
		if !slices.ContainsFunc(t.Models, func(p string) bool { return Match(p, m.ID) }) {
			continue
		}
		for _, name := range m.Engines {
			if e := c.Engine(name); e != nil && e.OpenAI != nil && e.OpenAI.Prompt != PromptIDs {
				return m, e
			}
		}
	}
	return nil, nil
}

func (l *loader) checkListeners(c *Config) {
	server := origin{file: c.origin.file, path: "server"}
	if c.origin.at != nil {
		server.at = c.origin.at.kid("server")
	}
	if !l.clean(server, "listen", "admin") {
		return
	}
	if c.Server.Admin == c.Server.Listen && !strings.HasSuffix(c.Server.Admin, ":0") {
		l.add(server.fault("admin", showText(c.Server.Admin)+", as in listen", "an address of its own"))
	}
	if slices.ContainsFunc(l.faults, func(f Fault) bool { return strings.HasPrefix(f.Path, "tenants") }) {
		return
	}
	if f, ok := c.openTo(c.Server.Listen, server.fault); ok {
		l.add(f)
	}
}

// CheckListen refuses an address beyond this machine while someone without a key would be served there.
// It is for an address that does not come from the file, which Load has checked already; the fault names
// it --listen.
func (c *Config) CheckListen(addr string) error {
	at := func(_, got, want string) Fault { return Fault{File: "--listen", Got: got, Want: want} }
	if !isAddress.ok(addr) {
		return at("", showText(addr), isAddress.want)
	}
	if f, ok := c.openTo(addr, at); ok {
		return f
	}
	return nil
}

// openTo finds the tenant that would let strangers in at addr.
func (c *Config) openTo(addr string, at func(key, got, want string) Fault) (Fault, bool) {
	if isLoopback(addr) {
		return Fault{}, false
	}
	const remedy = `run "weir keys new", put the hash in keys of a [[tenants]] entry and take any_key = true out`
	for _, t := range c.Tenants {
		if !t.AnyKey {
			continue
		}
		where := ""
		if t.origin.file == defaultFile && c.origin.file != defaultFile {
			where = ", which holds where the file has no [[tenants]],"
		}
		return at("listen", showText(addr)+" while tenant "+showText(t.Name)+where+" takes any key",
			`an address of this machine alone, such as "127.0.0.1:8000"; or `+remedy), true
	}
	if !slices.ContainsFunc(c.Tenants, func(t Tenant) bool { return len(t.Keys) > 0 }) {
		return at("listen", showText(addr)+" while no tenant has keys", `an address of this machine alone, such as "127.0.0.1:8000"; or `+remedy), true
	}
	return Fault{}, false
}

// isLoopback reports whether only this machine can reach an address. A name other than localhost could
// resolve to anything.
func isLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
