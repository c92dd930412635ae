package responses

import (
	"strconv"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/gateway/internal/surface"
	"github.com/weirgate/weir/gateway/internal/surface/internal/wire"
)

// Body is the resource of a whole turn, its items in the model's order. With req.Stream it is what a stream ended
// with, to be kept. A compaction without a summary has failed.
func (Surface) Body(req *surface.Request, info surface.Info, res *event.Result) []byte {
	a := answerTo(req, info)
	usage := wire.Usage(res.Start, res.Usage)
	st := finished(res.Reason, &usage)
	if a.own.Compact {
		c := a.own.compaction(SummaryText(res))
		if c.seal == "" {
			st = state{status: failed, code: serverError, message: noSummary, usage: &usage}
		} else {
			st = state{status: completed, output: a.appendCompaction(nil, 0, c.seal), usage: &usage}
		}
	} else {
		st.output = a.appendItems(nil, shown(req, res))
	}
	return a.appendResource(make([]byte, 0, 2048+len(st.output)+len(a.own.Echo.Tools)), &st, a.echo(false))
}

// Cancelled is the resource of an answer that was ended before it was whole.
func (Surface) Cancelled(req *surface.Request, info surface.Info) []byte {
	a := answerTo(req, info)
	return a.appendResource(nil, &state{status: cancelled}, a.echo(false))
}

// appendItems appends items with commas between them.
func (a *answer) appendItems(b []byte, blocks []event.Block) []byte {
	for i := range blocks {
		if i > 0 {
			b = append(b, ',')
		}
		it, st := itemOf(&blocks[i], i)
		b = a.appendItem(b, &it, st)
	}
	return b
}

// DeletedBody says that an answer was deleted; id is as the client wrote it.
func DeletedBody(id string) []byte {
	b := jsonscan.AppendString([]byte(`{"id":`), id)
	return append(b, `,"object":"response","deleted":true}`...)
}

// CountBody is the answer of input_tokens for a prompt of n tokens.
func CountBody(n int) []byte {
	b := strconv.AppendInt([]byte(`{"object":"response.input_tokens","input_tokens":`), int64(n), 10)
	return append(b, '}')
}

// CompactBody is the answer of compact: what the user said in req.Messages, in full, and the summary of all else as
// sealed. What asks for the summary is not among them.
func CompactBody(req *surface.Request, info surface.Info, res *event.Result, sealed string) []byte {
	a := answerTo(req, info)
	b := jsonscan.AppendEscaped([]byte(`{"id":"`+idPrefix), info.ID)
	b = append(b, `","object":"response.compaction","created_at":`...)
	b = strconv.AppendInt(b, info.Created.Unix(), 10)
	b = append(b, `,"output":[`...)
	index := 0
	for i := range req.Messages {
		m := &req.Messages[i]
		if m.Role != conv.User || !says(m) || m.Parts[0].Text == compactWords {
			continue
		}
		b = append(a.appendUser(b, m, index), ',')
		index++
	}
	b = append(a.appendCompaction(b, index, sealed), `],"usage":`...)
	return append(appendUsage(b, wire.Usage(res.Start, res.Usage)), '}')
}

// says reports that a message has something that a message item can hold.
func says(m *conv.Message) bool {
	for i := range m.Parts {
		if canSay(&m.Parts[i]) {
			return true
		}
	}
	return false
}

func canSay(p *conv.Part) bool {
	return p.Kind == conv.Text || p.Kind == conv.MediaPart && (p.Media.Type == "image" || p.Media.Type == "file")
}

// appendUser appends a message of the user's as an item.
func (a *answer) appendUser(b []byte, m *conv.Message, index int) []byte {
	b = a.appendID(append(b, `{"type":"message","id":"`...), messagePrefix, index)
	b = append(b, `","status":"completed","role":"user","content":[`...)
	first := true
	for i := range m.Parts {
		p := &m.Parts[i]
		if !canSay(p) {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		switch {
		case p.Kind == conv.Text:
			b = jsonscan.AppendString(append(b, `{"type":"input_text","text":`...), p.Text)
		case p.Media.Type == "image":
			b = appendURL(append(b, `{"type":"input_image","detail":"auto","image_url":`...), p.Media)
		case p.Media.URL != "":
			b = jsonscan.AppendString(append(b, `{"type":"input_file","file_url":`...), p.Media.URL)
		default:
			b = appendURL(append(b, `{"type":"input_file","file_data":`...), p.Media)
		}
		b = append(b, '}')
	}
	return append(b, `]}`...)
}

// appendURL appends where a medium is, or what it is as a data URL.
func appendURL(b []byte, m *conv.Media) []byte {
	if m.URL != "" {
		return jsonscan.AppendString(b, m.URL)
	}
	b = jsonscan.AppendEscaped(append(b, `"data:`...), m.MIME)
	b = jsonscan.AppendEscaped(append(b, `;base64,`...), m.Data)
	return append(b, '"')
}
