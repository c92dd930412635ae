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
	l.checkListeners(c)
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
		for j, name := range m.Engines {
			l.checkEngineOf(m, j, engines[name], names)
		}
		if m.EngineModel == "" {
			m.EngineModel = m.ID
		}
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

func (l *loader) checkLengths(m *Model) {
	if !l.clean(m.origin, "context", "max_output", "min_room") {
		return
	}
	if m.MaxOutput > m.Context {
		l.add(m.origin.fault("max_output", m.origin.given("max_output", m.MaxOutput), "at most context ("+show(int64(m.Context))+")"))
	}
	if m.MinRoom >= m.Context {
		l.add(m.origin.fault("min_room", m.origin.given("min_room", m.MinRoom), "less than context ("+show(int64(m.Context))+")"))
	}
}

// given shows a number and says so where it is the default's.
func (o origin) given(key string, n int) string {
	if o.at != nil && o.at.kids[key] == nil {
		return show(int64(n)) + " by default"
	}
	return show(int64(n))
}

func (l *loader) checkParsers(m *Model) {
	if m.Parser != "" && (m.Reasoning != "" || m.Tools != "") {
		l.add(m.origin.fault("parser", showText(m.Parser)+" beside reasoning or tools", "either a parser that does both or the two"))
	}
	l.checkBeside(m)
	if m.Thinking && m.Reasoning == "" && m.Parser == "" && l.clean(m.origin, "thinking", "reasoning", "parser") {
		l.add(m.origin.fault("thinking", `"on" without a parser of reasoning`, `"off", or reasoning or parser set`))
	}
}

// checkBeside checks the plugins that a model names beside its parser.
func (l *loader) checkBeside(m *Model) {
	const want = "a parser, or reasoning or tools, to stand beside"
	none := m.Parser == "" && m.Reasoning == "" && m.Tools == "" && l.clean(m.origin, "parser", "reasoning", "tools")
	if none && m.Shadow != "" {
		l.add(m.origin.fault("shadow", showText(m.Shadow)+" and nothing that parses", want))
	}
	switch name := m.Canary.Parser; {
	case name == "":
	case none:
		l.add(m.origin.table("canary").fault("parser", showText(name)+" and nothing that parses", want))
	case name == m.Parser:
		l.add(m.origin.table("canary").fault("parser", showText(name)+", which is the model's parser", "another plugin"))
	}
}

// table is the place of a table under key.
func (o origin) table(key string) origin {
	t := origin{file: o.file, path: join(o.path, key)}
	if o.at != nil {
		t.at = o.at.kid(key)
	}
	return t
}

// checkRendering compares what a model says about prompts and output with what its engine does itself.
func (l *loader) checkRendering(m *Model, e *Engine) {
	if e.Kind == "" || !l.clean(e.origin, "mode", "structured") {
		return
	}
	chat := e.OpenAI != nil && e.OpenAI.Mode == ModeChat
	switch {
	case chat && m.Family != "":
		l.add(m.origin.fault("family", showText(m.Family), `none, since engine `+e.Name+` renders by itself (mode = "chat")`))
	case !chat && m.Family == "" && l.clean(m.origin, "family"):
		l.add(m.origin.fault("family", "nothing", choice(l.known.Families)))
	}
	if !chat || !e.OpenAI.Structured {
		return
	}
	for _, p := range []struct{ key, value string }{{"parser", m.Parser}, {"reasoning", m.Reasoning}, {"tools", m.Tools}} {
		if p.value != "" {
			l.add(m.origin.fault(p.key, showText(p.value), "none, since engine "+e.Name+" parses by itself (structured = true)"))
		}
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
