package openai

import (
	"math"
	"strconv"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/engines"
	"github.com/weirgate/weir/engines/internal/upstream"
)

// completion makes the body for /completions, which holds the request's IDsText as it is.
func (e *Engine) completion(body *upstream.Body, req *engines.Request) error {
	dst := e.appendModel(body.Buf, req)
	switch {
	case e.cfg.PromptIDs && len(req.IDs) > 0:
		dst = append(dst, `,"prompt":[`...)
		if len(req.IDsText) > 0 {
			body.Buf = dst
			body.Lend(req.IDsText...)
		} else {
			dst = appendIDs(dst, req.IDs)
		}
		dst = append(dst, ']')
	case req.Prompt != "":
		dst = jsonscan.AppendString(append(dst, `,"prompt":`...), req.Prompt)
		if e.cfg.Extras {
			// The rendered prompt has its begin-of-text token already.
			dst = append(dst, `,"add_special_tokens":false`...)
		}
	default:
		return e.refuse("no prompt: the completions mode needs a rendered one")
	}
	dst, err := e.appendCommon(dst, req)
	body.Buf = dst
	return err
}

// appendChat writes the body for /chat/completions.
func (e *Engine) appendChat(dst []byte, req *engines.Request) ([]byte, error) {
	if req.Conversation == nil {
		return dst, e.refuse("no conversation: the chat mode needs one")
	}
	dst = e.appendModel(dst, req)
	dst = appendMessages(append(dst, `,"messages":`...), req.Conversation.Messages)
	dst = e.appendTools(dst, req.Conversation)
	if e.cfg.Extras {
		if args := req.Conversation.TemplateArgs; len(args) > 0 {
			dst = append(append(dst, `,"chat_template_kwargs":`...), args...)
		}
		if effort := req.Conversation.Thinking.Effort; effort != "" {
			dst = jsonscan.AppendString(append(dst, `,"reasoning_effort":`...), effort)
		}
	}
	return e.appendCommon(dst, req)
}

func (e *Engine) appendModel(dst []byte, req *engines.Request) []byte {
	model := req.Model
	if model == "" {
		model = e.cfg.Model
	}
	dst = append(dst, `{"stream":true,"stream_options":{"include_usage":true}`...)
	if model != "" {
		dst = jsonscan.AppendString(append(dst, `,"model":`...), model)
	}
	return dst
}

// appendCommon writes what both endpoints share and closes the object.
func (e *Engine) appendCommon(dst []byte, req *engines.Request) ([]byte, error) {
	if req.MaxTokens > 0 {
		dst = strconv.AppendInt(append(dst, `,"max_tokens":`...), int64(req.MaxTokens), 10)
	}
	for i, s := range req.Stop {
		dst = append(dst, [...]string{`,"stop":[`, `,`}[min(i, 1)]...)
		dst = jsonscan.AppendString(dst, s)
	}
	if len(req.Stop) > 0 {
		dst = append(dst, ']')
	}
	if req.Conversation != nil {
		dst = e.appendSampling(dst, &req.Conversation.Sampling)
	}
	if e.cfg.Extras && !e.cfg.Structured {
		dst = append(dst, `,"skip_special_tokens":false,"spaces_between_special_tokens":false`...)
		if e.asksIDs {
			dst = append(dst, `,"return_token_ids":true`...)
		}
	}
	dst, err := e.appendConstraint(dst, req)
	if err != nil {
		return dst, err
	}
	if e.cfg.Members != nil {
		dst = e.cfg.Members(dst, req)
	}
	return append(dst, '}'), nil
}

