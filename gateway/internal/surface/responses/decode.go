package responses

import (
	"math"
	"net/http"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/surface"
	"github.com/weirgate/weir/gateway/internal/surface/internal/wire"
)

// encryptedContent is the member of include that asks for sealed reasoning.
const encryptedContent = "reasoning.encrypted_content"

// decoder reads one request. What depends on the order of members waits for finish.
type decoder struct {
	wire.Decoder
	req      *surface.Request
	own      *Own
	cacheKey string
	safety   string      // safety_identifier, the newer name of user
	count    bool        // the tokens are counted and nothing is generated
	open     []conv.Part // of the content that is being read

	messages wire.Slab[conv.Message]
	parts    wire.Slab[conv.Part]
	calls    wire.Slab[conv.ToolCall]
	results  wire.Slab[conv.ToolResult]
}

// Decode reads a request body, or a response.create message of a socket. Messages and the tools that the input brings
// are left to Join. The request does not refer to body afterwards. Members, tools and items of kinds that it does not
// know are passed over and noted, since clients of this surface send new ones with every version.
func (Surface) Decode(body []byte, header http.Header) (*surface.Request, error) {
	return decode(body, header, false)
}

func decode(body []byte, header http.Header, count bool) (*surface.Request, error) {
	d := decoder{req: wire.NewRequest(), own: &Own{Store: true}, count: count}
	if err := d.Read(body); err != nil {
		return nil, err
	}
	d.req.Choice.Parallel = true
	d.req.Own = d.own
	if err := d.Object(d.member); err != nil {
		return nil, err
	}
	if err := d.End(); err != nil {
		return nil, err
	}
	return d.finish(header)
}

func (d *decoder) finish(header http.Header) (*surface.Request, error) {
	req := d.req
	if req.Model == "" {
		return nil, d.BadMember("model", "expected the name of a model")
	}
	Keep(req, true)
	if req.User == "" {
		req.User = d.safety
	}
	req.Session = wire.Session(header, d.cacheKey)
	req.Ignored = d.Ignored()
	return req, nil
}

func (d *decoder) member(key []byte) (err error) {
	req, own := d.req, d.own
	switch string(key) {
	case "model":
		req.Model, err = d.String()
	case "input":
		return d.input()
	case "instructions":
		return d.echo(&own.Echo.Instructions, d.instructions)
	case "previous_response_id":
		own.Previous, err = d.String()
	case "tools":
		return d.echo(&own.Echo.Tools, func() (err error) {
			req.Tools, err = d.tools()
			return err
		})
	case "tool_choice":
		return d.echo(&own.Echo.ToolChoice, d.toolChoice)
	case "parallel_tool_calls":
		req.Choice.Parallel, err = d.Bool()
	case "stream":
		req.Stream, err = d.Bool()
	case "store":
		own.Store, err = d.Bool()
	case "include":
		return d.echo(&own.Echo.Include, d.include)
	case "reasoning":
		return d.echo(&own.Echo.Reasoning, d.reasoning)
	case "text":
		return d.echo(&own.Echo.Text, d.text)
	case "max_output_tokens":
		req.MaxTokens, err = d.Tokens()
	case "chat_template_kwargs":
		req.TemplateArgs, err = d.RawObject()
	case "generate":
		own.NoGenerate, err = d.Bool()
		own.NoGenerate = !own.NoGenerate
	case "type", "stream_options", "client_metadata": // a socket's message, and what is for the vendor's own use
		return d.Skip()
	default:
		return d.rare(key)
	}
	return err
}

