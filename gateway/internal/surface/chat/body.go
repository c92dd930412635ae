package chat

import (
	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/gateway/internal/surface"
	"github.com/weirgate/weir/gateway/internal/surface/internal/wire"
)

// Body is the chat.completion of a whole turn. Texts are put together as they are, so they equal what
// a stream's deltas make.
func (Surface) Body(req *surface.Request, info surface.Info, res *event.Result) []byte {
	blocks := res.Visible()
	var reasoning []byte
	text := []byte(echoed(req))
	calls := 0
	for i := range blocks {
		switch b := &blocks[i]; b.Kind {
		case event.TextStart:
			text = append(text, b.Text...)
		case event.ReasoningStart:
			reasoning = append(reasoning, b.Text...)
		case event.ToolStart:
			calls++
		}
	}
	out := appendHead(make([]byte, 0, 512+len(text)+len(reasoning)), info, "chat.completion")
	out = append(out, `{"index":0,"message":{"role":"assistant","content":`...)
	if calls > 0 && len(text) == 0 {
		out = append(out, "null"...)
	} else {
		out = jsonscan.AppendString(out, text)
	}
	if len(reasoning) > 0 {
		out = jsonscan.AppendString(append(out, `,"reasoning_content":`...), reasoning)
	}
	if calls > 0 {
		out = appendCalls(out, blocks)
	}
	out = append(out, `,"refusal":null},"logprobs":null,"finish_reason":"`...)
	out = append(append(out, reason(res.Reason)...), `"}],"usage":`...)
	return append(appendUsage(out, wire.Usage(res.Start, res.Usage)), '}')
}

func appendCalls(out []byte, blocks []event.Block) []byte {
	out = append(out, `,"tool_calls":`...)
	open := byte('[')
	for i := range blocks {
		if b := &blocks[i]; b.Kind == event.ToolStart {
			out = append(out, open, '{')
			out = append(appendCall(out, &b.Call, b.Call.Arguments), '}')
			open = ','
		}
	}
	return append(out, ']')
}
