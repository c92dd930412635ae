package assemble

import (
	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/event"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/abi/record"
	"github.com/weirgate/weir/gateway/internal/assemble/internal/unescape"
)

// maxLead is how much white space may stand before a value whose first byte decides, in bytes.
const maxLead = 4096

type jsonAt uint8

const (
	jsonFirst    jsonAt = iota // the first byte that is no space
	jsonNull                   // in null
	jsonNullEnd                // after it
	jsonObject                 // in the object
	jsonQuoted                 // in an object that is quoted as one string
	jsonEnd                    // after the object or string
	jsonEmpty                  // after a string without anything in it
	jsonVerbatim               // not an object: passed on, and the call is not complete
)

// jsonState follows the arguments of a function that come as JSON.
type jsonState struct {
	at    jsonAt
	obj   jsonscan.Machine // the object
	str   jsonscan.Machine // the string around it
	esc   unescape.Decoder // of that string
	lead  []byte           // bytes that wait for a decision
	blank int              // white space at the start of the string
	inner bool             // the quoted object has begun
}

func (j *jsonState) reset() { *j = jsonState{lead: j.lead[:0]} }

// args takes argument bytes.
func (a *Assembler) args(kind uint32, b []byte) error {
	c := &a.call
	switch {
	case len(b) == 0:
		return nil
	case c.class == rawArgs:
		return a.customArgs(b)
	case c.class == jsonArgs:
		return a.jsonArgs(b)
	}
	custom := false
	switch {
	case c.tool != nil:
		custom = c.tool.def.Kind == conv.Custom
	case kind == record.ArgsText:
		custom = true
	case kind == record.ArgsAuto:
		c.json.lead = append(c.json.lead, b...)
		first := trimLeft(c.json.lead)
		if len(first) == 0 {
			return nil
		}
		b, custom = c.json.lead, first[0] != '{'
	}
	if custom {
		if err := a.start(event.Custom); err != nil {
			return err
		}
		c.class = rawArgs
		if c.custom == nil {
			c.custom = &customState{}
		}
		c.custom.begin(kind)
		return a.customArgs(b)
	}
	if b = trimLeft(b); len(b) == 0 {
		return nil
	}
	if err := a.start(c.kind()); err != nil {
		return err
	}
	c.class = jsonArgs
	return a.jsonArgs(b)
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

func trimLeft(b []byte) []byte {
	for len(b) > 0 && isSpace(b[0]) {
		b = b[1:]
	}
	return b
}

func trim(b []byte) []byte {
	b = trimLeft(b)
	for len(b) > 0 && isSpace(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

// jsonArgs passes JSON on and follows it. White space around the value is dropped.
func (a *Assembler) jsonArgs(b []byte) error {
	j := &a.call.json
	for len(b) > 0 {
		switch j.at {
		case jsonFirst:
			j.lead = j.lead[:0]
			switch b[0] {
			case '{':
				j.at = jsonObject
			case 'n':
				j.at = jsonNull
			case '"':
				j.at = jsonQuoted
				j.str.Feed(b[:1])
				j.esc.Reset(record.EscJSON)
				j.lead = append(j.lead, '"')
				b = b[1:]
			default:
				return a.verbatim(b)
			}
		case jsonNull:
			j.lead = append(j.lead, b[0])
			if "null"[len(j.lead)-1] != b[0] {
				j.lead = j.lead[:len(j.lead)-1]
				return a.verbatim(b)
			}
			if b = b[1:]; len(j.lead) == len("null") {
				j.at = jsonNullEnd
			}
		case jsonObject:
			n, s := j.obj.Feed(b)
			if err := a.emitArgs(b[:n]); err != nil {
				return err
			}
			switch b = b[n:]; s {
			case jsonscan.Done:
				j.at = jsonEnd
			case jsonscan.Bad:
				return a.verbatim(b)
			}
		case jsonQuoted:
			rest, err := a.quoted(b)
			if err != nil {
				return err
			}
			b = rest
		case jsonNullEnd, jsonEnd, jsonEmpty:
			if b = trimLeft(b); len(b) > 0 {
				return a.verbatim(b)
			}
		default:
			return a.emitArgs(b)
		}
	}
	return nil
}

// verbatim gives up on the arguments and passes them on as they are.
func (a *Assembler) verbatim(b []byte) error {
	j := &a.call.json
	a.call.bad, j.at = true, jsonVerbatim
	if err := a.emitArgs(j.lead); err != nil {
		return err
	}
	j.lead = j.lead[:0]
	return a.emitArgs(b)
}

// quoted unwraps an object that is quoted as one string, as it comes. A string that holds anything else
// is not an object and passes as it is; an object that breaks ends the call.
func (a *Assembler) quoted(b []byte) (rest []byte, err error) {
	j := &a.call.json
	was := unquote{j.esc, j.obj}
	n, s := j.str.Feed(b)
	inside := b[:n]
	if s == jsonscan.Done {
		inside = b[:n-1]
	}
	text := j.esc.Append(a.tmp[:0], inside)
	if s != jsonscan.More {
		text = j.esc.Flush(text)
	}
	a.tmp = text
	if !j.inner {
		text = trimLeft(text)
		j.blank += len(a.tmp) - len(text)
		if len(text) > 0 && text[0] != '{' || j.blank > maxLead || s == jsonscan.Bad && len(text) == 0 {
			return nil, a.verbatim(b)
		}
		j.lead = append(j.lead, inside...)
		if len(text) > 0 {
			j.inner, j.lead = true, j.lead[:0]
		}
	}
	used, inner := 0, j.obj.Status()
	if inner == jsonscan.More {
		used, inner = j.obj.Feed(text)
	}
	if s == jsonscan.Bad || inner == jsonscan.Bad || len(trimLeft(text[used:])) > 0 || s == jsonscan.Done && j.inner && inner == jsonscan.More {
		return nil, a.loseQuoted(was, b, n, s)
	}
	if err := a.emitArgs(text[:used]); err != nil {
		return nil, err
	}
	switch {
	case s == jsonscan.Done && j.inner:
		j.at = jsonEnd
	case s == jsonscan.Done:
		j.at, j.lead = jsonEmpty, j.lead[:0]
	}
	return b[n:], nil
}

// endJSON ends the arguments: absent, null and empty ones are {}.
func (a *Assembler) endJSON() (bool, error) {
	j := &a.call.json
	switch j.at {
	case jsonEnd:
		return true, nil
	case jsonFirst, jsonNullEnd, jsonEmpty:
		return true, a.emitArgs([]byte("{}"))
	case jsonNull:
		return false, a.emitArgs(j.lead)
	}
	return false, nil
}
