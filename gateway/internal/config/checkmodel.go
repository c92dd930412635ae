package config

func (l *loader) checkLengths(m *Model) {
	if !l.clean(m.origin, "context", "max_output", "min_room") {
		return
	}
	if !m.Given("max_output") { // the default is what fits
		m.MaxOutput = min(m.MaxOutput, m.Context)
	}
	if !m.Given("min_room") {
		m.MinRoom = min(m.MinRoom, m.Context/2)
	}
	if m.MaxOutput > m.Context {
		l.add(m.origin.fault("max_output", show(int64(m.MaxOutput)), "at most context ("+show(int64(m.Context))+")"))
	}
	if m.MinRoom >= m.Context {
		l.add(m.origin.fault("min_room", show(int64(m.MinRoom)), "less than context ("+show(int64(m.Context))+")"))
	}
}

func (l *loader) checkParsers(m *Model) {
	if m.Parser != "" && (m.Reasoning != "" || m.Tools != "") {
		l.add(m.origin.fault("parser", showText(m.Parser)+" beside reasoning or tools", "either a parser that does both or the two"))
	}
	l.checkBeside(m)
	if m.Thinking && m.Reasoning == "" && m.Parser == "" && !m.HasFiles() && l.clean(m.origin, "thinking", "reasoning", "parser") {
		l.add(m.origin.fault("thinking", `"on" without a parser of reasoning`, `"off", or reasoning or parser set`))
	}
}

// checkBeside checks the plugins that a model names beside its parser.
func (l *loader) checkBeside(m *Model) {
	const want = "a parser, or reasoning or tools, to stand beside"
	none := m.Parser == "" && m.Reasoning == "" && m.Tools == "" && !m.HasFiles() && l.clean(m.origin, "parser", "reasoning", "tools")
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
	if e.OpenAI == nil || e.OpenAI.Mode != ModeChat {
		l.checkPromptFor(m, e)
		return
	}
	l.none(m, `none, since engine `+e.Name+` renders by itself (mode = "chat")`,
		setting{"family", m.Family}, setting{"dir", m.Dir}, setting{"gguf", m.GGUF}, setting{"renderer", m.Renderer})
	if e.OpenAI.Structured {
		l.none(m, "none, since engine "+e.Name+" parses by itself (structured = true)",
			setting{"parser", m.Parser}, setting{"reasoning", m.Reasoning}, setting{"tools", m.Tools})
	}
}

// setting is a key of a model entry and its value, empty where nothing was said.
type setting struct{ key, value string }

// none wants settings to be absent.
func (l *loader) none(m *Model, want string, settings ...setting) {
	for _, s := range settings {
		if s.value != "" {
			l.add(m.origin.fault(s.key, showText(s.value), want))
		}
	}
}

// checkPromptFor wants a way to make the prompts that an engine takes.
func (l *loader) checkPromptFor(m *Model, e *Engine) {
	if !l.clean(m.origin, "family", "dir", "gguf", "renderer") {
		return
	}
	switch {
	case m.Family == "" && m.Renderer == "" && !m.HasFiles():
		l.add(m.origin.fault("family", "nothing", choice(l.known.Families)+"; or dir, gguf or renderer set"))
	case e.OpenAI != nil && e.OpenAI.Prompt == PromptIDs && !m.HasFiles():
		l.add(m.origin.fault("dir", "nothing", "the folder of the model's files, or gguf set, since engine "+e.Name+` takes tokens (prompt = "ids")`))
	}
}

// checkPrompts refuses two answers to one question about prompts.
func (l *loader) checkPrompts(m *Model) {
	for _, pair := range []struct{ key, value, beside, other, want string }{
		{"gguf", m.GGUF, "dir", m.Dir, "either a folder (dir) or a file (gguf)"},
		{"renderer", m.Renderer, "family", m.Family, "either a built-in family or a plugin that renders"},
		{"policy_plugin", m.PolicyPlugin, "policy", m.Policy, "either a built-in policy or a plugin"},
	} {
		if pair.value != "" && pair.other != "" {
			l.add(m.origin.fault(pair.key, showText(pair.value)+" beside "+pair.beside, pair.want))
		}
	}
}

// files makes the paths of a model absolute, once faults have told them as they were written.
func (l *loader) files(m *Model) {
	for _, f := range []struct {
		key  string
		path *string
	}{{"dir", &m.Dir}, {"gguf", &m.GGUF}} {
		*f.path = l.resolve(m.origin, f.key, *f.path)
	}
}
