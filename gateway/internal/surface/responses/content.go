package responses

import (
	"strings"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/gateway/internal/fault"
)

// content reads a string or parts, of a message or an output. A string is the same as one text part; empty text is no
// part.
func (d *decoder) content() ([]conv.Part, error) {
	switch d.Type() {
	case jsonscan.String:
		s, err := d.String()
		if s == "" || err != nil {
			return nil, err
		}
		parts := d.parts.Take(1)
		parts[0].Kind, parts[0].Text = conv.Text, s
		return parts, nil
	case jsonscan.Array:
		d.open = d.open[:0]
		err := d.Array(func(int) error {
			if err := d.Item(); err != nil {
				return err
			}
			p, err := d.part()
			if err == nil && (p.Text != "" || p.Media != nil) {
				d.open = append(d.open, p)
			}
			return err
		})
		parts := d.parts.Keep(d.open)
		d.open = d.open[:0]
		return parts, err
	}
	return nil, d.BadType("a string or an array of parts")
}

// inputPart is what a part's members say.
type inputPart struct {
	text  string
	image conv.Media
	audio *conv.Media
	file  conv.Media
}

func (d *decoder) part() (conv.Part, error) {
	var p inputPart
	name, err := d.Tagged("type", func(name, key []byte) error { return d.partMember(&p, name, key) })
	if err != nil {
		return conv.Part{}, err
	}
	m := conv.Media{}
	switch string(name) {
	case "input_text", "output_text", "text", "refusal":
		return conv.Part{Kind: conv.Text, Text: p.text}, nil
	case "input_image":
		if m = p.image; m.URL == "" {
			return conv.Part{}, d.BadMember("image_url", "expected an http or data URL")
		}
	case "input_audio":
		if p.audio == nil {
			return conv.Part{}, d.BadMember("input_audio", "expected an object")
		}
		m = *p.audio
	case "input_file":
		switch m = p.file; {
		case m.Data != "":
			m.URL = ""
		case m.URL == "":
			return conv.Part{}, d.BadMember("file_data", "expected a data URL or base64")
		}
	case "":
		return conv.Part{}, d.BadMember("type", "expected input_text, input_image, input_file, input_audio, output_text or refusal")
	default:
		return conv.Part{}, fault.At(fault.Unsupported, d.Path("type"), "parts of type %q are not served", clipped(name))
	}
	return conv.Part{Kind: conv.MediaPart, Media: &m}, nil
}

func (d *decoder) partMember(p *inputPart, name, key []byte) (err error) {
	switch string(name) {
	case "input_text", "output_text", "text", "refusal":
		if string(key) == "text" || string(key) == "refusal" {
			p.text, err = d.String()
			return err
		}
	case "input_image":
		p.image.Type = "image"
		switch string(key) {
		case "image_url":
			return d.url(&p.image)
		case "file_id":
			return d.refuse("files are not stored here; send image_url")
		}
	case "input_audio":
		if string(key) == "input_audio" {
			p.audio, err = d.Audio()
			return err
		}
	case "input_file":
		p.file.Type = "file"
		switch string(key) {
		case "file_data":
			var s string
			if s, err = d.String(); strings.HasPrefix(s, "data:") {
				p.file.URL = s
			} else {
				p.file.Data = s
			}
			return err
		case "file_url":
			var s string
			if s, err = d.String(); p.file.URL == "" {
				p.file.URL = s
			}
			return err
		case "file_id":
			return d.refuse("files are not stored here; send file_data")
		}
	}
	return d.Skip()
}

// url reads where an image is: a string, or an object as chat has it.
func (d *decoder) url(m *conv.Media) (err error) {
	if d.Type() == jsonscan.String {
		m.URL, err = d.String()
		return err
	}
	return d.Object(func(key []byte) (err error) {
		if string(key) != "url" {
			return d.Skip()
		}
		m.URL, err = d.String()
		return err
	})
}
