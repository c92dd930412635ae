package messages

import (
	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/gateway/internal/surface"
	"github.com/weirgate/weir/gateway/internal/surface/internal/wire"
)

// Body is the message of a whole turn, its blocks in the model's order.
func (Surface) Body(req *surface.Request, info surface.Info, res *event.Result) []byte {
	out := append(appendHead(make([]byte, 0, 1024), info), '[')
	for i, b := range res.Visible() {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendBlock(out, &b, req.Thinking.Omitted)
	}
	out = append(out, `],`...)
	out = appendStop(out, res.Reason, res.StopSequence)
	out = append(out, `,"usage":`...)
	return append(appendUsage(out, wire.Usage(res.Start, res.Usage)), '}')
}

func appendBlock(out []byte, b *event.Block, omitted bool) []byte {
	switch b.Kind {
	case event.ReasoningStart:
		text, seal := b.Text, b.Seal
		if omitted {
			text = nil
		}
		if seal == "" {
			seal = unsealed
		}
		out = jsonscan.AppendString(append(out, `{"type":"thinking","thinking":`...), text)
		out = jsonscan.AppendString(append(out, `,"signature":`...), seal)
	case event.ToolStart:
		out = appendTool(out, &b.Call)
		if len(b.Call.Arguments) == 0 {
			return append(out, `{}}`...)
		}
		out = append(out, b.Call.Arguments...)
	default:
		out = jsonscan.AppendString(append(out, `{"type":"text","text":`...), b.Text)
	}
	return append(out, '}')
}
