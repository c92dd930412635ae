package template

import "github.com/weirgate/weir/abi/jsonscan"

// wish is what someone says of thinking, or of another switch.
type wish uint8

const (
	unset wish = iota
	on
	off
	adaptive // the model decides; where a family knows no such thing it is on
)

// level is how much the client wants thought about.
type level uint8

const (
	levelUnset level = iota
	levelNone
	levelMinimal
	levelLow
	levelMedium
	levelHigh
	levelXHigh
	levelMax
	levels
)

// levelOf reads a level's name. One that no family has is as if nothing was said.
func levelOf(text []byte) level {
	switch string(text) {
	case "none", "no_think":
		return levelNone
	case "minimal":
		return levelMinimal
	case "low":
		return levelLow
	case "medium":
		return levelMedium
	case "high":
		return levelHigh
	case "xhigh":
		return levelXHigh
	case "max", "ultra":
		return levelMax
	}
	return levelUnset
}

// arg is a template argument that some family's template reads.
type arg uint8

const (
	argNone arg = iota
	argEnableThinking
	argThinking
	argThinkingMode
	argReasoning
	argReasoningEffort
	argThinkingEffort
	argThinkingBudget
	argReasoningStrength
	argLowEffort
	argMediumEffort
	argPreserveThinking
	argPreservedThinking
	argClearThinking
	argTruncateHistory
	argDropThinking
	argThinkRender
	args
)

// argNames are the arguments' names in a template.
var argNames = [args]string{
	argEnableThinking:    "enable_thinking",
	argThinking:          "thinking",
	argThinkingMode:      "thinking_mode",
	argReasoning:         "reasoning",
	argReasoningEffort:   "reasoning_effort",
	argThinkingEffort:    "thinking_effort",
	argThinkingBudget:    "thinking_budget",
	argReasoningStrength: "reasoning_strength",
	argLowEffort:         "low_effort",
	argMediumEffort:      "medium_effort",
	argPreserveThinking:  "preserve_thinking",
	argPreservedThinking: "preserved_thinking",
	argClearThinking:     "clear_thinking",
	argTruncateHistory:   "truncate_history_thinking",
	argDropThinking:      "drop_thinking",
	argThinkRender:       "think_render_option",
}

// switches are an outline's switches, as far as they matter here.
type switches struct {
	named     [args]bool // the client gave this argument, of whatever type
	said      [args]wish // what it says
	argEffort level      // of the arguments that are a level
	mode      wish       // the request's thinking mode
	effort    level      // the request's effort
	effortSet bool       // it has one, known or not
	def       wish       // of the tenant or the model
	tools     bool       // the request has some
	closed    bool       // the prompt ends behind the last message
	goesOn    bool       // the model goes on in the last message
}

// thinks resolves the wishes: the family's own argument, then those that other families have for the same
// thing, then the request's mode, its effort, the default of the configuration, and the family's.
func (f *family) thinks(sw *switches) wish {
	others := [...]arg{
		f.toggle.arg, argEnableThinking, argThinking, argThinkingMode, argReasoning, argReasoningEffort, argThinkingEffort, argThinkingBudget,
	}
	for _, a := range others {
		if w := sw.said[a]; w != unset {
			return w
		}
	}
	switch {
	case sw.mode != unset:
		return sw.mode
	case sw.effortSet && sw.effort == levelNone:
		return off
	case sw.effortSet:
		return on
	case sw.def == on && f.toggle.adaptive != "":
		return adaptive // a default asks for nothing that the model would not do by itself
	case sw.def != unset:
		return sw.def
	case f.toggle.def != unset:
		return f.toggle.def
	}
	return on
}

// asked is the level the client wants. A family that cannot stop thinking thinks as little as it can where
// thinking is off.
func (sw *switches) asked(always bool, thinks wish) level {
	switch {
	case sw.argEffort != levelUnset:
		return sw.argEffort
	case sw.effort != levelUnset:
		return sw.effort
	case always && thinks == off:
		return levelNone
	}
	return levelUnset
}

