package responses

import (
	"strconv"
	"time"

	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/gateway/internal/surface"
	"github.com/weirgate/weir/gateway/internal/surface/internal/wire"
)

// ID is the id of an answer as clients know it.
func ID(info surface.Info) string { return idPrefix + info.ID }

// state is what of the resource changes while it is answered.
type state struct {
	status  status
	reason  string // of an incomplete one
	code    string // of a failed one
	message string // of a failed one
	output  []byte // items with commas between them
	usage   *event.Usage
}

// finished is the state that a reason to end makes.
func finished(r event.Reason, usage *event.Usage) state {
	switch r {
	case event.ReasonLength:
		return state{status: incomplete, reason: "max_output_tokens", usage: usage}
	case event.ReasonContent:
		return state{status: incomplete, reason: "content_filter", usage: usage}
	}
	return state{status: completed, usage: usage}
}

// appendResource appends a resource; echo are the members that echo makes.
func (a *answer) appendResource(b []byte, st *state, echo []byte) []byte {
	b = jsonscan.AppendEscaped(append(b, `{"id":"`+idPrefix...), a.info.ID)
	b = append(b, `","object":"response","created_at":`...)
	b = strconv.AppendInt(b, a.info.Created.Unix(), 10)
	b = append(append(b, `,"status":"`...), st.status...)
	b = append(b, `","background":false,"completed_at":`...)
	if st.status == completed {
		b = strconv.AppendInt(b, a.own.finished().Unix(), 10)
	} else {
		b = append(b, "null"...)
	}
	b = append(b, `,"error":`...)
	if st.status == failed {
		b = append(append(b, `{"code":"`...), st.code...)
		b = append(jsonscan.AppendString(append(b, `","message":`...), st.message), '}')
	} else {
		b = append(b, "null"...)
	}
	b = append(b, `,"incomplete_details":`...)
	if st.reason != "" {
		b = append(append(append(b, `{"reason":"`...), st.reason...), `"}`...)
	} else {
		b = append(b, "null"...)
	}
	b = jsonscan.AppendString(append(b, `,"model":`...), a.info.Model)
	b = wire.AppendNullable(append(b, `,"previous_response_id":`...), a.own.Previous)
	b = append(append(append(b, `,"output":[`...), st.output...), `],"usage":`...)
	if st.usage != nil {
		b = appendUsage(b, *st.usage)
	} else {
		b = append(b, "null"...)
	}
	return append(append(b, echo...), '}')
}

// finished is when the answer was complete, which is now where nobody said so before.
func (o *Own) finished() time.Time {
	if o.Finished.IsZero() {
		o.Finished = time.Now()
	}
	return o.Finished
}

func appendUsage(b []byte, u event.Usage) []byte {
	b = strconv.AppendInt(append(b, `{"input_tokens":`...), int64(u.Input), 10)
	b = strconv.AppendInt(append(b, `,"input_tokens_details":{"cached_tokens":`...), int64(u.Cached), 10)
	b = strconv.AppendInt(append(b, `},"output_tokens":`...), int64(u.Output), 10)
	b = strconv.AppendInt(append(b, `,"output_tokens_details":{"reasoning_tokens":`...), int64(u.Reasoning), 10)
	b = strconv.AppendInt(append(b, `},"total_tokens":`...), int64(u.Input+u.Output), 10)
	return append(b, '}')
}

// echo makes the members that repeat the request, each with a comma before it: as received, and where the
// client was silent as OpenAI says what it does then. A small one leaves out what may be long.
func (a *answer) echo(small bool) (b []byte) {
	req, e := a.req, &a.own.Echo
	tools, instructions := e.Tools, e.Instructions
	if small {
		tools, instructions = nil, nil
	}
	b = appendGiven(append(b, `,"instructions":`...), instructions, "null")
	b = append(b, `,"max_output_tokens":`...)
	if req.MaxTokens > 0 {
		b = strconv.AppendInt(b, int64(req.MaxTokens), 10)
	} else {
		b = append(b, "null"...)
	}
	b = appendGiven(append(b, `,"max_tool_calls":`...), e.MaxToolCalls, "null")
	b = appendGiven(append(b, `,"metadata":`...), e.Metadata, "{}")
	b = strconv.AppendBool(append(b, `,"parallel_tool_calls":`...), req.Choice.Parallel)
	b = appendNumber(append(b, `,"frequency_penalty":`...), req.Sampling.FrequencyPenalty, 0)
	b = appendNumber(append(b, `,"presence_penalty":`...), req.Sampling.PresencePenalty, 0)
	b = appendNumber(append(b, `,"temperature":`...), req.Sampling.Temperature, 1)
	b = appendNumber(append(b, `,"top_p":`...), req.Sampling.TopP, 1)
	b = appendGiven(append(b, `,"top_logprobs":`...), e.TopLogprobs, "0")
	b = appendGiven(append(b, `,"prompt_cache_key":`...), e.PromptCacheKey, "null")
	if given(e.PromptCacheRetention) {
		b = appendJSON(append(b, `,"prompt_cache_retention":`...), e.PromptCacheRetention)
	}
	b = append(b, `,"reasoning":`...)
	if given(e.Reasoning) {
		b = appendObject(b, e.Reasoning, member{"effort", "null"}, member{"summary", "null"})
	} else {
		b = append(b, `{"effort":null,"summary":null}`...)
	}
	b = appendGiven(append(b, `,"safety_identifier":`...), e.SafetyIdentifier, "null")
	b = appendGiven(append(b, `,"service_tier":`...), e.ServiceTier, `"default"`)
	b = strconv.AppendBool(append(b, `,"store":`...), a.own.Store)
	b = appendText(append(b, `,"text":`...), e.Text)
	b = append(b, `,"tool_choice":`...)
	switch {
	case !given(e.ToolChoice):
		b = append(b, `"auto"`...)
	case string(look(e.ToolChoice, "type")) == `"allowed_tools"`:
		b = appendObject(b, e.ToolChoice, member{"mode", `"auto"`})
	default:
		b = appendJSON(b, e.ToolChoice)
	}
	b = appendTools(append(b, `,"tools":`...), tools)
	b = appendGiven(append(b, `,"truncation":`...), e.Truncation, `"disabled"`)
	return appendGiven(append(b, `,"user":`...), e.User, "null")
}

// appendGiven appends what the client said, or what stands for its silence.
func appendGiven(b, raw []byte, silent string) []byte {
	if given(raw) {
		return appendJSON(b, raw)
	}
	return append(b, silent...)
}

func appendNumber(b []byte, f *float64, silent float64) []byte {
	if f != nil {
		silent = *f
	}
	return strconv.AppendFloat(b, silent, 'g', -1, 64)
}
