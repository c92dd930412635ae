// Command bracket is a parser plugin: reasoning stands between << and >>, a tool call is
// [call:NAME {json}]. It keeps eight bytes a stream and allocates nothing.
package main

import (
	"errors"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/abi/record"
)

const manifest = `{"name": "bracket", "version": "1.0.0", "abi": 1, "kinds": ["parser"],` +
	` "reasoning": ["bracket"], "tools": ["bracket"], "description": "<<reasoning>> and [call:NAME {json}]"}`

// opener begins a call; a name of at most maxName bytes, a space and the brace of the arguments follow.
const (
	opener  = "[call:"
	maxName = 64
)

// What the bytes at the start of the input are.
const (
	inText      = iota
	inReasoning // until >>
	behindName  // the space between name and arguments
	inArgs      // until the outermost brace closes
	behindCall  // the ] that closes the call, or text
)

// state is what differs between streams: the host copies it in and out around each call.
type state struct {
	mode    uint8
	calls   bool // the request has tools
	quoted  bool // the arguments are inside a string
	escaped bool // and behind a backslash
	depth   uint32
}

// parser implements guest.Program. All but the state is set by Open and then stays as it is.
type parser struct {
	state
	reasoning, tools bool
}

var errFormat = errors.New("unknown format")

func (*parser) Manifest() string { return manifest }

// Open reads {"reasoning": FORMAT, "tools": FORMAT}. Both are on where the config is silent, and off where it
// says "".
func (p *parser) Open(config []byte) error {
	p.reasoning, p.tools = true, true
	r := jsonscan.NewReader(config)
	err := r.Object(func(key []byte) (err error) {
		switch string(key) {
		case "reasoning":
			p.reasoning, err = format(r)
		case "tools":
			p.tools, err = format(r)
		default:
			_, err = r.Raw()
		}
		return err
	})
	if err != nil {
		return err
	}
	p.state = state{calls: p.tools}
	return r.End()
}

func format(r *jsonscan.Reader) (bool, error) {
	s, err := r.Text(nil)
	if err != nil {
		return false, err
	}
	if len(s) > 0 && string(s) != "bracket" {
		return false, errFormat
	}
	return len(s) > 0, nil
}

func (p *parser) Window() []byte { return guest.WindowOf(&p.state) }

// Start looks for reasoning that the prompt has opened already.
func (p *parser) Start(s guest.Start) error {
	p.state = state{calls: p.tools && s.Tools && s.Choice != guest.ChoiceNone}
	for i := 1; p.reasoning && i < len(s.Tail); i++ {
		switch {
		case p.mode == inText && s.Tail[i-1] == '<' && s.Tail[i] == '<':
			p.mode = inReasoning
			i++
		case p.mode == inReasoning && s.Tail[i-1] == '>' && s.Tail[i] == '>':
			p.mode = inText
			i++
		}
	}
	return nil
}

// Feed cuts the input until it ends, or until a name: the host looks at each name first.
func (p *parser) Feed(in *guest.Input, out *guest.Out) {
	p.run(in, out, in.Flags&abi.FlagBoundary != 0)
}

// Finish is Feed where nothing more can come. The last one has no input and closes what is open.
func (p *parser) Finish(in *guest.Input, _ abi.Why, out *guest.Out) {
	p.run(in, out, true)
	if len(in.Bytes) == 0 && p.mode == inArgs {
		out.Emit(record.CallEnd, 0, record.CallTruncated, 0)
		p.mode = inText
	}
}

