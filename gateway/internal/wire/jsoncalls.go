package wire

import (
	"strconv"
	"strings"

	"github.com/weirgate/weir/abi/jsonscan"
)

// customParam is the parameter in which a custom tool, whose input is raw text, takes it.
const customParam = "input"

// arguments are a call's arguments as JSON.
func arguments(b *Block) string {
	if b.Custom {
		doc := append(make([]byte, 0, len(b.Arguments)+16), `{"`+customParam+`": `...)
		return string(append(jsonscan.AppendString(doc, b.Arguments), '}'))
	}
	if strings.TrimSpace(b.Arguments) == "" {
		return "{}"
	}
	return b.Arguments
}

// jsonCall is a call as a JSON object, with the arguments byte for byte.
type jsonCall struct {
	open, close string // around the object
	header      string // between the name and the object, where the name stands before it too
	counter     string // the member that counts the calls, where it comes first
	name, args  string // the members up to their values
	keyed       bool   // the name is the only member, and the arguments its value
}

func (c jsonCall) append(dst []byte, n int, b *Block) []byte {
	dst = append(dst, c.open...)
	if c.header != "" {
		dst = append(append(dst, b.Name...), c.header...)
	}
	dst = append(dst, '{')
	if c.counter != "" {
		dst = append(append(dst, c.counter...), '"')
		dst = append(strconv.AppendInt(dst, int64(n), 10), '"')
	}
	dst = jsonscan.AppendString(append(dst, c.name...), b.Name)
	if c.keyed {
		dst = append(dst, ": "...)
	}
	dst = append(append(dst, c.args...), arguments(b)...)
	return append(append(dst, '}'), c.close...)
}

func (c jsonCall) check(b *Block) error {
	if err := checkObject(b); err != nil {
		return err
	}
	if c.header != "" {
		return checkName("a name", b.Name)
	}
	return nil
}

func (c jsonCall) marks() []string { return []string{c.open, c.header, c.close} }

// idForm is the form of the id that a header carries.
type idForm uint8

const (
	noID    idForm = iota
	idIndex        // behind the name: a colon and the number of the call in the conversation
	idTen          // before the name: ten letters and digits
)

// headerCall is a call with a header that has the name, and the arguments as JSON byte for byte.
type headerCall struct {
	open  string
	id    idForm
	named string // between an id and the name
	mid   string
	end   string
}

func (c headerCall) append(dst []byte, n int, b *Block) []byte {
	dst = append(dst, c.open...)
	if c.id == idTen {
		dst = append(appendID(dst, b.ID, n), c.named...)
	}
	dst = append(dst, b.Name...)
	if c.id == idIndex {
		dst = append(append(dst, ':'), index(b.ID, n)...)
	}
	dst = append(append(dst, c.mid...), arguments(b)...)
	return append(dst, c.end...)
}

func (c headerCall) check(b *Block) error {
	if err := checkName("a name", b.Name); err != nil {
		return err
	}
	return checkObject(b)
}

func (c headerCall) marks() []string { return []string{c.open, c.end} }

// appendID appends an id if it has ten letters and digits, else one made from the call's number.
func appendID(dst []byte, id string, n int) []byte {
	const size = 10
	if len(id) == size && strings.Trim(id, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") == "" {
		return append(dst, id...)
	}
	digits := strconv.Itoa(n)
	for range size - len(digits) {
		dst = append(dst, '0')
	}
	return append(dst, digits...)
}

// index is the number at the end of an id that counts calls, else n.
func index(id string, n int) string {
	at := strings.LastIndexByte(id, ':')
	if _, err := strconv.ParseUint(id[at+1:], 10, 31); err != nil || at < 0 {
		return strconv.Itoa(n)
	}
	return id[at+1:]
}
