package chat

import (
	"net/http"
	"slices"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/surface"
	"github.com/weirgate/weir/gateway/internal/surface/internal/wire"
)

// decoder reads one request. What depends on the order of members waits for finish.
type decoder struct {
	wire.Decoder
	req      *surface.Request
	cacheKey string
	allowed  map[string]bool // tools that an allowed_tools choice leaves, nil for all
	generate *bool           // add_generation_prompt
	special  *bool           // add_special_tokens

	// The parts of the message that is being read.
	content []conv.Part
	calls   []*conv.ToolCall

	parts   wire.Slab[conv.Part]
	called  wire.Slab[conv.ToolCall]
	results wire.Slab[conv.ToolResult]
}

// Decode reads a request body. The request does not refer to body afterwards. Members it does not know
// are passed over; null is the same as absent.
func (s Surface) Decode(body []byte, header http.Header) (*surface.Request, error) {
	d := decoder{req: wire.NewRequest()}
	d.Recall(s.Recall, header)
	d.req.Choice.Parallel = true
	if err := d.Document(body, d.member); err != nil {
		return nil, err
	}
	return d.finish(header)
}

func (d *decoder) finish(header http.Header) (*surface.Request, error) {
	req := d.req
	if req.Model == "" {
		return nil, d.noModel()
	}
	if len(req.Messages) == 0 {
		return nil, d.BadMember("messages", "expected at least one message")
	}
	if d.allowed != nil {
		req.Tools = slices.DeleteFunc(req.Tools, func(t conv.ToolDef) bool { return !d.allowed[t.Name] })
	}
	if err := d.Named(req.Choice, req.Tools); err != nil {
		return nil, err
	}
	if err := d.prompting(); err != nil {
		return nil, err
	}
	req.Session = wire.Session(header, d.cacheKey)
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
	case "tools":
		return d.tools()
	case "tool_choice":
		return d.toolChoice()
	case "parallel_tool_calls":
		req.Choice.Parallel, err = d.Bool()
	case "stream":
		req.Stream, err = d.Bool()
	case "stream_options":
		return d.Object(func(key []byte) (err error) {
			if string(key) != "include_usage" {
				return d.Skip()
			}
			req.IncludeUsage, err = d.Bool()
			return err
		})
	case "max_completion_tokens":
		req.MaxTokens, err = d.Tokens()
	case "max_tokens": // the older name; the newer one counts where both stand
		var n int
		if n, err = d.Tokens(); req.MaxTokens == 0 {
			req.MaxTokens = n
		}
	case "stop":
		req.Stop, err = d.Stops()
	case "response_format":
		return d.format()
	case "chat_template_kwargs":
		req.TemplateArgs, err = d.RawObject()
	case "prompt_cache_key":
		d.cacheKey, err = d.String()
	case "user", "safety_identifier":
		req.User, err = d.String()
	default:
		return d.rare(key)
	}
	return err
}

// rare reads the members of fewer requests: knobs, thinking, and what is refused or has no effect.
func (d *decoder) rare(key []byte) error {
	if known, err := d.Sampling(&d.req.Sampling, key); known {
		return err
	}
	if known, err := d.promptMember(key); known {
		return err
	}
	t := &d.req.Thinking
	switch string(key) {
	case "n":
		n, err := d.Int(0, 1<<20)
		if err == nil && n != 1 {
			return fault.At(fault.Unsupported, d.Path(""), "expected 1, got %d: one turn has one choice", n)
		}
		return err
	case "logprobs":
		on, err := d.Bool()
		if err == nil && on {
			return fault.At(fault.Unsupported, d.Path(""), "log probabilities are not served")
		}
		return err
	case "top_logprobs":
		n, err := d.Int(0, 1<<20)
		if err == nil && n > 0 {
			return fault.At(fault.Unsupported, d.Path(""), "log probabilities are not served")
		}
		return err
	case "functions", "function_call":
		return fault.At(fault.Unsupported, d.Path(""), "not served; tools and tool_choice replace it")
	case "thinking":
		return d.Thinking(t)
	case "enable_thinking":
		return d.enabled()
	case "thinking_budget":
		n, err := d.Int(0, 1<<30)
		t.Budget = int(n)
		return err
	case "reasoning_effort":
		effort, err := d.String()
		t.Effort = effort
		return err
	case "reasoning":
		return d.Object(d.reasoning)
	case "logit_bias", "prediction", "web_search_options", "audio", "store", "verbosity", "service_tier":
		d.Ignore(string(key))
	}
	return d.Skip()
}

// reasoning reads a member of the object in which some clients put effort and budget.
func (d *decoder) reasoning(key []byte) (err error) {
	t := &d.req.Thinking
	switch string(key) {
	case "effort":
		t.Effort, err = d.String()
	case "max_tokens":
		t.Budget, err = d.Tokens()
	case "enabled":
		return d.enabled()
	default:
		return d.Skip()
	}
	return err
}

func (d *decoder) enabled() error {
	on, err := d.Bool()
	d.req.Thinking.Mode = conv.ThinkingOff
	if on {
		d.req.Thinking.Mode = conv.ThinkingOn
	}
	return err
}

// format reads response_format.
func (d *decoder) format() error {
	f := conv.Format{}
	err := d.Object(func(key []byte) error {
		switch string(key) {
		case "type":
			return d.FormatMember(&f, key)
		case "json_schema":
			return d.Object(func(key []byte) error {
				if string(key) == "type" {
					return d.Skip()
				}
				return d.FormatMember(&f, key)
			})
		}
		return d.Skip()
	})
	if err == nil {
		err = d.FormatOf(&f, "json_schema.schema")
	}
	if err != nil {
		return err
	}
	d.req.Format = f
	return nil
}

// toolChoice reads a mode, a named tool, or a mode over some of the tools.
func (d *decoder) toolChoice() error {
	c := &d.req.Choice
	c.Mode, c.Name, d.allowed = conv.ChoiceAuto, "", nil
	if d.Type() == jsonscan.String {
		return d.ChoiceMode(&d.req.Choice)
	}
	if d.Type() != jsonscan.Object {
		return d.BadType("a string or an object")
	}
	var kind string
	name := func(key []byte) (err error) {
		if string(key) != "name" {
			return d.Skip()
		}
		c.Name, err = d.String()
		return err
	}
	err := d.Object(func(key []byte) (err error) {
		switch string(key) {
		case "type":
			kind, err = d.Word()
			return err
		case "function", "custom":
			return d.Object(name)
		case "allowed_tools":
			return d.Object(d.allowedTools)
		}
		return name(key)
	})
	switch {
	case err != nil:
		return err
	case kind == "allowed_tools":
		c.Name = ""
		return nil
	case kind != "function" && kind != "custom":
		return d.BadMember("type", "expected function, custom or allowed_tools")
	case c.Name == "":
		return d.BadMember(kind+".name", "expected the name of a tool")
	}
	c.Mode, d.allowed = conv.ChoiceNamed, nil
	return nil
}

func (d *decoder) allowedTools(key []byte) error {
	switch string(key) {
	case "mode":
		return d.ChoiceMode(&d.req.Choice)
	case "tools":
		d.allowed = map[string]bool{}
		return d.Array(func(int) error {
			if err := d.Item(); err != nil {
				return err
			}
			name := func(key []byte) error {
				if string(key) != "name" {
					return d.Skip()
				}
				s, err := d.String()
				d.allowed[s] = true
				return err
			}
			return d.Object(func(key []byte) error {
				if s := string(key); s == "function" || s == "custom" {
					return d.Object(name)
				}
				return name(key)
			})
		})
	}
	return d.Skip()
}
