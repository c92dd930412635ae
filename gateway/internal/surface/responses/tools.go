package responses

import (
	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/abi/toolname"
	"github.com/weirgate/weir/gateway/internal/fault"
)

// toolWish is the tools that tool_choice names. Which there are is known once the items that came before are.
type toolWish struct {
	only  bool // of them alone may be called: allowed_tools
	tools []toolRef
}

// toolRef names a tool as the client knows it, or all of a namespace where it has no name of its own.
type toolRef struct{ namespace, name string }

func refOf(t *conv.ToolDef) toolRef { return toolRef{t.Namespace, t.Name} }

// knownAs is a tool as a client names it that says no namespace: as the model knows it.
func knownAs(t *conv.ToolDef) toolRef { return toolRef{name: toolname.Of(t.Namespace, t.Name)} }

// tools reads definitions, of a request or an item.
func (d *decoder) tools() ([]conv.ToolDef, error) {
	var list []conv.ToolDef
	hosted := false
	err := d.Array(func(int) (err error) {
		var t toolForm
		if err = d.tool(&t, false); err != nil {
			return err
		}
		hosted = hosted || t.hosted
		if list == nil && len(t.defs) > 0 {
			list = make([]conv.ToolDef, 0, d.Tools())
		}
		list = append(list, t.defs...)
		return nil
	})
	if hosted {
		// Nobody here would search: who left the finding of tools to the vendor's search gets them all at once.
		for i := range list {
			list[i].Deferred = false
		}
	}
	return list, err
}

// toolForm is what one definition says.
type toolForm struct {
	def       conv.ToolDef
	execution string
	defs      []conv.ToolDef // what it comes to
	hosted    bool           // it is the vendor's search
}

// tool reads one definition. Tools that the vendor hosts are left out.
func (d *decoder) tool(t *toolForm, inside bool) error {
	if err := d.Item(); err != nil {
		return err
	}
	name, err := d.Tagged("type", func(name, key []byte) error {
		if !servedTool(name, inside) {
			return d.Skip()
		}
		return d.toolMember(t, name, key)
	})
	if err != nil {
		return err
	}
	def := &t.def
	switch {
	case len(name) == 0:
		return d.BadMember("type", "expected the type of a tool")
	case !servedTool(name, inside):
		d.Ignore("tools: " + clipped(name))
		return nil
	case string(name) == "tool_search":
		if t.execution != "client" {
			t.hosted = true
			d.Ignore("tools: tool_search that the vendor executes")
			return nil
		}
		def.Kind, def.Name = conv.ToolSearch, searchTool
	case def.Name == "":
		return d.BadMember("name", "expected a name")
	case string(name) == "namespace":
		inNamespace(def, t.defs)
		return nil
	case string(name) == "custom":
		def.Kind = conv.Custom
	}
	t.defs = []conv.ToolDef{*def}
	return nil
}

func servedTool(name []byte, inside bool) bool {
	switch string(name) {
	case "function", "custom":
		return true
	case "namespace", "tool_search":
		return !inside
	}
	return false
}

// inNamespace gives tools their namespace, the first one also what is said about all of them: a prompt has no other
// place for that.
func inNamespace(space *conv.ToolDef, defs []conv.ToolDef) {
	for i := range defs {
		defs[i].Namespace = space.Name
	}
	switch {
	case len(defs) == 0 || space.Description == "":
	case defs[0].Description == "":
		defs[0].Description = space.Description
	default:
		defs[0].Description = space.Description + "\n\n" + defs[0].Description
	}
}

func (d *decoder) toolMember(t *toolForm, kind, key []byte) (err error) {
	def := &t.def
	switch string(key) {
	case "name":
		def.Name, err = d.String()
	case "description":
		def.Description, err = d.String()
	case "parameters":
		def.Schema, err = d.RawObject()
	case "strict":
		def.Strict, err = d.Bool()
	case "defer_loading":
		def.Deferred, err = d.Bool()
	case "execution":
		t.execution, err = d.String()
	case "format":
		if string(kind) != "custom" {
			return d.Skip()
		}
		def.Format, err = d.RawObject()
	case "tools":
		if string(kind) != "namespace" {
			return d.Skip()
		}
		t.defs = nil
		return d.Array(func(int) error {
			var inner toolForm
			err := d.tool(&inner, true)
			t.defs = append(t.defs, inner.defs...)
			return err
		})
	default:
		return d.Skip()
	}
	return err
}

// toolChoice reads a mode, a named tool, or a mode over some of the tools.
func (d *decoder) toolChoice() error {
	c, wish := &d.req.Choice, &d.own.choice
	c.Mode, *wish = conv.ChoiceAuto, toolWish{}
	switch d.Type() {
	case jsonscan.String:
		return d.ChoiceMode(&d.req.Choice)
	case jsonscan.Object:
	default:
		return d.BadType("a string or an object")
	}
	var ref toolRef
	kind, err := d.Tagged("type", func(kind, key []byte) (err error) {
		switch {
		case string(kind) == "allowed_tools":
			return d.allowedTools(key)
		case string(key) == "name":
			ref.name, err = d.String()
			return err
		case string(key) == "namespace":
			ref.namespace, err = d.String()
			return err
		}
		return d.Skip()
	})
	switch {
	case err != nil:
		return err
	case string(kind) == "allowed_tools":
		wish.only = true
		return nil
	case len(kind) == 0:
		return d.BadMember("type", "expected function, custom or allowed_tools")
	case string(kind) != "function" && string(kind) != "custom":
		return fault.At(fault.Unsupported, d.Path("type"), "tools of type %q are not served", clipped(kind))
	case ref.name == "":
		return d.BadMember("name", "expected the name of a tool")
	}
	c.Mode, wish.tools = conv.ChoiceNamed, []toolRef{ref}
	return nil
}

func (d *decoder) allowedTools(key []byte) error {
	switch string(key) {
	case "mode":
		return d.ChoiceMode(&d.req.Choice)
	case "tools":
		d.own.choice.tools = nil
		return d.Array(func(int) error {
			if err := d.Item(); err != nil {
				return err
			}
			return d.allowed()
		})
	}
	return d.Skip()
}

// allowed reads one of the tools that may be called. Of the vendor's there are none to begin with.
func (d *decoder) allowed() error {
	var ref toolRef
	kind, err := d.Tagged("type", func(kind, key []byte) (err error) {
		switch {
		case string(key) == "name":
			ref.name, err = d.String()
		case string(key) == "namespace" && string(kind) != "namespace":
			ref.namespace, err = d.String()
		default:
			return d.Skip()
		}
		return err
	})
	if err != nil {
		return err
	}
	switch string(kind) {
	case "namespace":
		ref = toolRef{namespace: ref.name}
	case "tool_search":
		ref = toolRef{name: searchTool}
	case "function", "custom":
	default:
		d.Ignore("tool_choice: " + clipped(kind))
		return nil
	}
	if ref.name == "" && ref.namespace == "" {
		return d.BadMember("name", "expected the name of a tool")
	}
	d.own.choice.tools = append(d.own.choice.tools, ref)
	return nil
}
