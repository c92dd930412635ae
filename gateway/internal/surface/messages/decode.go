package messages

import (
	"net/http"
	"slices"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/gateway/internal/surface"
	"github.com/weirgate/weir/gateway/internal/surface/internal/wire"
	"github.com/weirgate/weir/gateway/internal/surface/recall"
)

// decoder reads one request. What depends on the order of members waits for finish.
type decoder struct {
	wire.Decoder
	req    *surface.Request
	system []conv.Part
	open   []conv.Part // of the contents that are being read, the inner ones last

	parts   wire.Slab[conv.Part]
	calls   wire.Slab[conv.ToolCall]
	results wire.Slab[conv.ToolResult]
}

// Decode reads a request body. The request does not refer to body afterwards. Members, betas and kinds
// of blocks it does not know are passed over, since clients do not survive a refusal of them.
func (s Surface) Decode(body []byte, header http.Header) (*surface.Request, error) {
	return s.decode(body, header, true)
}

// DecodeCount reads the body of count_tokens, where max_tokens may be absent.
func (s Surface) DecodeCount(body []byte, header http.Header) (*surface.Request, error) {
	return s.decode(body, header, false)
}

func (s Surface) decode(body []byte, header http.Header, generate bool) (*surface.Request, error) {
	d := decoder{req: wire.NewRequest()}
	d.Recall(s.Recall, header)
	d.req.Choice.Parallel = true
	if err := d.Document(body, d.member); err != nil {
		return nil, err
	}
	return d.finish(header, generate)
}

func (d *decoder) finish(header http.Header, generate bool) (*surface.Request, error) {
	req := d.req
	switch {
	case req.Model == "":
		return nil, d.BadMember("model", "expected the name of a model")
	case len(req.Messages) == 0:
		return nil, d.BadMember("messages", "expected at least one message")
	case generate && req.MaxTokens == 0:
		return nil, d.BadMember("max_tokens", "expected an integer of at least 1")
	}
	if err := d.Named(req.Choice, req.Tools); err != nil {
		return nil, err
	}
	if req.Thinking.Mode == conv.ThinkingUnset { // this surface thinks on demand only
		req.Thinking.Mode = conv.ThinkingOff
	}
	// A last message of the assistant's is the beginning of the answer. White space at its end, which the
	// vendor refuses, is left to the model's template.
	req.Prompting.Continue = wire.Open(req.Messages)
	if len(d.system) > 0 {
		req.Messages = slices.Insert(req.Messages, 0, conv.Message{Role: conv.System, Parts: d.system})
	}
	req.Seal = surface.SealTag
	if req.Thinking.Omitted {
		req.Seal = surface.SealFull
	}
	req.Session = wire.Session(header, "")
	req.Ignored = d.Ignored()
	return req, nil
}

func (d *decoder) member(key []byte) (err error) {
	req := d.req
	switch string(key) {
	case "model":
		req.Model, err = d.String()
	case "messages":
		return d.messages()
	case "system":
		d.system, err = d.content(inSystem)
	case "tools":
		return d.tools()
	case "tool_choice":
		return d.toolChoice()
	case "max_tokens":
		req.MaxTokens, err = d.Tokens()
	case "stream":
		req.Stream, err = d.Bool()
	case "stop_sequences":
		req.Stop, err = d.Stops()
	case "thinking":
		return d.Thinking(&req.Thinking)
	case "output_config":
		return d.outputConfig()
	case "output_format":
		return d.format()
	case "metadata":
		return d.Object(func(key []byte) (err error) {
			if string(key) != "user_id" {
				return d.Skip()
			}
			req.User, err = d.String()
			return err
		})
	case "chat_template_kwargs":
		req.TemplateArgs, err = d.RawObject()
	default:
		if known, err := d.Sampling(&req.Sampling, key); known {
			return err
		}
		switch string(key) {
		case "safeguards", "context_management", "mcp_servers", "container", "service_tier":
			d.Ignore(string(key))
		}
		return d.Skip()
	}
	return err
}

func (d *decoder) outputConfig() error {
	return d.Object(func(key []byte) (err error) {
		switch string(key) {
		case "effort":
			d.req.Thinking.Effort, err = d.String()
			return err
		case "format":
			return d.format()
		}
		return d.Skip()
	})
}

func (d *decoder) format() error {
	f := conv.Format{}
	err := d.Object(func(key []byte) error { return d.FormatMember(&f, key) })
	switch {
	case err != nil:
		return err
	case f.Type != "json_schema":
		return d.BadMember("type", "expected json_schema")
	case f.Schema == nil:
		return d.BadMember("schema", "expected an object")
	}
	f.Strict = true
	d.req.Format = f
	return nil
}

func (d *decoder) tools() error {
	d.req.Tools = nil
	return wire.Elements(&d.Decoder, "messages tools", &d.req.Tools, (*recall.Copier).Tool, func() error {
		if err := d.Item(); err != nil {
			return err
		}
		return d.tool()
	})
}

