package chatml

import (
	"strings"

	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/abi/plan"
)

// BlockKind says which fields of a Block count.
type BlockKind uint8

// Kinds of blocks.
const (
	BlockReasoning BlockKind = 1 + iota // Text
	BlockText                           // Text
	BlockCall                           // Name, Arguments
)

// Block is one piece of an assistant's turn, in the order in which it was said.
type Block struct {
	Kind      BlockKind
	Text      string
	Name      string
	Arguments string // JSON object
}

// RenderTurn writes a turn as a model of the dialect would, up to its stop token, after the tail of a
// prompt whose thinking is on if the turn begins with reasoning and off otherwise. Of an unknown dialect
// it gives Qwen25's. See RenderTurnAfter for what a parser gets back.
func RenderTurn(dialect string, blocks []Block) []byte {
	st, _ := Dialect(dialect).style()
	t := ThinkingOff
	if len(blocks) > 0 && blocks[0].Kind == BlockReasoning {
		t = ThinkingOn
	}
	tail, _ := st.tail(t)
	return RenderTurnAfter(dialect, tail, blocks)
}

// RenderTurnAfter is RenderTurn for a given prompt tail: a block that the tail left open is not opened
// again, and is closed if the turn begins with something else. A parser gives back the blocks, except
// that white space at the end of reasoning and of text before a marker is markup, that text directly
// after text is one text, and that text which holds a marker is read as what it looks like. Dialects
// without thinking leave reasoning out.
func RenderTurnAfter(dialect, tail string, blocks []Block) []byte {
	st, _ := Dialect(dialect).style()
	return st.appendBlocks(nil, blocks, st.thinks && thinkState(tail) == plan.StartReasoning)
}

// appendBlocks writes blocks in order; open says that a reasoning block is open already.
func (s style) appendBlocks(dst []byte, blocks []Block, open bool) []byte {
	prev := BlockKind(0)
	for i := range blocks {
		b := &blocks[i]
		skip := b.Kind == BlockText && b.Text == "" || b.Kind == BlockReasoning && !s.thinks
		if skip {
			continue
		}
		if open && b.Kind != BlockReasoning {
			dst = append(dst, "\n</think>\n\n"...)
		}
		dst = append(dst, s.gap(prev, b.Kind)...)
		switch b.Kind {
		case BlockReasoning:
			if !open {
				dst = append(dst, openedThink...)
			}
			dst = append(append(dst, b.Text...), "\n</think>\n\n"...)
		case BlockText:
			dst = append(dst, b.Text...)
		case BlockCall:
			dst = s.appendCall(dst, b.Name, b.Arguments)
		}
		prev, open = b.Kind, false
	}
	return dst
}

// gap is what stands between a block and the one before it. Reasoning ends in a gap of its own.
func (s style) gap(prev, kind BlockKind) string {
	switch {
	case prev == BlockText && kind == BlockCall && s.xml:
		return "\n\n"
	case prev == BlockText, prev == BlockCall && kind != BlockText:
		return "\n"
	}
	return ""
}

func (s style) appendCall(dst []byte, name, args string) []byte {
	dst = append(dst, callOpen...)
	if s.xml {
		dst = append(append(append(dst, "\n<function="...), name...), ">\n"...)
		dst = appendParameters(dst, args)
		return append(append(dst, "</function>\n"...), callClose...)
	}
	dst = jsonscan.AppendString(append(dst, "\n{\"name\": "...), name)
	dst = append(dst, `, "arguments": `...)
	if strings.TrimSpace(args) == "" {
		args = "{}"
	}
	return append(append(append(dst, args...), "}\n"...), callClose...)
}

// appendParameters writes the members of args in their order: strings as their text, all else as the
// JSON it is. Arguments that are not an object (a broken call in the history) become one parameter.
func appendParameters(dst []byte, args string) []byte {
	if strings.TrimSpace(args) == "" {
		return dst
	}
	at := len(dst)
	r := jsonscan.NewReader([]byte(args))
	err := r.Object(func(key []byte) (err error) {
		dst = append(append(append(dst, "<parameter="...), key...), ">\n"...)
		if r.Peek() == jsonscan.String {
			dst, err = r.Text(dst)
		} else {
			var raw []byte
			raw, err = r.Raw()
			dst = append(dst, raw...)
		}
		dst = append(dst, "\n</parameter>\n"...)
		return err
	})
	if err == nil && r.End() == nil {
		return dst
	}
	dst = append(dst[:at], "<parameter=arguments>\n"...)
	return append(append(dst, args...), "\n</parameter>\n"...)
}
