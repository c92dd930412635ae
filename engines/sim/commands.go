package sim

import (
	"strconv"
	"strings"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/jsonscan"
)

// maxWords bounds what `long N` writes.
const maxWords = 200_000

// commands are what a user's text orders.
type commands struct {
	calls      []ordered
	said       bool
	say        string
	long       int
	interleave bool
	fails      bool
	failAfter  int
}

// ordered is a call as the text has it: arguments are JSON, a custom tool's raw input, or empty for
// such as the schema wants.
type ordered struct{ name, arguments string }

// parseCommands reads text line by line. A call's JSON may go over several lines.
func parseCommands(text string, tools []conv.ToolDef) commands {
	var c commands
	if jsonscan.TypeOf([]byte(text)) == jsonscan.String && jsonscan.Valid([]byte(text)) {
		// A client that quotes what was typed.
		if plain, err := jsonscan.AppendUnquoted(nil, []byte(text)); err == nil {
			text = string(plain)
		}
	}
	for len(text) > 0 {
		line, rest, _ := strings.Cut(text, "\n")
		if !c.word(command(line)) {
			if used := c.call(text, len(line), tools); used > len(line) {
				_, rest, _ = strings.Cut(text[used:], "\n")
			}
		}
		text = rest
	}
	return c
}

// command is a line without what clients put before it: a bracketed time, quotes.
func command(line string) string {
	line = strings.TrimSuffix(line, "\r")
	line = strings.TrimLeft(line, " \t\"")
	if strings.HasPrefix(line, "[") {
		if _, after, ok := strings.Cut(line, "] "); ok {
			line = strings.TrimLeft(after, " \t\"")
		}
	}
	return line
}

// word reads a line that is a command other than a call.
func (c *commands) word(line string) bool {
	name, arg, _ := strings.Cut(line, " ")
	switch name {
	case "say":
		c.said, c.say = true, arg
		return arg != ""
	case "sayjson":
		text, err := jsonscan.AppendUnquoted(nil, []byte(strings.TrimSpace(arg)))
		if err != nil {
			return false
		}
		c.said, c.say = true, string(text)
		return true
	case "long":
		n, ok := count(arg)
		if ok && n > 0 {
			c.long = min(n, maxWords)
		}
		return ok
	case "interleave":
		c.interleave = c.interleave || strings.Trim(arg, " \t\"") == ""
		return c.interleave
	case "fail":
		after, ok := strings.CutPrefix(arg, "after ")
		n, number := count(after)
		if ok && number {
			c.fails, c.failAfter = true, n
		}
		return ok && number
	}
	return false
}

func count(arg string) (int, bool) {
	n, err := strconv.ParseUint(strings.Trim(arg, " \t\""), 10, 31)
	return int(n), err == nil
}

// call reads the calls that begin in the first line of text, and returns how much of text they take.
func (c *commands) call(text string, line int, tools []conv.ToolDef) int {
	at := 0
	for at < line {
		i := strings.Index(text[at:line], "call ")
		if i < 0 {
			break
		}
		from := at + i
		at = from + len("call ")
		if from > 0 && isNameByte(text[from-1]) {
			continue
		}
		n := 0
		for at+n < len(text) && isNameByte(text[at+n]) {
			n++
		}
		name := text[at : at+n]
		if name == "" {
			continue
		}
		at += n
		input := strings.TrimLeft(text[at:], " \t")
		if strings.HasPrefix(input, "{") {
			var m jsonscan.Machine
			if used, s := m.Feed([]byte(input)); s == jsonscan.Done {
				c.calls = append(c.calls, ordered{name, input[:used]})
				at = len(text) - len(input) + used
			}
			continue
		}
		def := find(tools, name)
		input = strings.TrimRight(strings.TrimSuffix(text[at:max(at, line)], "\r"), " \t\"")
		switch {
		case def == nil || command(text[:line]) != command(text[from:line]):
			// Prose that has the word in it.
		case def.Kind == conv.Custom:
			c.calls = append(c.calls, ordered{name, strings.TrimLeft(text[at:line], " ")})
			at = line
		case input == "":
			c.calls = append(c.calls, ordered{name: name})
		}
	}
	return at
}

func isNameByte(b byte) bool {
	return b == '_' || b == '-' || b == '.' || b-'0' < 10 || b|0x20 >= 'a' && b|0x20 <= 'z'
}

func find(tools []conv.ToolDef, name string) *conv.ToolDef {
	for i := range tools {
		if named(&tools[i], name) {
			return &tools[i]
		}
	}
	return nil
}
