package models

import (
	"strconv"

	"github.com/weirgate/weir/abi/jsonscan"
)

// Codex is what the catalogue says of a model to Codex alone.
type Codex struct {
	Instructions string   // base instructions; weir's own when empty
	Levels       []string // efforts, the least first
	DefaultLevel string   // one of them; empty: the client's choice
	Reasons      bool     // its reasoning can be shown
	Truncation   int      // tokens that a tool's output may have; 10,000 when 0
	AutoCompact  int      // tokens at which a conversation is summarised; nine tenths of the window when 0, and Room less than it at most
	Room         int      // tokens of the window that a prompt must leave, or it is refused
	Hidden       bool     // usable, but not offered
	Priority     int      // the lowest is offered first
	Parallel     bool     // several calls in one answer
	Freeform     bool     // it gets a tool that takes patches as they are
	Images       bool     // it takes images
}

// The client plans with a part of the window and cuts outputs of tools.
const (
	windowPercent     = 95
	defaultTruncation = 10_000
)

// appendCodex appends what Codex calls a model's info. Nothing in it changes unless the configuration does: the client
// keeps it from one start to the next.
func appendCodex(b []byte, m *Model) []byte {
	c := &m.Codex
	b = jsonscan.AppendString(append(b, `{"slug":`...), m.ID)
	b = jsonscan.AppendString(append(b, `,"display_name":`...), m.name())
	if d := m.description(); d != "" {
		b = jsonscan.AppendString(append(b, `,"description":`...), d)
	}
	if c.DefaultLevel != "" {
		b = jsonscan.AppendString(append(b, `,"default_reasoning_level":`...), c.DefaultLevel)
	}
	b = append(b, `,"supported_reasoning_levels":[`...)
	for i, level := range c.Levels {
		if i > 0 {
			b = append(b, ',')
		}
		b = jsonscan.AppendString(append(b, `{"effort":`...), level)
		b = jsonscan.AppendString(append(b, `,"description":`...), levelText(level))
		b = append(b, '}')
	}
	visibility := "list"
	if c.Hidden {
		visibility = "hide"
	}
	b = jsonscan.AppendString(append(b, `],"shell_type":"shell_command","visibility":`...), visibility)
	b = appendInt(append(b, `,"supported_in_api":true,"priority":`...), c.Priority)
	text := c.Instructions
	if text == "" {
		text = instructions
	}
	b = jsonscan.AppendString(append(b, `,"base_instructions":`...), text)
	b = strconv.AppendBool(append(b, `,"supports_reasoning_summaries":`...), c.Reasons)
	limit := c.Truncation
	if limit == 0 {
		limit = defaultTruncation
	}
	b = appendInt(append(b, `,"support_verbosity":false,"truncation_policy":{"mode":"tokens","limit":`...), limit)
	b = strconv.AppendBool(append(b, `},"supports_parallel_tool_calls":`...), c.Parallel)
	if c.Freeform {
		b = append(b, `,"apply_patch_tool_type":"freeform"`...)
	}
	b = appendWindow(b, m)
	b = append(b, `,"input_modalities":["text"`...)
	if c.Images {
		b = append(b, `,"image"`...)
	}
	return append(b, `],"supports_image_detail_original":false,"supports_search_tool":false,"use_responses_lite":false,"tool_mode":null,"experimental_supported_tools":[]}`...)
}

// appendWindow appends what the client plans its conversations with; of a window that is not known it says nothing.
func appendWindow(b []byte, m *Model) []byte {
	if m.Context <= 0 {
		return b
	}
	compact := m.Codex.AutoCompact
	if compact == 0 {
		compact = min(m.Context*9/10, m.Context-m.Codex.Room)
	}
	b = appendInt(append(b, `,"context_window":`...), m.Context)
	b = appendInt(append(b, `,"max_context_window":`...), m.Context)
	b = appendInt(append(b, `,"auto_compact_token_limit":`...), min(compact, m.Context))
	return appendInt(append(b, `,"effective_context_window_percent":`...), windowPercent)
}

// description is what a list shows beside the name.
func (m *Model) description() string {
	var s string
	if m.Context > 0 {
		s = strconv.Itoa(m.Context) + " tokens of context"
	}
	if m.Of == "" {
		return s
	}
	if s != "" {
		s = ", " + s
	}
	return "Another name of " + m.Of + s
}

func levelText(level string) string {
	switch level {
	case "low":
		return "Little thought, quick answers"
	case "medium":
		return "Some thought, for everyday tasks"
	case "high":
		return "Much thought, for what is hard"
	case "xhigh":
		return "Still more thought"
	}
	return "All the thought that the model has"
}

// instructions are the base instructions where the configuration has none.
const instructions = `You are a coding agent. You work in a terminal, in a folder of the user's, with the tools that you are given.

- Look before you change anything: find the files that matter, read them, and follow the way they are written.
- Do what was asked, all of it and nothing beside it. Fix causes, not symptoms.
- Search with rg or grep, and read only the parts of long files that you need.
- Change files with apply_patch where you have it, and otherwise with short commands. Keep changes small.
- Leave alone what you did not make. Never undo the user's changes, and commit only when you are asked to.
- Ask before you do what cannot be undone: deleting data, rewriting history, reaching systems outside this folder.
- When a call fails, read the error and try something else. Do not repeat what failed.
- Run the project's tests or build after a change, as far as they bear on it, and say so when you could not.
- Go on until the task is done. Stop to ask only when you cannot decide on good grounds.
- Before a longer series of calls, say in one sentence what you are about to do.
- At the end, tell in a few lines what you changed and where, as path:line, and what is left to do. Be brief and exact,
  and claim only what you have seen.
`