// run emits records until a marker may go on behind the input; last says that it does not.
func (p *parser) run(in *guest.Input, out *guest.Out, last bool) {
	refused := refusal(in.Spans)
	for out.Pos() < len(in.Bytes) {
		pos := out.Pos()
		b := in.Bytes[pos:]
		more := true
		switch p.mode {
		case inText:
			more = p.text(b, pos > refused, out, last)
		case inReasoning:
			more = p.thought(b, out, last)
		case behindName:
			out.Emit(record.Marker, 0, 0, 1)
			p.mode, p.depth = inArgs, 0
		case inArgs:
			n, whole := p.args(b)
			out.Extend(record.Args, 0, record.ArgsJSON, n)
			if whole {
				out.Emit(record.CallEnd, 0, record.CallComplete, 0)
				p.mode = behindCall
			}
		case behindCall:
			if b[0] == ']' {
				out.Emit(record.Marker, 0, 0, 1)
			}
			p.mode = inText
		}
		if !more {
			return
		}
	}
}

// refusal is the offset up to which no call begins, or -1.
func refusal(spans []record.Span) int {
	if n := len(spans); n > 0 && spans[n-1].Token == abi.RefusedToken {
		return int(spans[n-1].Off)
	}
	return -1
}

// text emits what b begins with: text, a marker or the header of a call. It returns false where it must
// see more, and after a name.
func (p *parser) text(b []byte, mayCall bool, out *guest.Out, last bool) bool {
	n := 0
	for n < len(b) && (b[n] != '<' || !p.reasoning) && (b[n] != '[' || !p.calls) {
		n++
	}
	switch {
	case n > 0:
		out.Extend(record.Text, 0, record.PhaseNone, n)
		return true
	case b[0] == '<' && len(b) > 1 && b[1] == '<':
		out.Emit(record.Marker, 0, 0, 2)
		p.mode = inReasoning
		return true
	case b[0] == '<' && len(b) == 1 && !last:
		return false
	case b[0] == '[' && mayCall:
		name, partial := header(b)
		if name > 0 {
			out.Emit(record.CallBegin, 0, 0, len(opener))
			out.Emit(record.Name, 0, 0, name)
			p.mode = behindName
			return false
		}
		if partial && !last {
			return false
		}
	}
	out.Extend(record.Text, 0, record.PhaseNone, 1)
	return true
}

// header returns the length of the name if b begins with a whole header, else 0. partial says that b is
// the beginning of one.
func header(b []byte) (name int, partial bool) {
	n := 0
	for ; n < len(opener); n++ {
		if n == len(b) {
			return 0, true
		}
		if b[n] != opener[n] {
			return 0, false
		}
	}
	for n < len(b) && isName(b[n]) {
		n++
	}
	name = n - len(opener)
	switch {
	case name > maxName:
		return 0, false
	case n == len(b):
		return 0, true
	case name == 0 || b[n] != ' ':
		return 0, false
	case n+1 == len(b):
		return 0, true
	case b[n+1] != '{':
		return 0, false
	}
	return name, false
}

func isName(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '.' || c == '-'
}

// thought emits reasoning or its closer, and returns false where it must see more.
func (p *parser) thought(b []byte, out *guest.Out, last bool) bool {
	n := 0
	for n < len(b) && b[n] != '>' {
		n++
	}
	switch {
	case n > 0:
		out.Extend(record.Reasoning, 0, 0, n)
	case len(b) > 1 && b[1] == '>':
		out.Emit(record.BlockEnd, 0, 0, 2)
		p.mode = inText
	case len(b) == 1 && !last:
		return false
	default:
		out.Extend(record.Reasoning, 0, 0, 1)
	}
	return true
}

// args returns how much of b belongs to the arguments, and whether they end there.
func (p *parser) args(b []byte) (n int, whole bool) {
	for i, c := range b {
		switch {
		case p.escaped:
			p.escaped = false
		case p.quoted:
			p.escaped, p.quoted = c == '\\', c != '"'
		case c == '"':
			p.quoted = true
		case c == '{' || c == '[':
			p.depth++
		case c == '}' || c == ']':
			p.depth--
			if p.depth == 0 {
				return i + 1, true
			}
		}
	}
	return len(b), false
}

// In c-shared mode main does not run: init says what the module exports.
func init() { guest.Export(&parser{}) }

func main() {}