// tool reads one definition. A tool that the vendor hosts has a type of its own and no schema; nobody
// here would run it, so it is left out.
func (d *decoder) tool() error {
	var t conv.ToolDef
	var kind string
	err := d.Object(func(key []byte) (err error) {
		switch string(key) {
		case "type":
			kind, err = d.Word()
		case "name":
			t.Name, err = d.String()
		case "description":
			t.Description, err = d.String()
		case "input_schema":
			t.Schema, err = d.RawObject()
		case "defer_loading":
			t.Deferred, err = d.Bool()
		case "strict":
			t.Strict, err = d.Bool()
		default:
			return d.Skip()
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case kind != "" && kind != "custom" && t.Schema == nil:
		d.Ignore("tools: " + kind[:min(len(kind), 64)])
		return nil
	case t.Name == "":
		return d.BadMember("name", "expected the name of a tool")
	}
	if d.req.Tools == nil {
		d.req.Tools = make([]conv.ToolDef, 0, d.Tools())
	}
	d.req.Tools = append(d.req.Tools, t)
	return nil
}

func (d *decoder) toolChoice() error {
	c := conv.ToolChoice{Parallel: true}
	var kind string
	err := d.Object(func(key []byte) (err error) {
		switch string(key) {
		case "type":
			kind, err = d.Word()
		case "name":
			c.Name, err = d.String()
		case "disable_parallel_tool_use":
			c.Parallel, err = d.Bool()
			c.Parallel = !c.Parallel
		default:
			return d.Skip()
		}
		return err
	})
	if err != nil {
		return err
	}
	switch kind {
	case "auto":
		c.Mode = conv.ChoiceAuto
	case "any":
		c.Mode = conv.ChoiceRequired
	case "none":
		c.Mode = conv.ChoiceNone
	case "tool":
		c.Mode = conv.ChoiceNamed
		if c.Name == "" {
			return d.BadMember("name", "expected the name of a tool")
		}
	default:
		return d.BadMember("type", "expected auto, any, tool or none")
	}
	if c.Mode != conv.ChoiceNamed {
		c.Name = ""
	}
	d.req.Choice = c
	return nil
}

// messages reads the messages. Results are told by the user on this surface; they become messages of
// their own, in the order in which all was said, so that every surface's results look alike.
func (d *decoder) messages() error {
	d.req.Messages = make([]conv.Message, 0, d.Messages())
	return wire.Elements(&d.Decoder, "messages messages", &d.req.Messages, (*recall.Copier).Message, func() error {
		if err := d.Item(); err != nil {
			return err
		}
		var role string
		var parts []conv.Part
		err := d.Object(func(key []byte) (err error) {
			switch string(key) {
			case "role":
				role, err = d.Word()
			case "content":
				parts, err = d.content(inMessage)
			default:
				return d.Skip()
			}
			return err
		})
		if err != nil {
			return err
		}
		return d.add(role, parts)
	})
}

func (d *decoder) add(role string, parts []conv.Part) error {
	m := conv.Message{Parts: parts}
	switch role {
	case "user":
		return d.addUser(parts)
	case "assistant":
		m.Role = conv.Assistant
	case "system":
		m.Role = conv.System
	default:
		return d.BadMember("role", "expected user, assistant or system")
	}
	for i := range parts {
		if err := d.fits(role, parts[i].Kind); err != nil {
			return err
		}
	}
	d.req.Messages = append(d.req.Messages, m)
	return nil
}

func (d *decoder) addUser(parts []conv.Part) error {
	from := 0
	for i := 0; i <= len(parts); i++ {
		if i < len(parts) {
			if err := d.fits("user", parts[i].Kind); err != nil {
				return err
			}
			if i == 0 || (parts[i].Kind == conv.Result) == (parts[i-1].Kind == conv.Result) {
				continue
			}
		}
		m := conv.Message{Role: conv.User, Parts: parts[from:i:i]}
		if i > 0 && parts[i-1].Kind == conv.Result {
			m.Role = conv.Tool
		}
		d.req.Messages = append(d.req.Messages, m)
		from = i
	}
	return nil
}

// fits checks that a role may say a kind of part.
func (d *decoder) fits(role string, k conv.PartKind) error {
	ok := true
	switch k {
	case conv.Call, conv.Reasoning:
		ok = role == "assistant"
	case conv.Result:
		ok = role == "user"
	}
	if !ok {
		return d.BadMember("content", "a message of role %s has a block of another role", role)
	}
	return nil
}

// content reads a string or blocks. A string is the same as one text block; empty text is no part.
func (d *decoder) content(p place) ([]conv.Part, error) {
	switch d.Type() {
	case jsonscan.String:
		s, err := d.String()
		if s == "" || err != nil {
			return nil, err
		}
		parts := d.parts.Take(1)
		parts[0] = conv.Part{Kind: conv.Text, Text: s}
		return parts, nil
	case jsonscan.Array:
		from := len(d.open)
		err := d.Array(func(int) error {
			if err := d.Item(); err != nil {
				return err
			}
			return d.block(p)
		})
		parts := d.parts.Keep(d.open[from:])
		d.open = d.open[:from]
		return parts, err
	}
	return nil, d.BadType("a string or an array of blocks")
}
