package openai_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weirgate/weir/engines"
	"github.com/weirgate/weir/engines/enginetest"
	"github.com/weirgate/weir/engines/openai"
)

// TestSampledIDs: the ids of all deltas together are those of the text, or a delta has none.
func TestSampledIDs(t *testing.T) {
	special := []openai.Special{{Text: "<call>", ID: 7}, {Text: "<end>", ID: 9}, {Text: "<stop>", ID: 8}}
	chunk := func(text string, ids ...uint32) enginetest.Chunk { return enginetest.Chunk{Text: text, IDs: ids} }
	for name, c := range map[string]struct {
		script enginetest.Script
		ids    string // "-": not all are known; where that depends on how chunks meet, both
		tokens int
	}{
		"a token a chunk":                   {enginetest.Script{Chunks: []enginetest.Chunk{chunk("a", 1), chunk("b", 2), chunk("c", 3)}}, "1 2 3", 3},
		"many in a chunk":                   {enginetest.Script{Chunks: []enginetest.Chunk{chunk("a", 1), chunk("bcd", 2, 3, 4294967295)}, Usage: enginetest.UsageNever}, "1 2 3 4294967295", 4},
		"a character in three tokens":       {enginetest.Script{Chunks: []enginetest.Chunk{chunk("", 1), chunk("", 2), chunk("堰", 3)}}, "1 2 3", 3},
		"a control token in the text":       {enginetest.Script{Chunks: []enginetest.Chunk{chunk("a", 1), chunk("<call>", 7)}}, "1 7", 2},
		"the model's end token":             {enginetest.Script{Chunks: []enginetest.Chunk{chunk("a", 1)}, Stop: "null", Last: []uint32{151645}, Usage: enginetest.UsageNever}, "1", 2},
		"an end token that is known":        {enginetest.Script{Chunks: []enginetest.Chunk{chunk("a", 1)}, Last: []uint32{9}, Usage: enginetest.UsageNever}, "1", 2},
		"an end token whose text is shown":  {enginetest.Script{Chunks: []enginetest.Chunk{chunk("a", 1), chunk("<end>", 9)}, FinishEvery: true, StopEvery: true, Stop: "null"}, "1 9|-", 2},
		"a stop token":                      {enginetest.Script{Chunks: []enginetest.Chunk{chunk("a", 1)}, Stop: "8", Last: []uint32{8}, Usage: enginetest.UsageNever}, "1", 2},
		"a stop string that is a token":     {enginetest.Script{Chunks: []enginetest.Chunk{chunk("a", 1)}, Stop: `"<stop>"`, Last: []uint32{8}, Usage: enginetest.UsageNever}, "1", 2},
		"a stop string that cut the text":   {enginetest.Script{Chunks: []enginetest.Chunk{chunk("a", 1)}, Stop: `"STOP"`, Last: []uint32{5, 6}, Usage: enginetest.UsageNever}, "1|-", 3},
		"the limit":                         {enginetest.Script{Chunks: []enginetest.Chunk{chunk("a", 1)}, Finish: "length", Stop: "null", Last: []uint32{2}, Usage: enginetest.UsageNever}, "1 2", 2},
		"an end on each chunk":              {enginetest.Script{Chunks: []enginetest.Chunk{chunk("a", 1), chunk("b", 2)}, FinishEvery: true, StopEvery: true, Stop: "null", Last: []uint32{3}, Usage: enginetest.UsageNever}, "1 2|-", 3},
		"usage in every chunk":              {enginetest.Script{Chunks: []enginetest.Chunk{chunk("a", 1), chunk("b", 2)}, Usage: enginetest.UsageEvery}, "1 2", 2},
		"usage that counts more":            {enginetest.Script{Chunks: []enginetest.Chunk{chunk("a", 1), chunk("", 2), chunk("bc", 3, 4)}}, "1 2 3 4|-", 4},
		"only some chunks have ids":         {enginetest.Script{Chunks: []enginetest.Chunk{chunk("a", 1), chunk("b")}, Usage: enginetest.UsageNever}, "-", 1},
		"none has":                          {enginetest.Script{Chunks: enginetest.Say("a", "b")}, "-", 0},
		"an empty list":                     {enginetest.Script{Chunks: []enginetest.Chunk{{Text: "a", List: "[]"}}}, "-", 0},
		"no list":                           {enginetest.Script{Chunks: []enginetest.Chunk{{Text: "a", List: "null"}, {Text: "b", List: `{"x":[1]}`}}}, "-", 0},
		"an id below zero":                  {enginetest.Script{Chunks: []enginetest.Chunk{{Text: "a", List: "[1,-2]"}}, Usage: enginetest.UsageNever}, "-", 1},
		"an id beyond 32 bits":              {enginetest.Script{Chunks: []enginetest.Chunk{{Text: "a", List: "[4294967296]"}}, Usage: enginetest.UsageNever}, "-", 0},
		"an id that is none":                {enginetest.Script{Chunks: []enginetest.Chunk{{Text: "a", List: `[1,"2",3]`}}, Usage: enginetest.UsageNever}, "-", 1},
		"a list within the list":            {enginetest.Script{Chunks: []enginetest.Chunk{{Text: "a", List: `[[1,2]]`}}, Usage: enginetest.UsageNever}, "-", 0},
		"white space in the list":           {enginetest.Script{Chunks: []enginetest.Chunk{{Text: "a", List: "[ 1 , 2 ]"}, {Text: "b", List: "[\t3]"}}, Usage: enginetest.UsageNever}, "1 2 3", 3},
		"more ids than any text has":        {enginetest.Script{Chunks: []enginetest.Chunk{{Text: "", List: "[" + strings.Repeat("1,", 50_000) + "1]"}, chunk("a", 1)}, Usage: enginetest.UsageNever}, "-", 50_002},
		"the prompt's ids in the first one": {enginetest.Script{Chunks: []enginetest.Chunk{{Text: "a", List: `[1],"prompt_token_ids":[5,6,7]`}, chunk("b", 2)}}, "1 2", 2},
	} {
		t.Run(name, func(t *testing.T) {
			for _, write := range []int{0, 7} {
				c.script.Write = write
				out, err := drain(t, openai.Config{Extras: true, PromptIDs: true, Special: special}, c.script)
				if err != nil {
					t.Fatal(err)
				}
				got := "-"
				if !out.Unknown {
					got = strings.Trim(fmt.Sprint(out.IDs), "[]")
				}
				if !slices.Contains(strings.Split(c.ids, "|"), got) || out.Tokens != c.tokens {
					t.Errorf("ids %s of %d tokens, want %s of %d", got, out.Tokens, c.ids, c.tokens)
				}
			}
		})
	}
}