// rare reads the members of fewer requests: knobs, names, and what is refused or has no effect.
func (d *decoder) rare(key []byte) (err error) {
	echo := &d.own.Echo
	switch string(key) {
	case "prompt_cache_key":
		return d.echo(&echo.PromptCacheKey, d.into(&d.cacheKey))
	case "stop": // chat's, which the vendor does not have here
		d.req.Stop, err = d.Stops()
		return err
	case "user":
		return d.echo(&echo.User, d.into(&d.req.User))
	case "safety_identifier":
		return d.echo(&echo.SafetyIdentifier, d.into(&d.safety))
	case "prompt_cache_retention":
		return d.echo(&echo.PromptCacheRetention, d.word)
	case "service_tier":
		return d.echo(&echo.ServiceTier, d.word)
	case "metadata":
		return d.echo(&echo.Metadata, func() error { return d.Object(func([]byte) error { return d.word() }) })
	case "truncation":
		return d.echo(&echo.Truncation, d.truncation)
	case "max_tool_calls": // of hosted tools, of which there are none
		return d.echo(&echo.MaxToolCalls, func() error {
			_, err := d.Int(0, math.MaxInt32)
			return err
		})
	case "top_logprobs":
		return d.echo(&echo.TopLogprobs, func() error {
			n, err := d.Int(0, 1<<20)
			if err == nil && n > 0 {
				return d.refuse("log probabilities are not served")
			}
			return err
		})
	case "background":
		on, err := d.Bool()
		if err == nil && on {
			return d.refuse("true is not served: an answer is streamed or waited for")
		}
		return err
	case "conversation":
		return d.refuse("not served; previous_response_id continues an answer")
	case "prompt":
		return d.refuse("stored prompts are not served; send instructions and input")
	}
	if known, err := d.Sampling(&d.req.Sampling, key); known {
		return err
	}
	d.Ignore(clipped(key))
	return d.Skip()
}

// echo reads a value and keeps it as it stands.
func (d *decoder) echo(raw *[]byte, read func() error) (err error) {
	*raw, err = d.Whole(read)
	return err
}

// into reads a string.
func (d *decoder) into(s *string) func() error {
	return func() (err error) {
		*s, err = d.String()
		return err
	}
}

// word passes over a string.
func (d *decoder) word() error {
	_, err := d.Bytes()
	return err
}

// refuse is a member or value that is understood and not served.
func (d *decoder) refuse(text string) error {
	return fault.At(fault.Unsupported, d.Path(""), "%s", text)
}

// clipped bounds what of the client's names is noted.
func clipped(name []byte) string { return string(name[:min(len(name), 64)]) }

func (d *decoder) include() error {
	d.own.Encrypted = false
	return d.Array(func(int) error {
		b, err := d.Bytes()
		switch {
		case err != nil:
			return err
		case string(b) == encryptedContent:
			d.own.Encrypted = true
		default:
			d.Ignore("include: " + clipped(b))
		}
		return nil
	})
}

func (d *decoder) truncation() error {
	b, err := d.Bytes()
	switch {
	case err != nil || string(b) == "disabled" || string(b) == "auto" && d.count:
		return err
	case string(b) == "auto":
		return d.refuse("auto is not served: a conversation that is too long is refused, and not cut")
	}
	return d.Bad("expected auto or disabled")
}

func (d *decoder) reasoning() error {
	t, own := &d.req.Thinking, d.own
	own.Summary = false
	return d.Object(func(key []byte) (err error) {
		switch string(key) {
		case "effort":
			t.Effort, err = d.String()
		case "summary", "generate_summary": // the second is the older name
			var b []byte
			b, err = d.Bytes()
			own.Summary = own.Summary || len(b) > 0 && string(b) != "none"
		default:
			return d.Skip()
		}
		return err
	})
}

func (d *decoder) text() error {
	return d.Object(func(key []byte) error {
		if string(key) != "format" {
			return d.Skip()
		}
		return d.format()
	})
}

func (d *decoder) format() error {
	f := conv.Format{}
	err := d.Object(func(key []byte) error { return d.FormatMember(&f, key) })
	if err == nil {
		err = d.FormatOf(&f, "schema")
	}
	if err == nil {
		d.req.Format = f
	}
	return err
}

// instructions reads a text, or items.
func (d *decoder) instructions() (err error) {
	d.own.Instructions, d.own.preface = "", nil
	switch d.Type() {
	case jsonscan.String:
		d.own.Instructions, err = d.String()
		return err
	case jsonscan.Array:
		d.own.preface, err = d.items(nil)
		return err
	}
	return d.BadType("a string or an array of items")
}
