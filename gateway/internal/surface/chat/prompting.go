package chat

import (
	"strings"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/surface"
	"github.com/weirgate/weir/gateway/internal/surface/internal/wire"
)

// maxTemplate is the longest chat template that a request may bring, in bytes.
const maxTemplate = 256 << 10

// promptMember reads the member key if it says how the prompt is made. The names and what they do together
// are vLLM's.
func (d *decoder) promptMember(key []byte) (known bool, err error) {
	p := &d.req.Prompting
	switch string(key) {
	case "continue_final_message":
		p.Continue, err = d.Bool()
	case "add_generation_prompt":
		d.generate, err = d.flag()
	case "add_special_tokens":
		d.special, err = d.flag()
	case "echo":
		p.Echo, err = d.Bool()
	case "documents":
		p.Documents, err = d.RawObjects()
	case "chat_template":
		if p.Template, err = d.String(); len(p.Template) > maxTemplate {
			err = d.Bad("expected at most %d bytes, got %d", maxTemplate, len(p.Template))
		}
	default:
		return false, nil
	}
	return true, err
}

func (d *decoder) flag() (*bool, error) {
	on, err := d.Bool()
	return &on, err
}

// prompting checks what was said of the prompt against the rest of the request.
func (d *decoder) prompting() error {
	p := &d.req.Prompting
	switch {
	case d.special != nil && *d.special:
		return fault.At(fault.Unsupported, d.Path("add_special_tokens"), "expected false: a conversation has the special tokens of its template and no others")
	case !p.Continue:
		p.NoGeneration = d.generate != nil && !*d.generate
	case d.generate != nil && *d.generate:
		return d.BadMember("continue_final_message", "continue_final_message and add_generation_prompt cannot both be true")
	case !wire.Open(d.req.Messages):
		return d.BadMember("continue_final_message", "expected a last message of the assistant that ends with text")
	}
	return nil
}

// echoed is the text with which the answer begins where the request wants its last message back; empty
// where that is not the assistant's.
func echoed(req *surface.Request) string {
	if !req.Prompting.Echo || len(req.Messages) == 0 {
		return ""
	}
	m := &req.Messages[len(req.Messages)-1]
	if m.Role != conv.Assistant {
		return ""
	}
	var texts []string
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Kind == conv.Text {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}
