package chat

import (
	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/surface/internal/wire"
	"github.com/weirgate/weir/gateway/internal/surface/recall"
)

// message is what a message's members say, in whatever order they came, beside content and calls.
type message struct {
	role, name string
	text       string // content that is a string; parts are the decoder's
	callID     string
	reasoning  string // reasoning_content
	reasoning2 string // reasoning, the other name of the same
	refusal    string
}

func (d *decoder) messages() error {
	d.req.Messages = make([]conv.Message, 0, d.Messages())
	return wire.Elements(&d.Decoder, "chat messages", &d.req.Messages, (*recall.Copier).Message, func() error {
		if err := d.Item(); err != nil {
			return err
		}
		var m message
		d.content, d.calls = d.content[:0], d.calls[:0]
		if err := d.Object(func(key []byte) error { return d.messageMember(&m, key) }); err != nil {
			return err
		}
		return d.add(&m)
	})
}

func (d *decoder) messageMember(m *message, key []byte) (err error) {
	switch string(key) {
	case "role":
		m.role, err = d.Word()
	case "name":
		m.name, err = d.String()
	case "content":
		return d.readContent(m)
	case "reasoning_content":
		m.reasoning, err = d.String()
	case "reasoning":
		if d.Type() != jsonscan.String { // some servers answer with an object under this name
			return d.Skip()
		}
		m.reasoning2, err = d.String()
	case "refusal":
		m.refusal, err = d.String()
	case "tool_calls":
		return d.readCalls()
	case "function_call":
		c := d.called.New()
		d.calls = append(d.calls[:0], c)
		return d.function(c)
	case "tool_call_id":
		m.callID, err = d.String()
	default:
		return d.Skip()
	}
	return err
}

// add puts m into the request. The order within an assistant message is reasoning, content, calls:
// this surface cannot say another.
func (d *decoder) add(m *message) error {
	out := conv.Message{Name: m.name}
	switch m.role {
	case "system":
		out.Role = conv.System
	case "developer":
		out.Role = conv.Developer
	case "user":
		out.Role = conv.User
	case "assistant":
		out.Role = conv.Assistant
	case "tool", "function":
		out.Role = conv.Tool
	default:
		return d.BadMember("role", "expected system, developer, user, assistant or tool")
	}
	if out.Role != conv.Assistant {
		m.reasoning, m.reasoning2, m.refusal, d.calls = "", "", "", d.calls[:0]
	}
	out.Parts = d.said(m)
	if out.Role == conv.Tool {
		r := d.results.New()
		r.CallID, r.Parts = m.callID, out.Parts
		out.Parts = d.parts.Take(1)
		out.Parts[0].Kind, out.Parts[0].Result = conv.Result, r
	}
	d.req.Messages = append(d.req.Messages, out)
	return nil
}

// said returns the parts of m. They are written where they stay: a part is large, and mostly two of its fields say
// something.
func (d *decoder) said(m *message) []conv.Part {
	if m.reasoning == "" {
		m.reasoning = m.reasoning2
	}
	n := len(d.content) + len(d.calls)
	for _, s := range [...]string{m.reasoning, m.text, m.refusal} {
		if s != "" {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	parts := d.parts.Take(n)
	at := 0
	text := func(kind conv.PartKind, s string) {
		if s != "" {
			parts[at].Kind, parts[at].Text = kind, s
			at++
		}
	}
	text(conv.Reasoning, m.reasoning)
	text(conv.Text, m.text)
	at += copy(parts[at:], d.content)
	text(conv.Text, m.refusal)
	for _, c := range d.calls {
		parts[at].Kind, parts[at].Call = conv.Call, c
		at++
	}
	return parts
}

// readContent reads a string or parts. A string is the same as one text part; empty text is no part.
func (d *decoder) readContent(m *message) (err error) {
	m.text, d.content = "", d.content[:0]
	switch d.Type() {
	case jsonscan.String:
		m.text, err = d.String()
		return err
	case jsonscan.Array:
		return d.Array(func(int) error {
			if err := d.Item(); err != nil {
				return err
			}
			p, err := d.part()
			if err == nil && (p.Text != "" || p.Media != nil) {
				d.content = append(d.content, p)
			}
			return err
		})
	}
	return d.BadType("a string or an array of parts")
}

func (d *decoder) part() (conv.Part, error) {
	var kind, text string
	var media *conv.Media
	err := d.Object(func(key []byte) (err error) {
		switch string(key) {
		case "type":
			kind, err = d.Word()
		case "text", "refusal":
			text, err = d.String()
		case "image_url":
			media, err = d.image()
		case "input_audio":
			media, err = d.Audio()
		case "file":
			media, err = d.file()
		default:
			return d.Skip()
		}
		return err
	})
	if err != nil {
		return conv.Part{}, err
	}
	switch kind {
	case "text", "refusal":
		return conv.Part{Kind: conv.Text, Text: text}, nil
	case "image_url", "input_audio", "file":
		if media == nil {
			return conv.Part{}, d.BadMember(kind, "expected an object")
		}
		return conv.Part{Kind: conv.MediaPart, Media: media}, nil
	case "":
		return conv.Part{}, d.BadMember("type", "expected text, image_url, input_audio, file or refusal")
	}
	return conv.Part{}, fault.At(fault.Unsupported, d.Path("type"), "parts of type %q are not served", kind[:min(len(kind), 64)])
}

func (d *decoder) image() (*conv.Media, error) {
	m := &conv.Media{Type: "image"}
	var err error
	if d.Type() == jsonscan.String { // the short form that several clients send
		m.URL, err = d.String()
		return m, err
	}
	err = d.Object(func(key []byte) (err error) {
		if string(key) != "url" {
			return d.Skip()
		}
		m.URL, err = d.String()
		return err
	})
	if err == nil && m.URL == "" {
		err = d.BadMember("url", "expected an http or data URL")
	}
	return m, err
}

func (d *decoder) file() (*conv.Media, error) {
	m := &conv.Media{Type: "file"}
	err := d.Object(func(key []byte) (err error) {
		switch string(key) {
		case "file_data":
			m.URL, err = d.String()
		case "file_id":
			return fault.At(fault.Unsupported, d.Path(""), "files are not stored here; send file_data")
		default:
			return d.Skip()
		}
		return err
	})
	if err == nil && m.URL == "" {
		err = d.BadMember("file_data", "expected a data URL")
	}
	return m, err
}