func (e *Engine) appendSampling(dst []byte, s *conv.Sampling) []byte {
	for _, p := range [...]struct {
		name  string
		value *float64
	}{
		{"temperature", s.Temperature},
		{"top_p", s.TopP},
		{"frequency_penalty", s.FrequencyPenalty},
		{"presence_penalty", s.PresencePenalty},
		{"min_p", s.MinP},
		{"repetition_penalty", s.RepetitionPenalty},
	} {
		if p.value != nil && e.Takes(p.name) && !math.IsNaN(*p.value) && !math.IsInf(*p.value, 0) {
			dst = appendName(dst, p.name)
			dst = strconv.AppendFloat(dst, *p.value, 'g', -1, 64)
		}
	}
	if s.Seed != nil {
		dst = strconv.AppendInt(appendName(dst, "seed"), *s.Seed, 10)
	}
	if s.TopK != nil && e.Takes("top_k") {
		dst = strconv.AppendInt(appendName(dst, "top_k"), int64(*s.TopK), 10)
	}
	if s.IgnoreEOS && e.Takes("ignore_eos") {
		dst = append(appendName(dst, "ignore_eos"), "true"...)
	}
	return dst
}

// appendName appends a member's name, which needs no escaping.
func appendName(dst []byte, name string) []byte {
	dst = append(dst, ',', '"')
	dst = append(dst, name...)
	return append(dst, '"', ':')
}

func (e *Engine) appendConstraint(dst []byte, req *engines.Request) ([]byte, error) {
	c := &req.Constraint
	what := ""
	switch {
	case c.JSONSchema != nil:
		what = "json_schema"
	case c.JSONObject:
		what = "json_object"
	case c.Regex != "":
		what = "regex"
	case c.Grammar != "":
		what = "grammar"
	default:
		return dst, nil
	}
	switch {
	case e.cfg.Constrain == ConstrainResponse && what == "json_object":
		return append(dst, `,"response_format":{"type":"json_object"}`...), nil
	case e.cfg.Constrain == ConstrainResponse && what == "json_schema":
		return appendResponseFormat(dst, req), nil
	case e.cfg.Constrain == ConstrainStructured:
		dst = append(dst, `,"structured_outputs":{`...)
		switch what {
		case "json_schema":
			dst = append(append(dst, `"json":`...), c.JSONSchema...)
		case "json_object":
			dst = append(dst, `"json_object":true`...)
		case "regex":
			dst = jsonscan.AppendString(append(dst, `"regex":`...), c.Regex)
		default:
			dst = jsonscan.AppendString(append(dst, `"grammar":`...), c.Grammar)
		}
		return append(dst, '}'), nil
	case e.cfg.Constrain == ConstrainLlamaCPP && what == "json_schema":
		return append(append(dst, `,"json_schema":`...), c.JSONSchema...), nil
	case e.cfg.Constrain == ConstrainLlamaCPP && what == "json_object":
		return append(dst, `,"json_schema":{"type":"object"}`...), nil
	case e.cfg.Constrain == ConstrainLlamaCPP && what == "grammar":
		return jsonscan.AppendString(append(dst, `,"grammar":`...), c.Grammar), nil
	}
	return dst, e.refuse("this engine cannot hold its output to a %s", what)
}

func appendResponseFormat(dst []byte, req *engines.Request) []byte {
	name, strict := "response", true
	if req.Conversation != nil && req.Conversation.Format.Name != "" {
		name, strict = req.Conversation.Format.Name, req.Conversation.Format.Strict
	}
	dst = append(dst, `,"response_format":{"type":"json_schema","json_schema":{"name":`...)
	dst = jsonscan.AppendString(dst, name)
	dst = strconv.AppendBool(append(dst, `,"strict":`...), strict)
	dst = append(append(dst, `,"schema":`...), req.Constraint.JSONSchema...)
	return append(dst, `}}`...)
}

// appendIDs writes ids as the elements of a JSON array. It serves requests without IDsText alone: who sends long
// prompts has their text already, and need not have it made here.
func appendIDs(dst []byte, ids []uint32) []byte {
	for i, id := range ids {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendUint(dst, uint64(id), 10)
	}
	return dst
}
