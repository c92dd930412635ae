package assemble

import (
	"crypto/sha256"
	"encoding/hex"
	"unicode/utf8"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/gateway/internal/assemble/internal/schema"
)

// maxName is the longest name that a namespaced tool may have towards the model, in bytes.
const maxName = 64

// ToolName is the name by which the model knows a tool: name, or namespace__name. Where that is longer
// than 64 bytes its end gives way to a hash of the whole, so that names stay different and stable.
func ToolName(namespace, name string) string {
	if namespace == "" {
		return name
	}
	full := namespace + "__" + name
	if len(full) <= maxName {
		return full
	}
	sum := sha256.Sum256([]byte(full))
	cut := maxName - 9
	for !utf8.RuneStart(full[cut]) {
		cut--
	}
	return full[:cut] + "_" + hex.EncodeToString(sum[:4])
}

// tool is a declared tool. Its schema is read when it is first called with untyped parameters.
type tool struct {
	def    *conv.ToolDef
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

type toolset struct {
	byName map[string]*tool
}

// newToolset indexes the tools by what the model may call them. Where names collide the first stays, and
// the dotted form that some formats use never hides a tool of that very name.
func newToolset(defs []conv.ToolDef) *toolset {
	if len(defs) == 0 {
		return &toolset{}
	}
	s := &toolset{byName: make(map[string]*tool, len(defs))}
	tools := make([]tool, len(defs))
	for i := range defs {
		d := &defs[i]
		tools[i].def = d
		s.add(ToolName(d.Namespace, d.Name), &tools[i])
	}
	for i := range defs {
		if d := &defs[i]; d.Namespace != "" {
			s.add(d.Namespace+"."+d.Name, &tools[i])
		}
	}
	return s
}

func (s *toolset) add(name string, t *tool) {
	if _, ok := s.byName[name]; !ok {
		s.byName[name] = t
	}
}

// verdict says whether name may be called, and which declared tool it is, if any.
func (a *Assembler) verdict(name []byte, weak bool) (*tool, bool) {
	t := a.tools.byName[string(name)]
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
