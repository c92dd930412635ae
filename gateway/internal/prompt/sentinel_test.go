package prompt_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/prompt"
)

// everything is a conversation with a sentinel in each place that a request has, by what it is.
func everything() (*conv.Request, map[string]string) {
	schema := []byte(`{"type":"object","properties":{"SenParam":{"type":"string","description":"SenParamText"}},"required":["SenParam"]}`)
	req := &conv.Request{
		Tools: []conv.ToolDef{
			{Name: "SenToolOne", Description: "SenDescription", Schema: schema},
			{Name: "SenToolTwo", Description: "Second", Schema: schema},
			{Name: "SenLater", Description: "Third", Schema: schema, Deferred: true},
		},
		Messages: []conv.Message{
			says(conv.System, text("SenSystemA"), text("SenSystemB")),
			says(conv.Developer, text("SenDeveloper")),
			says(conv.User, text("SenUserA"), text("SenUserB")),
			answer(text("SenAnswer")),
			says(conv.Developer, text("SenLateDeveloper")),
			user("SenAsk"),
			answer(think("SenThought"), text("SenBeside"), call("callid001", "SenToolOne", `{"SenParam":"SenArgOne"}`), call("callid002", "SenToolTwo", `{"SenParam":"SenArgTwo"}`)),
			says(conv.User, result("callid002", text("SenResultTwo")), result("callid001", text("SenResultOneA"), text("SenResultOneB")), text("SenReminder")),
			system("SenLateSystem"),
			answer(call("callid003", "SenToolOne", `{"SenParam":"SenArgThree"}`)),
			says(conv.Tool, result("callid003", conv.Part{Kind: conv.Reference, Text: "SenLater"})),
			user("SenLastA"),
			user("SenLastB"),
		},
	}
	places := map[string]string{}
	for w := range strings.FieldsSeq("SystemA SystemB Developer UserA UserB Answer LateDeveloper Ask Thought Beside ToolOne ArgOne ToolTwo ArgTwo " +
		"ResultOneA ResultOneB ResultTwo Reminder LateSystem ArgThree Later LastA LastB Description Param") {
		places[w] = "Sen" + w
	}
	return req, places
}

// Whatever a template is like, it shows all of a conversation or refuses it. What is left out is reasoning:
// where the template has a rule for it, and where it knows none.
func TestNothingIsDropped(t *testing.T) {
	t.Parallel()
	all := corpusModels(t)
	req, places := everything()
	shown, refusals, moved := 0, map[string]string{}, map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		m := all[name]
		for _, tools := range [...]bool{true, false} {
			r := *req
			if !tools {
				r.Tools = nil
			}
			p, err := m.Render(t.Context(), &prompt.Input{Request: &r, Origins: true})
			if f, ok := errors.AsType[*fault.Error](err); ok {
				refusals[name] = f.Error()
				continue
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			covers(t, p)
			shown++
			var lost []string
			for _, what := range slices.Sorted(maps.Keys(places)) {
				gone := what == "Thought" || !tools && (what == "Description" || what == "Param")
				if !strings.Contains(p.Text, places[what]) && !gone {
					lost = append(lost, what)
				}
			}
			if at := disordered(p.Text); at != "" {
				moved[name] = at
			}
			if len(lost) > 0 {
				t.Errorf("%s (tools %t) does not show %v; it says %q", name, tools, lost, p.Missing)
			}
		}
	}
	t.Logf("%d prompts of %d templates show all", shown, len(all))
	for _, name := range slices.Sorted(maps.Keys(moved)) {
		t.Logf("not where it was said: %s: %s", name, moved[name])
	}
	for _, name := range slices.Sorted(maps.Keys(refusals)) {
		t.Logf("refused: %s: %s", name, refusals[name])
	}
}

// disordered names the first of the conversation's turns that does not stand behind those before it.
func disordered(text string) string {
	at := 0
	for w := range strings.FieldsSeq("SystemA SystemB UserA UserB Answer LateDeveloper Ask ArgOne ResultOneA ResultOneB Reminder LateSystem ArgThree LastA LastB") {
		i := strings.Index(text[at:], "Sen"+w)
		if i < 0 {
			return w
		}
		at += i
	}
	return ""
}

// Short conversations are ones that few templates were written for: they too are shown whole or refused,
// or what is lost is told.
func TestNothingOfShortConversationsIsDropped(t *testing.T) {
	t.Parallel()
	all := corpusModels(t)
	ask := call("call_a", "f", `{"a":"SenArg"}`)
	for _, tt := range []struct {
		name  string
		req   *conv.Request
		shown string
		lost  map[string]bool // by these, which say so
	}{
		{"system", request(system("SenS")), "SenS", nil},
		{"systems", request(system("SenS"), system("SenT")), "SenS SenT", nil},
		{"developer", request(says(conv.Developer, text("SenD"))), "SenD", nil},
		{"system and developer", request(system("SenS"), says(conv.Developer, text("SenD"))), "SenS SenD", nil},
		{"system and tools", withTools(request(system("SenS")), conv.ToolDef{Name: "SenTool"}), "SenS SenTool", nil},
		{"assistant", request(answer(text("SenA"))), "SenA", map[string]bool{"vllm25__template_vlm2vec_qwen2vl": true}},
		{"system and assistant", request(system("SenS"), answer(text("SenA"))), "SenS SenA", nil},
		{"system and assistant and user", request(system("SenS"), answer(text("SenA")), user("SenU")), "SenS SenA SenU", nil},
		{"user and system", request(user("SenU"), system("SenS")), "SenU SenS", nil},
		{"call without result", request(user("SenU"), answer(text("SenA"), ask)), "SenU SenA SenArg", map[string]bool{"lcpp__NVIDIA-Nemotron-Nano-v2": true}},
		{"call, then user", request(user("SenU"), answer(ask), user("SenV")), "SenU SenArg SenV", nil},
		{"result alone", request(tool("call_a", "SenR")), "SenR", nil},
		{"system and result", request(system("SenS"), tool("call_a", "SenR")), "SenS SenR", nil},
		{"system, call and result", request(system("SenS"), answer(ask), tool("call_a", "SenR")), "SenS SenArg SenR", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			shown, lost := 0, map[string][]string{}
			for name, m := range all {
				p, err := m.Render(t.Context(), &prompt.Input{Request: tt.req})
				if err != nil {
					if f, ok := errors.AsType[*fault.Error](err); !ok {
						t.Errorf("%s: %v is no fault", name, err)
					} else if strings.Contains(f.Error(), "Sen") {
						t.Errorf("%s: %v tells content", name, f)
					}
					continue
				}
				shown++
				for w := range strings.FieldsSeq(tt.shown) {
					switch {
					case strings.Contains(p.Text, w):
					case tt.lost[name]:
						if len(p.Lost) == 0 {
							t.Errorf("%s loses %s in silence", name, w)
						}
					default:
						lost[w] = append(lost[w], name)
					}
				}
			}
			for w, names := range lost {
				slices.Sort(names)
				t.Errorf("%s is not shown by %d of %d: %v", w, len(names), shown, names)
			}
		})
	}
}
