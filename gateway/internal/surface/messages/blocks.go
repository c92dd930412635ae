package messages

import (
	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/gateway/internal/fault"
)

// place is where blocks stand, which says what they may be.
type place uint8

const (
	inMessage  place = iota
	inSystem         // text only
	inResult         // text, media, references
	inDocument       // text and media
)

// block is what a block's members say.
type block struct {
	text, seal string
	id, name   string
	input      string
	title      string // of a document or a search result
	context    string // of a document: what is said about it
	from       string // of a search result: where it was found
	parts      []conv.Part
	media      *conv.Media
	sourced    bool
	isError    bool
}

// block reads one block and adds what it says to the content that is being read. Members are read once the
// type is known, for their types differ between kinds of blocks.
func (d *decoder) block(p place) error {
	var b block
	kind, err := d.Tagged("type", func(kind, key []byte) error {
		if !known(kind, p) {
			return d.Skip()
		}
		return d.blockMember(&b, kind, key)
	})
	if err != nil {
		return err
	}
	if len(kind) == 0 {
		return d.BadMember("type", "expected the type of a block")
	}
	if !known(kind, p) {
		d.Ignore("content: " + string(kind[:min(len(kind), 64)]))
		return nil
	}
	return d.addBlock(&b, kind)
}

// known tells whether a kind of block means something at a place.
func known(kind []byte, p place) bool {
	switch string(kind) {
	case "text":
		return true
	case "image", "document", "search_result":
		return p != inSystem && (p != inDocument || string(kind) == "image")
	case "tool_reference":
		return p == inResult
	case "thinking", "redacted_thinking", "tool_use", "tool_result":
		return p == inMessage
	}
	return false
}

func (d *decoder) blockMember(b *block, kind, key []byte) (err error) {
	switch string(key) {
	case "text":
		b.text, err = d.String()
	case "thinking":
		b.text, err = d.String()
	case "signature", "data":
		b.seal, err = d.String()
	case "id":
		if string(kind) != "tool_use" { // an item's own id, which says nothing
			return d.Skip()
		}
		b.id, err = d.String()
	case "tool_use_id":
		b.id, err = d.String()
	case "name", "tool_name":
		b.name, err = d.String()
	case "input":
		b.input, err = d.ObjectText()
	case "is_error":
		b.isError, err = d.Bool()
	case "source":
		if string(kind) != "search_result" {
			return d.source(b, string(kind))
		}
		b.from, err = d.String()
	case "title", "context":
		switch {
		case string(kind) != "document" && string(kind) != "search_result":
			return d.Skip()
		case string(key) == "title":
			b.title, err = d.String()
		default:
			b.context, err = d.String()
		}
	case "content":
		switch string(kind) {
		case "tool_result":
			b.parts, err = d.content(inResult)
		case "search_result":
			b.parts, err = d.content(inDocument)
		default:
			return d.Skip()
		}
	default:
		return d.Skip()
	}
	return err
}

// addBlock adds the parts of a block that was read whole.
func (d *decoder) addBlock(b *block, kind []byte) error {
	var p conv.Part
	switch string(kind) {
	case "text":
		if b.text == "" {
			return nil
		}
		p = conv.Part{Kind: conv.Text, Text: b.text}
	case "thinking":
		if b.seal == unsealed {
			b.seal = ""
		}
		if b.text == "" && b.seal == "" {
			return nil
		}
		p = conv.Part{Kind: conv.Reasoning, Text: b.text, Seal: b.seal}
	case "redacted_thinking":
		p = conv.Part{Kind: conv.Reasoning, Seal: b.seal}
	case "tool_use":
		if b.name == "" {
			return d.BadMember("name", "expected the name of a tool")
		}
		if b.input == "" {
			b.input = "{}"
		}
		p = conv.Part{Kind: conv.Call, Call: d.calls.One(conv.ToolCall{ID: b.id, Name: b.name, Arguments: b.input})}
	case "tool_result":
		p = conv.Part{Kind: conv.Result, Result: d.results.One(conv.ToolResult{CallID: b.id, Parts: b.parts, IsError: b.isError})}
	case "tool_reference":
		if b.name == "" {
			return d.BadMember("tool_name", "expected the name of a tool")
		}
		p = conv.Part{Kind: conv.Reference, Text: b.name}
	default: // image, document and search_result
		if string(kind) != "image" {
			d.label(b.title, b.from, b.context)
		}
		switch {
		case b.media != nil:
			p = conv.Part{Kind: conv.MediaPart, Media: b.media}
		case !b.sourced && string(kind) != "search_result":
			return d.BadMember("source", "expected an object")
		default:
			d.open = append(d.open, b.parts...)
			return nil
		}
	}
	d.open = append(d.open, p)
	return nil
}

// label adds what is said about a document, a line each, before the document itself: a model that is not told the title
// cannot cite it.
func (d *decoder) label(lines ...string) {
	for _, s := range lines {
		if s != "" {
			d.open = append(d.open, conv.Part{Kind: conv.Text, Text: s + "\n"})
		}
	}
}

// source reads where an image or document comes from. A document of plain text or of blocks is those.
func (d *decoder) source(b *block, kind string) error {
	m := &conv.Media{Type: kind}
	if kind == "document" {
		m.Type = "file"
	}
	b.media, b.parts, b.sourced = nil, nil, true
	from, err := d.Tagged("type", func(from, key []byte) (err error) {
		switch string(key) {
		case "media_type":
			m.MIME, err = d.String()
		case "data":
			m.Data, err = d.String()
		case "url":
			m.URL, err = d.String()
		case "content":
			if string(from) != "content" {
				return d.Skip()
			}
			b.parts, err = d.content(inDocument)
		default:
			return d.Skip()
		}
		return err
	})
	if err != nil {
		return err
	}
	switch string(from) {
	case "base64":
		if m.Data == "" {
			return d.BadMember("data", "expected base64")
		}
		m.URL, b.media = "", m
	case "url":
		if m.URL == "" {
			return d.BadMember("url", "expected a URL")
		}
		m.Data, b.media = "", m
	case "text":
		if m.Data != "" {
			b.parts = []conv.Part{{Kind: conv.Text, Text: m.Data}}
		}
	case "content": // read already
	case "file":
		return fault.At(fault.Unsupported, d.Path("type"), "files are not stored here; send the data")
	default:
		return d.BadMember("type", "expected base64, url, text or content")
	}
	return nil
}
