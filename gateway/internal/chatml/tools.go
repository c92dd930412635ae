package chatml

import (
	"bytes"
	"strings"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/jsonscan"
)

// customParam is the parameter in which a custom tool, whose input is raw text, takes it: these families
// write JSON or tagged parameters only.
const customParam = "input"

const customSchema = `{"type": "object", "properties": {"` + customParam + `": {"type": "string"}}, "required": ["` + customParam + `"]}`

// How to call, in this project's words: the families' markup, not their prose.
const (
	toolsIntro = "# Tools\n\nThese tools can be called. Each entry between <tools> and </tools> describes one:\n\n<tools>"

	jsonCalls = "\n</tools>\n\nA call is one JSON object, with the tool's name and its arguments, between <tool_call> and </tool_call>. " +
		"Several calls are written one after the other:\n<tool_call>\n{\"name\": <tool name>, \"arguments\": <object with the arguments>}\n</tool_call>"

	xmlCalls = "\n</tools>\n\nA call names the tool and gives each parameter in tags of its own, exactly in this form. A value may have several lines:\n\n" +
		"<tool_call>\n<function=tool_name>\n<parameter=first_parameter>\nvalue\n</parameter>\n<parameter=second_parameter>\nvalue with\nseveral lines\n</parameter>\n</function>\n</tool_call>\n\n" +
		"Give every required parameter. What there is to say about a call comes before it, not after it; several calls are written one after the other. " +
		"If no tool is of use, answer without one."
)

// system writes the system turn: the system messages at the start and the tools. It returns the index of
// the first message after them. The list leaves out deferred tools, so that it does not change when one
// becomes known; it stays when a request forbids calls, for the same reason.
func (r *renderer) system() (int, error) {
	tools := len(r.req.Tools) > 0
	r.put(turnOpen, "system\n")
	if tools && r.toolsFirst {
		r.tools()
		r.put("\n\n")
	}
	at := len(r.buf)
	n, err := r.leading()
	if err != nil {
		return 0, err
	}
	silent := len(r.buf) == at
	switch {
	case silent && !tools:
		r.buf = r.buf[:0]
		return n, nil
	case silent && r.toolsFirst:
		r.buf = r.buf[:at-len("\n\n")]
	case silent:
		r.tools()
	case tools && !r.toolsFirst:
		r.put("\n\n")
		r.tools()
	}
	r.put(turnClose, "\n")
	return n, nil
}

// leading writes the text of the system messages at the start, those that are not empty joined by line
// ends, and returns how many messages these are.
func (r *renderer) leading() (int, error) {
	from, n := len(r.buf), 0
	for ; n < len(r.req.Messages); n++ {
		m := &r.req.Messages[n]
		if m.Role != conv.System && m.Role != conv.Developer {
			break
		}
		before := len(r.buf)
		if before > from {
			r.put("\n")
		}
		at := len(r.buf)
		if err := r.content(n, m.Parts); err != nil {
			return 0, err
		}
		if r.trimFrom(at); len(r.buf) == at {
			r.buf = r.buf[:before]
		}
	}
	return n, nil
}

func (r *renderer) tools() {
	r.put(toolsIntro)
	for i := range r.req.Tools {
		if t := &r.req.Tools[i]; !t.Deferred {
			r.tool(t)
		}
	}
	if r.xml {
		r.put(xmlCalls)
		return
	}
	r.put(jsonCalls)
}

// tool writes one tool, a line end before it.
func (r *renderer) tool(t *conv.ToolDef) {
	schema := t.Schema
	if t.Kind == conv.Custom {
		schema = []byte(customSchema)
	}
	name := r.name(t.Namespace, t.Name)
	if r.xmlTools {
		r.xmlTool(name, t.Description, schema)
		return
	}
	r.put("\n{\"type\": \"function\", \"function\": {\"name\": ")
	r.buf = jsonscan.AppendString(r.buf, name)
	if t.Description != "" {
		r.put(`, "description": `)
		r.buf = jsonscan.AppendString(r.buf, t.Description)
	}
	r.put(`, "parameters": `)
	if len(schema) == 0 {
		r.put(`{"type": "object", "properties": {}}`)
	} else {
		r.buf = appendSpaced(r.buf, schema)
	}
	r.put("}}")
}

