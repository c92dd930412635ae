package openai

import (
	"strings"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/abi/toolname"
)

// appendMessages writes a conversation as chat messages. Developer messages go as system ones, which
// every template knows; a user's tool results become tool messages; what chat cannot say (seals,
// references) is left out.
func appendMessages(dst []byte, messages []conv.Message) []byte {
	dst = append(dst, '[')
	for i := range messages {
		m := &messages[i]
		if m.Role == conv.Assistant {
			dst = appendAssistant(dst, m)
			continue
		}
		role := m.Role
		if role == conv.Developer {
			role = conv.System
		}
		for parts := m.Parts; len(parts) > 0; {
			if parts[0].Kind == conv.Result {
				dst = appendResult(dst, parts[0].Result)
				parts = parts[1:]
				continue
			}
			n := 0
			for n < len(parts) && parts[n].Kind != conv.Result {
				n++
			}
			if hasContent(parts[:n]) {
				dst = open(dst, role.String())
				if m.Name != "" {
					dst = jsonscan.AppendString(append(dst, `,"name":`...), m.Name)
				}
				dst = appendContent(append(dst, `,"content":`...), parts[:n])
				dst = append(dst, '}')
			}
			parts = parts[n:]
		}
	}
	return append(dst, ']')
}

// open begins a message; the array's comma depends on what stands before.
func open(dst []byte, role string) []byte {
	if dst[len(dst)-1] == '}' {
		dst = append(dst, ',')
	}
	dst = append(append(dst, `{"role":"`...), role...)
	return append(dst, '"')
}

func hasContent(parts []conv.Part) bool {
	for i := range parts {
		if parts[i].Kind == conv.Text || parts[i].Kind == conv.MediaPart {
			return true
		}
	}
	return false
}

func appendResult(dst []byte, r *conv.ToolResult) []byte {
	if r == nil {
		return dst
	}
	dst = open(dst, "tool")
	dst = jsonscan.AppendString(append(dst, `,"tool_call_id":`...), r.CallID)
	dst = appendContent(append(dst, `,"content":`...), r.Parts)
	return append(dst, '}')
}

// appendContent writes text as one string, joined by line feeds, and an array only where there is media.
func appendContent(dst []byte, parts []conv.Part) []byte {
	media := false
	for i := range parts {
		media = media || parts[i].Kind == conv.MediaPart && parts[i].Media != nil
	}
	if media {
		return appendPartArray(dst, parts)
	}
	dst = append(dst, '"')
	n := 0
	for i := range parts {
		if parts[i].Kind != conv.Text {
			continue
		}
		if n > 0 {
			dst = append(dst, '\\', 'n')
		}
		dst = jsonscan.AppendEscaped(dst, parts[i].Text)
		n++
	}
	return append(dst, '"')
}

func appendPartArray(dst []byte, parts []conv.Part) []byte {
	sep := byte('[')
	for i := range parts {
		switch p := &parts[i]; {
		case p.Kind == conv.Text:
			dst = append(append(dst, sep), `{"type":"text","text":`...)
			dst = append(jsonscan.AppendString(dst, p.Text), '}')
		case p.Kind == conv.MediaPart && p.Media != nil:
			dst = appendMedia(append(dst, sep), p.Media)
		default:
			continue
		}
		sep = ','
	}
	return append(dst, ']')
}

func appendMedia(dst []byte, m *conv.Media) []byte {
	url := m.URL
	if url == "" {
		url = "data:" + m.MIME + ";base64," + m.Data
	}
	switch m.Type {
	case "audio":
		format := m.MIME[strings.LastIndexByte(m.MIME, '/')+1:]
		if format == "mpeg" {
			format = "mp3"
		}
		dst = append(dst, `{"type":"input_audio","input_audio":{"data":`...)
		dst = jsonscan.AppendString(dst, m.Data)
		dst = jsonscan.AppendString(append(dst, `,"format":`...), strings.TrimPrefix(format, "x-"))
	case "file":
		dst = append(dst, `{"type":"file","file":{"file_data":`...)
		dst = jsonscan.AppendString(dst, url)
	default:
		dst = append(dst, `{"type":"image_url","image_url":{"url":`...)
		dst = jsonscan.AppendString(dst, url)
	}
	return append(dst, '}', '}')
}

