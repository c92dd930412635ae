package wat

import (
	"slices"
	"strings"
)

// code encodes one function or constant expression.
type code struct {
	m      *module
	locals map[string]int
	labels []string // open blocks, the innermost last
	out    []byte
}

const (
	opElse = 0x05
	opEnd  = 0x0b
)

// body encodes the locals and the code of a function.
func (m *module) body(sig signature, rest []node) ([]byte, error) {
	types, names := sig.params, sig.names
	for len(rest) > 0 && rest[0].head() == "local" {
		var err error
		if types, err = declareTypes(rest[0], types, names); err != nil {
			return nil, err
		}
		rest = rest[1:]
	}
	var groups [][]byte
	for _, t := range []byte(types[len(sig.params):]) {
		groups = append(groups, []byte{1, t})
	}
	c := &code{m: m, locals: names}
	if err := c.sequence(rest); err != nil {
		return nil, err
	}
	b := cat(u32(uint32(len(groups))), cat(groups...), c.out, []byte{opEnd})
	return vecBytes(string(b)), nil
}

// constant encodes a constant expression.
func (m *module) constant(nodes []node) ([]byte, error) {
	c := &code{m: m}
	err := c.sequence(nodes)
	return append(c.out, opEnd), err
}

func (c *code) emit(b ...byte) { c.out = append(c.out, b...) }

// sequence encodes instructions, each flat or folded.
func (c *code) sequence(nodes []node) error {
	open := len(c.labels)
	for len(nodes) > 0 {
		n := nodes[0]
		var err error
		switch n.kind {
		case '(':
			err = c.folded(n)
			nodes = nodes[1:]
		case 's':
			return n.failf("a string where an instruction belongs")
		default:
			nodes, err = c.flat(n, nodes[1:], open)
		}
		if err != nil {
			return err
		}
	}
	if len(c.labels) != open {
		return node{}.failf("a block without its end")
	}
	return nil
}

// flat encodes one instruction that stands without parentheses and returns what follows it. open is how
// many blocks were open where the sequence began.
func (c *code) flat(n node, rest []node, open int) ([]node, error) {
	switch n.text {
	case "block", "loop", "if":
		return c.begin(n, rest)
	case "else":
		c.emit(opElse)
		return rest, nil
	case "end":
		if len(c.labels) == open {
			return nil, n.failf("an end without its block")
		}
		c.labels = c.labels[:len(c.labels)-1]
		c.emit(opEnd)
		return rest, nil
	}
	b, rest, err := c.instruction(n, rest)
	c.emit(b...)
	return rest, err
}

// begin opens a block with its label and type.
func (c *code) begin(n node, rest []node) ([]node, error) {
	label := ""
	if len(rest) > 0 && rest[0].kind == 'a' && rest[0].text[0] == '$' {
		label, rest = rest[0].text, rest[1:]
	}
	sig, rest, err := c.m.signature(rest)
	if err != nil {
		return nil, err
	}
	c.emit(map[string]byte{"block": 0x02, "loop": 0x03, "if": 0x04}[n.text])
	switch {
	case sig.params == "" && sig.results == "":
		c.emit(0x40)
	case sig.params == "" && len(sig.results) == 1:
		c.emit(sig.results[0])
	default:
		c.emit(s64(int64(c.m.typeOf(sig)))...)
	}
	c.labels = append(c.labels, label)
	return rest, nil
}

// folded encodes (op immediates operand...), the operands first.
func (c *code) folded(n node) error {
	if n.head() == "" {
		return n.failf("got %v, want an instruction", n)
	}
	head, rest := n.list[0], n.list[1:]
	switch head.text {
	case "block", "loop":
		rest, err := c.begin(head, rest)
		if err != nil {
			return err
		}
		return c.arm(rest)
	case "if":
		return c.foldedIf(head, rest)
	}
	b, operands, err := c.instruction(head, rest)
	if err != nil {
		return err
	}
	for _, o := range operands {
		if o.kind != '(' {
			return o.failf("%v behind the immediates of %s", o, head.text)
		}
		if err := c.folded(o); err != nil {
			return err
		}
	}
	c.emit(b...)
	return nil
}

// arm encodes the rest of the innermost block and ends it.
func (c *code) arm(nodes []node) error {
	err := c.sequence(nodes)
	c.labels = c.labels[:len(c.labels)-1]
	c.emit(opEnd)
	return err
}

