package gateway

import (
	"context"
	"fmt"
	"strings"

	"github.com/weirgate/weir/gateway/internal/config"
	"github.com/weirgate/weir/gateway/internal/modelfile"
)

// Survey is what a configuration comes to, beyond what its file says.
type Survey struct {
	Faults config.Faults // files of models that cannot be read
	Notes  []string      // what is not to be had of a model as it is configured, and what its files leave open
}

// Look opens the files of a configuration's models and says what is lost where they, or their engines, do not have
// what weir needs.
func Look(ctx context.Context, c *config.Config) Survey {
	var s Survey
	for i := range c.Models {
		m := &c.Models[i]
		key, path := "dir", m.Dir
		if m.GGUF != "" {
			key, path = "gguf", m.GGUF
		}
		var a *assets
		if path != "" {
			var err error
			if a, err = openFiles(ctx, path, vocabularies(c)); err != nil {
				s.Faults = append(s.Faults, m.Fault(key, err.Error(), "a model's folder or GGUF file"))
				continue
			}
		}
		s.note(m, a, c)
	}
	return s
}

// note says what a model lacks.
func (s *Survey) note(m *config.Model, a *assets, c *config.Config) {
	say := func(format string, args ...any) {
		s.Notes = append(s.Notes, fmt.Sprintf("model %s: ", m.ID)+fmt.Sprintf(format, args...))
	}
	var files *modelfile.Model
	if a != nil {
		files = a.files
		for _, w := range files.Warnings {
			if m.Renderer == "" || !strings.Contains(w, "chat template") {
				say("%s", w)
			}
		}
	}
	if m.Renderer != "" && m.Tools == "" && m.Parser == "" {
		say("no parser reads tool calls (tools or parser): what renderer %s has the model write of them is text", m.Renderer)
	}
	var real, text *config.Engine
	for _, name := range m.Engines {
		if e := c.Engine(name); e != nil && e.OpenAI != nil {
			real = e
			if e.OpenAI.Prompt != config.PromptIDs {
				text = e
			}
		}
	}
	switch {
	case m.Renderer == "" && m.Family == "" && (a == nil || a.template == nil):
		say("its engine makes the prompts: no prefix header, no replay of turns, no start of thinking known, and prompts are counted by the engine or as an estimate")
	case real == nil:
	case files == nil || files.Vocab == nil:
		say("weir has no vocabulary of it: prompts go out as text and are counted by engine %s or as an estimate, and control tokens in what users write are not kept out", real.Name)
	case text != nil:
		say("engine %s gets prompts as text (prompt = \"text\") and makes its own tokens: what users write may become control tokens, and replayed turns keep their text but not their tokens", text.Name)
	}
}
