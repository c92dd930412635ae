package chat

import (
	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/gateway/internal/surface/internal/wire"
	"github.com/weirgate/weir/gateway/internal/surface/recall"
)

func (d *decoder) tools() error {
	d.req.Tools = nil
	return wire.Elements(&d.Decoder, "chat tools", &d.req.Tools, (*recall.Copier).Tool, func() error {
		if err := d.Item(); err != nil {
			return err
		}
		return d.tool()
	})
}

// tool reads one definition. Hosted tools, which are neither functions nor custom, are left out.
func (d *decoder) tool() error {
	var t conv.ToolDef
	var kind string
	define := func(key []byte) (err error) {
		switch string(key) {
		case "name":
			t.Name, err = d.String()
		case "description":
			t.Description, err = d.String()
		case "parameters":
			t.Schema, err = d.RawObject()
		case "strict":
			t.Strict, err = d.Bool()
		case "format":
			t.Format, err = d.RawObject()
		default:
			return d.Skip()
		}
		return err
	}
	nested := ""
	err := d.Object(func(key []byte) (err error) {
		switch string(key) {
		case "type":
			kind, err = d.Word()
			return err
		case "function":
			nested = "function"
			return d.Object(define)
		case "custom":
			nested = "custom"
			return d.Object(define)
		}
		return d.Skip()
	})
	if err != nil {
		return err
	}
	if kind == "" {
		kind = nested
	}
	switch {
	case kind == "custom":
		t.Kind = conv.Custom
	case kind != "function":
		d.Ignore("tools: " + kind[:min(len(kind), 64)])
		return nil
	}
	if t.Name == "" {
		return d.BadMember(kind+".name", "expected the name of a tool")
	}
	if d.req.Tools == nil {
		d.req.Tools = make([]conv.ToolDef, 0, d.Tools())
	}
	d.req.Tools = append(d.req.Tools, t)
	return nil
}

// readCalls reads the tool_calls of an assistant message.
func (d *decoder) readCalls() error {
	d.calls = d.calls[:0]
	return d.Array(func(int) error {
		if err := d.Item(); err != nil {
			return err
		}
		c := d.called.New()
		err := d.Object(func(key []byte) (err error) {
			switch string(key) {
			case "id":
				c.ID, err = d.String()
			case "function":
				return d.function(c)
			case "custom":
				c.Kind = conv.Custom
				return d.function(c)
			default:
				return d.Skip()
			}
			return err
		})
		if err == nil && c.Name == "" {
			return d.BadMember("function.name", "expected the name of a tool")
		}
		d.calls = append(d.calls, c)
		return err
	})
}

// function reads the name and arguments, or input, of a call. Arguments stay the bytes that the string
// holds.
func (d *decoder) function(c *conv.ToolCall) error {
	return d.Object(func(key []byte) (err error) {
		switch string(key) {
		case "name":
			c.Name, err = d.String()
		case "arguments", "input":
			c.Arguments, err = d.String()
		default:
			return d.Skip()
		}
		return err
	})
}