// foldedIf encodes (if label? type? condition... (then ...) (else ...)?).
func (c *code) foldedIf(head node, rest []node) error {
	at := len(rest)
	for k, n := range rest {
		if n.head() == "then" {
			at = k
			break
		}
	}
	if at == len(rest) || len(rest) > at+2 || len(rest) == at+2 && rest[at+1].head() != "else" {
		return head.failf("an if wants (then ...) and perhaps (else ...) at its end")
	}
	// The condition is encoded before the block opens, and stands behind the block's label and type.
	from := 0
	for from < at && (rest[from].kind == 'a' || rest[from].head() == "param" || rest[from].head() == "result" || rest[from].head() == "type") {
		from++
	}
	if err := c.sequence(rest[from:at]); err != nil {
		return err
	}
	if left, err := c.begin(head, rest[:from]); err != nil || len(left) > 0 {
		return head.failf("a bad label or type")
	}
	if err := c.sequence(rest[at].list[1:]); err != nil {
		return err
	}
	var other []node
	if len(rest) == at+2 {
		c.emit(opElse)
		other = rest[at+1].list[1:]
	}
	return c.arm(other)
}

// instruction encodes one instruction with its immediates and returns what follows them.
func (c *code) instruction(n node, rest []node) ([]byte, []node, error) {
	o, ok := c.m.ops[n.text]
	if !ok {
		return nil, nil, n.failf("%s is not an instruction that this assembler knows", n.text)
	}
	out := append([]byte(nil), o.code...)
	for _, imm := range o.immediates {
		b, left, err := c.immediate(imm, n, rest)
		if err != nil {
			return nil, nil, err
		}
		out, rest = append(out, b...), left
	}
	return out, rest, nil
}

func (c *code) immediate(imm immediate, at node, rest []node) ([]byte, []node, error) {
	switch imm {
	case immZero:
		return []byte{0}, rest, nil
	case immMemory:
		return memoryArgument(at, rest)
	case immLabels:
		return c.branchTable(at, rest)
	case immType:
		sig, rest, err := c.m.signature(rest)
		if err != nil {
			return nil, nil, err
		}
		return u32(uint32(c.m.typeOf(sig))), rest, nil
	case immTable:
		if len(rest) == 0 || rest[0].kind != 'a' || rest[0].text[0] != '$' {
			return []byte{0}, rest, nil // the table may be left out
		}
	}
	if len(rest) == 0 {
		return nil, nil, at.failf("%s wants more", at.text)
	}
	var b []byte
	i, err, n := uint32(0), error(nil), rest[0]
	switch imm {
	case immI32:
		b, err = n.integer(32)
	case immI64:
		b, err = n.integer(64)
	case immF32:
		b, err = n.float(32)
	case immF64:
		b, err = n.float(64)
	case immHeap:
		b = map[string][]byte{"func": {0x70}, "extern": {0x6f}}[n.text]
	case immLocal:
		i, err = c.local(n)
		b = u32(i)
	case immLabel:
		i, err = c.label(n)
		b = u32(i)
	default:
		i, err = c.m.index(imm.space(), n)
		b = u32(i)
	}
	return b, rest[1:], err
}

func (c *code) local(n node) (uint32, error) {
	if n.kind == 'a' && n.text[0] == '$' {
		i, ok := c.locals[n.text]
		if !ok {
			return 0, n.failf("local %s is not known", n.text)
		}
		return uint32(i), nil
	}
	return n.u32()
}

// label is how many blocks a branch leaves, by number or by the name of the outermost of them.
func (c *code) label(n node) (uint32, error) {
	if n.kind == 'a' && n.text[0] == '$' {
		for k, label := range slices.Backward(c.labels) {
			if label == n.text {
				return uint32(len(c.labels) - 1 - k), nil
			}
		}
		return 0, n.failf("label %s is not open", n.text)
	}
	return n.u32()
}

// branchTable reads the labels of a br_table, the default last.
func (c *code) branchTable(at node, rest []node) ([]byte, []node, error) {
	var labels [][]byte
	for len(rest) > 0 && rest[0].kind == 'a' && (rest[0].text[0] == '$' || rest[0].text[0] >= '0' && rest[0].text[0] <= '9') {
		i, err := c.label(rest[0])
		if err != nil {
			return nil, nil, err
		}
		labels = append(labels, u32(i))
		rest = rest[1:]
	}
	if len(labels) == 0 {
		return nil, nil, at.failf("br_table wants a label")
	}
	return cat(u32(uint32(len(labels)-1)), cat(labels...)), rest, nil
}

// memoryArgument reads offset= and align=, both optional.
func memoryArgument(at node, rest []node) ([]byte, []node, error) {
	offset, align := uint32(0), width(at.text)
	for len(rest) > 0 && rest[0].kind == 'a' {
		if v, ok := strings.CutPrefix(rest[0].text, "offset="); ok {
			n, err := node{line: at.line, kind: 'a', text: v}.u32()
			if err != nil {
				return nil, nil, err
			}
			offset = n
		} else if v, ok := strings.CutPrefix(rest[0].text, "align="); ok {
			n, err := node{line: at.line, kind: 'a', text: v}.u32()
			if err != nil {
				return nil, nil, err
			}
			for align = 0; n > 1; n >>= 1 {
				align++
			}
		} else {
			break
		}
		rest = rest[1:]
	}
	return cat(u32(align), u32(offset)), rest, nil
}
