package wire

import "github.com/weirgate/weir/abi/conv"

// FormatMember reads a member of a structured-output wish, which has the same ones on all surfaces; others are passed
// over.
func (d *Decoder) FormatMember(f *conv.Format, key []byte) (err error) {
	switch string(key) {
	case "type":
		f.Type, err = d.Word()
	case "name":
		f.Name, err = d.String()
	case "schema":
		f.Schema, err = d.RawObject()
	case "strict":
		f.Strict, err = d.Bool()
	default:
		return d.Skip()
	}
	return err
}

// FormatOf checks a wish that was read whole; schema is the member that its schema is expected in.
func (d *Decoder) FormatOf(f *conv.Format, schema string) error {
	switch {
	case f.Type == "json_schema" && f.Schema == nil:
		return d.BadMember(schema, "expected an object")
	case f.Type != "text" && f.Type != "json_object" && f.Type != "json_schema":
		return d.BadMember("type", "expected text, json_object or json_schema")
	}
	return nil
}

// ChoiceMode reads a mode of tool choice, as OpenAI's surfaces name them.
func (d *Decoder) ChoiceMode(c *conv.ToolChoice) error {
	b, err := d.Bytes()
	if err != nil {
		return err
	}
	switch string(b) {
	case "auto":
		c.Mode = conv.ChoiceAuto
	case "none":
		c.Mode = conv.ChoiceNone
	case "required", "any":
		c.Mode = conv.ChoiceRequired
	default:
		return d.Bad("expected auto, none or required")
	}
	return nil
}

// Audio reads a sound, inline.
func (d *Decoder) Audio() (*conv.Media, error) {
	m := &conv.Media{Type: "audio"}
	err := d.Object(func(key []byte) (err error) {
		switch string(key) {
		case "data":
			m.Data, err = d.String()
		case "format":
			m.MIME, err = d.String()
			m.MIME = "audio/" + m.MIME
		default:
			return d.Skip()
		}
		return err
	})
	if err == nil && m.Data == "" {
		err = d.BadMember("data", "expected base64")
	}
	return m, err
}