// readSwitches reads the switches object; see the outline in ABI.md. Unknown members are skipped, so
// that a newer host can say more, and so are template arguments of another type than expected: they may
// mean something to a template that this policy does not know.
func readSwitches(b []byte) (switches, error) {
	var sw switches
	if len(b) == 0 {
		return sw, nil
	}
	r := jsonscan.NewReader(b)
	if r.OpenObject() != nil {
		return sw, errOutline
	}
	for {
		key, ok, err := r.Member()
		if err != nil {
			return sw, errOutline
		}
		if !ok {
			break
		}
		if sw.member(r, key) != nil {
			return sw, errOutline
		}
	}
	if r.End() != nil {
		return sw, errOutline
	}
	return sw, nil
}

func (sw *switches) member(r *jsonscan.Reader, key []byte) error {
	var buf [32]byte
	switch string(key) {
	case "thinking":
		text, err := r.Text(buf[:0])
		switch {
		case err != nil || len(text) == 0:
			return err
		case string(text) == "off":
			sw.mode = off
		case string(text) == "adaptive":
			sw.mode = adaptive
		default:
			sw.mode = on
		}
	case "effort":
		text, err := r.Text(buf[:0])
		if err != nil {
			return err
		}
		sw.effort, sw.effortSet = levelOf(text), len(text) > 0
	case "default":
		text, err := r.Text(buf[:0])
		switch {
		case err != nil || len(text) == 0:
			return err
		case string(text) == "off":
			sw.def = off
		default:
			sw.def = on
		}
	case "kwargs":
		return sw.kwargs(r)
	case "tools":
		raw, err := r.Raw()
		sw.tools = jsonscan.TypeOf(raw) == jsonscan.Number && string(raw) != "0"
		return err
	case "generation":
		raw, err := r.Raw()
		sw.closed = string(raw) == "false"
		return err
	case "continue":
		raw, err := r.Raw()
		sw.goesOn = string(raw) == "true"
		return err
	default:
		_, err := r.Raw()
		return err
	}
	return nil
}

func (sw *switches) kwargs(r *jsonscan.Reader) error {
	if err := r.OpenObject(); err != nil {
		return err
	}
	for {
		key, ok, err := r.Member()
		if err != nil || !ok {
			return err
		}
		a := argOf(key)
		raw, err := r.Raw()
		if err != nil {
			return err
		}
		if a != argNone {
			sw.named[a] = true
			sw.say(a, raw)
		}
	}
}

func argOf(key []byte) arg {
	for a := argNone + 1; a < args; a++ {
		if string(key) == argNames[a] {
			return a
		}
	}
	return argNone
}

// say notes the value of an argument.
func (sw *switches) say(a arg, raw []byte) {
	sw.said[a] = unset // of an argument that is given twice the last counts, as in a template
	switch jsonscan.TypeOf(raw) {
	case jsonscan.Bool:
		if sw.said[a] = off; raw[0] == 't' {
			sw.said[a] = on
		}
	case jsonscan.Number:
		if a == argThinkingBudget {
			if sw.said[a] = on; string(raw) == "0" {
				sw.said[a] = off
			}
		}
	case jsonscan.String:
		sw.sayText(a, raw)
	}
}

func (sw *switches) sayText(a arg, raw []byte) {
	var buf [32]byte
	text, err := jsonscan.NewReader(raw).Text(buf[:0])
	if err != nil || len(text) == 0 {
		return
	}
	switch a {
	case argThinkingMode:
		switch string(text) {
		case "enabled", "on":
			sw.said[a] = on
		case "disabled", "off":
			sw.said[a] = off
		case "adaptive":
			sw.said[a] = adaptive
		}
	case argReasoningEffort, argThinkingEffort, argReasoningStrength:
		l := levelOf(text)
		if sw.said[a] = on; l == levelNone {
			sw.said[a] = off
		}
		if l != levelUnset {
			sw.argEffort = l
		}
	case argThinkRender:
		if sw.said[a] = off; string(text) == "all" {
			sw.said[a] = on
		}
	}
}