// Whoever takes text alone is not asked for ids, and ids that come unasked are not told.
func TestIDsUnasked(t *testing.T) {
	script := enginetest.Script{Chunks: []enginetest.Chunk{{Text: "a", IDs: []uint32{1}}}}
	for name, cfg := range map[string]openai.Config{
		"text":        {Extras: true},
		"no extras":   {PromptIDs: true},
		"chat":        {Mode: openai.Chat, Extras: true, PromptIDs: true},
		"parsed chat": {Mode: openai.Chat, Structured: true, Extras: true, PromptIDs: true},
	} {
		out, err := drain(t, cfg, script)
		if err != nil || out.IDs != nil {
			t.Errorf("%s: ids %v, %v", name, out.IDs, err)
		}
	}
}

// A prompt of ids that is longer than the engine's window is told as such, with the window; an id that the
// engine does not have is its client's fault.
func TestPromptIDsRefused(t *testing.T) {
	d := enginetest.NewDouble(enginetest.Script{Chunks: enginetest.Words(3), Window: 1000, Vocabulary: 152_000})
	e := open(t, openai.Config{BaseURL: d.Serve(t), PromptIDs: true, Extras: true})
	ids := make([]uint32, 1001)
	var refused *engines.Error
	if _, err := e.Generate(t.Context(), &engines.Request{IDs: ids}); !errors.As(err, &refused) || refused.Class != engines.ClassOverflow || refused.Limit != 1000 || engines.Retryable(err) {
		t.Errorf("one id more than the window: %v", err)
	}
	ids[3] = 152_000
	if _, err := e.Generate(t.Context(), &engines.Request{IDs: ids[:10]}); !errors.As(err, &refused) || refused.Class != engines.ClassRefused {
		t.Errorf("an id out of the vocabulary: %v", err)
	}
	ids[3] = 151_999
	st, err := e.Generate(t.Context(), &engines.Request{IDs: ids[:1000], IDsText: [][]byte{[]byte(strings.Repeat("5,", 999)), []byte("6")}})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := enginetest.Drain(t, st); err != nil || out.Usage.Input != 1000 {
		t.Errorf("the whole window: %+v, %v", out.Usage, err)
	}
}

// What vLLM really sent, with its own usage in every chunk and the prompt's ids in the first.
func TestRecordedIDs(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(samples(t), "vllm_v1_completions.txt"))
	if err != nil {
		t.Fatal(err)
	}
	st, err := open(t, openai.Config{BaseURL: stream(t, string(raw)), Extras: true, PromptIDs: true}).Generate(t.Context(), enginetest.Request())
	if err != nil {
		t.Fatal(err)
	}
	out, err := enginetest.Drain(t, st)
	if want := []uint32{83382, 76260, 83382, 76260}; err != nil || out.Unknown || !slices.Equal(out.IDs, want) {
		t.Errorf("ids %v, %v, want %v", out.IDs, err, want)
	}
}