// appendAssistant writes one turn. Chat has one reasoning, one content and one list of calls, so the
// order of several rounds within a turn is lost here.
func appendAssistant(dst []byte, m *conv.Message) []byte {
	var text, reasoning []string
	var calls []*conv.ToolCall
	for i := range m.Parts {
		switch p := &m.Parts[i]; {
		case p.Kind == conv.Text:
			text = append(text, p.Text)
		case p.Kind == conv.Reasoning && p.Text != "":
			reasoning = append(reasoning, p.Text)
		case p.Kind == conv.Call && p.Call != nil:
			calls = append(calls, p.Call)
		}
	}
	dst = open(dst, "assistant")
	if len(reasoning) > 0 {
		dst = jsonscan.AppendString(append(dst, `,"reasoning_content":`...), strings.Join(reasoning, "\n"))
	}
	dst = append(dst, `,"content":`...)
	if len(text) == 0 && len(calls) > 0 {
		dst = append(dst, "null"...)
	} else {
		dst = jsonscan.AppendString(dst, strings.Join(text, "\n"))
	}
	for i, c := range calls {
		dst = append(dst, [...]string{`,"tool_calls":[`, `,`}[min(i, 1)]...)
		dst = jsonscan.AppendString(append(dst, `{"id":`...), c.ID)
		dst = jsonscan.AppendString(append(dst, `,"type":"function","function":{"name":`...), toolname.Of(c.Namespace, c.Name))
		args := c.Arguments
		if c.Kind == conv.Custom {
			args = string(jsonscan.AppendString([]byte(`{"input":`), args)) + "}"
		}
		dst = jsonscan.AppendString(append(dst, `,"arguments":`...), args)
		dst = append(dst, '}', '}')
	}
	if len(calls) > 0 {
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

// customSchema is how a custom tool, whose input is plain text, is told to an engine that knows
// functions only.
const customSchema = `{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}`

// appendTools writes the tools and the choice among them. A deferred tool is left out until a
// reference names it. Where the gateway parses, the engine is told not to: its prompt has the tools,
// its output stays text.
func (e *Engine) appendTools(dst []byte, c *conv.Request) []byte {
	n := 0
	for i := range c.Tools {
		t := &c.Tools[i]
		if t.Deferred && !referenced(c.Messages, toolname.Of(t.Namespace, t.Name)) {
			continue
		}
		dst = append(dst, [...]string{`,"tools":[`, `,`}[min(n, 1)]...)
		n++
		dst = jsonscan.AppendString(append(dst, `{"type":"function","function":{"name":`...), toolname.Of(t.Namespace, t.Name))
		if t.Description != "" {
			dst = jsonscan.AppendString(append(dst, `,"description":`...), t.Description)
		}
		dst = append(dst, `,"parameters":`...)
		switch {
		case t.Kind == conv.Custom:
			dst = append(dst, customSchema...)
		case len(t.Schema) == 0:
			dst = append(dst, `{"type":"object","properties":{}}`...)
		default:
			dst = append(dst, t.Schema...)
		}
		if t.Strict && t.Kind == conv.Function {
			dst = append(dst, `,"strict":true`...)
		}
		dst = append(dst, '}', '}')
	}
	if n == 0 {
		return dst
	}
	dst = append(dst, `],"tool_choice":`...)
	switch {
	case !e.cfg.Structured || c.Choice.Mode == conv.ChoiceNone:
		return append(dst, `"none"`...)
	case c.Choice.Mode == conv.ChoiceRequired:
		dst = append(dst, `"required"`...)
	case c.Choice.Mode == conv.ChoiceNamed:
		dst = append(dst, `{"type":"function","function":{"name":`...)
		dst = append(jsonscan.AppendString(dst, c.Choice.Name), '}', '}')
	default:
		dst = append(dst, `"auto"`...)
	}
	if !c.Choice.Parallel {
		dst = append(dst, `,"parallel_tool_calls":false`...)
	}
	return dst
}

func referenced(messages []conv.Message, name string) bool {
	var in func(parts []conv.Part) bool
	in = func(parts []conv.Part) bool {
		for i := range parts {
			p := &parts[i]
			if p.Kind == conv.Reference && p.Text == name || p.Kind == conv.Result && p.Result != nil && in(p.Result.Parts) {
				return true
			}
		}
		return false
	}
	for i := range messages {
		if in(messages[i].Parts) {
			return true
		}
	}
	return false
}