func (r *renderer) xmlTool(name, description string, schema []byte) {
	r.put("\n<function>\n<name>", name, "</name>")
	if s := strings.TrimSpace(description); s != "" {
		r.put("\n<description>", s, "</description>")
	}
	r.put("\n<parameters>")
	at := len(r.buf)
	var rest []member
	err := members(schema, func(key string, value []byte) error {
		switch key {
		case "type":
		case "properties":
			return members(value, func(name string, field []byte) error {
				r.xmlParameter(name, field)
				return nil
			})
		default:
			rest = append(rest, member{key, value})
		}
		return nil
	})
	if err != nil {
		r.buf, rest = r.buf[:at], nil
	}
	for _, m := range rest {
		r.element(m.key, m.value)
	}
	r.put("\n</parameters>\n</function>")
}

// xmlParameter writes a parameter: its name, type and description first, then what else its schema says.
func (r *renderer) xmlParameter(name string, field []byte) {
	r.put("\n<parameter>\n<name>", name, "</name>")
	var types, texts, rest []member
	err := members(field, func(key string, value []byte) error {
		switch key {
		case "name":
		case "type":
			types = append(types, member{key, value})
		case "description":
			texts = append(texts, member{key, value})
		default:
			rest = append(rest, member{key, value})
		}
		return nil
	})
	if err == nil {
		for _, list := range [...][]member{types, texts, rest} {
			for _, m := range list {
				r.element(m.key, m.value)
			}
		}
	}
	r.put("\n</parameter>")
}

type member struct {
	key   string
	value []byte
}

// members calls f for the members of an object in order.
func members(object []byte, f func(key string, value []byte) error) error {
	r := jsonscan.NewReader(object)
	return r.Object(func(key []byte) error {
		name := string(key)
		value, err := r.Raw()
		if err != nil {
			return err
		}
		return f(name, value)
	})
}

// element writes a member as <key>value</key>: strings as their text, all else as JSON.
func (r *renderer) element(key string, value []byte) {
	r.put("\n<", key, ">")
	if jsonscan.TypeOf(value) == jsonscan.String {
		at := len(r.buf)
		text, err := jsonscan.NewReader(value).Text(r.buf)
		if err != nil {
			text = append(r.buf[:at], value...)
		}
		if r.buf = text; key == "description" {
			r.cut(at, bytes.TrimSpace(r.buf[at:]))
		}
	} else {
		r.buf = appendSpaced(r.buf, value)
	}
	r.put("</", key, ">")
}

// appendSpaced writes a JSON value in the spacing the families are trained on, a blank after each comma
// and colon: one form, however a client spaces and escapes its schemas. Key order, duplicates and number
// literals stay. What is not JSON is copied as it is.
func appendSpaced(dst, doc []byte) []byte {
	r := jsonscan.NewReader(doc)
	if _, err := r.Raw(); err != nil || r.End() != nil {
		return append(dst, doc...)
	}
	// In JSON, what a byte outside of strings means does not depend on where it stands.
	at := len(dst)
	for i := 0; i < len(doc); i++ {
		switch c := doc[i]; c {
		case ' ', '\t', '\n', '\r':
		case ',', ':':
			dst = append(dst, c, ' ')
		case '"':
			n, usual := scanText(doc[i:])
			if usual {
				dst = append(dst, doc[i:i+n]...)
			} else if text, err := jsonscan.AppendUnquoted(nil, doc[i:i+n]); err == nil {
				dst = jsonscan.AppendString(dst, text)
			} else {
				return append(dst[:at], doc...)
			}
			i += n - 1
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// scanText returns the length of the string literal at the start of b, and whether its escapes are those
// that jsonscan.AppendString writes.
func scanText(b []byte) (n int, usual bool) {
	usual = true
	for i := 1; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return i + 1, usual
		case c == '\\':
			i++
			usual = usual && i < len(b) && strings.IndexByte(`"\nrtbf`, b[i]) >= 0
		case c < 0x20:
			usual = false
		}
	}
	return len(b), false
}
