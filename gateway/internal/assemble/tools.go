package assemble

import (
	"unicode/utf8"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/toolname"
	"github.com/weirgate/weir/gateway/internal/assemble/internal/schema"
)

// tool is a declared tool. Its schema is read when it is first called with untyped parameters.
type tool struct {
	def    *conv.ToolDef
	name   string // by which the model knows it
	schema *schema.Node
	parsed bool
}

func (t *tool) params() *schema.Node {
	if t == nil {
		return nil
	}
	if !t.parsed {
		t.parsed, t.schema = true, schema.Parse(t.def.Schema)
	}
	return t.schema
}

// toolset finds tools by what the model may call them. Where names collide the first stays, and the dotted
// form that some formats use never hides a tool of that very name. It is filled at the first call: most
// turns have none.
type toolset struct {
	tools  []tool
	byName map[string]*tool // where they are too many to look through
}

const fewTools = 8

func (s *toolset) find(defs []conv.ToolDef, name []byte) *tool {
	if s.tools == nil {
		s.fill(defs)
	}
	if s.byName != nil {
		return s.byName[string(name)]
	}
	for i := range s.tools {
		if t := &s.tools[i]; t.name == string(name) {
			return t
		}
	}
	for i := range s.tools {
		if t := &s.tools[i]; t.dotted(name) {
			return t
		}
	}
	return nil
}

func (t *tool) dotted(name []byte) bool {
	space := t.def.Namespace
	return space != "" && len(name) == len(space)+1+len(t.def.Name) &&
		string(name[:len(space)]) == space && name[len(space)] == '.' && string(name[len(space)+1:]) == t.def.Name
}

func (s *toolset) fill(defs []conv.ToolDef) {
	s.tools = make([]tool, len(defs))
	for i := range defs {
		s.tools[i] = tool{def: &defs[i], name: toolname.Of(defs[i].Namespace, defs[i].Name)}
	}
	if len(defs) <= fewTools {
		return
	}
	s.byName = make(map[string]*tool, len(defs))
	for i := range s.tools {
		s.add(s.tools[i].name, &s.tools[i])
	}
	for i := range s.tools {
		if d := s.tools[i].def; d.Namespace != "" {
			s.add(d.Namespace+"."+d.Name, &s.tools[i])
		}
	}
}

func (s *toolset) add(name string, t *tool) {
	if _, ok := s.byName[name]; !ok {
		s.byName[name] = t
	}
}

// verdict says whether name may be called, and which declared tool it is, if any.
func (a *Assembler) verdict(name []byte, weak bool) (*tool, bool) {
	t := a.tools.find(a.opt.Tools, name)
	if t == nil {
		a.stats.Unknown++
	}
	switch {
	case a.opt.Choice.Mode == conv.ChoiceNone || len(name) == 0:
		return nil, false
	case t != nil:
		return t, true
	case !utf8.Valid(name):
		return nil, false
	}
	return nil, a.opt.AnyName || a.opt.EmitUnknown && !weak && len(a.opt.Tools) > 0
}
