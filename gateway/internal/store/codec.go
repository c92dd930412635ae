package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/gateway/internal/chain"
)

// codecVersion is that of the columns of canonical forms. Their members are the names of abi/conv's fields, and kinds
// and roles its numbers: where either changes there, this rises, and what was written before is to be read as it was.
const codecVersion = 1

// column is a list of canonical forms as a database has it, JSON.
type column[T any] struct {
	Version int `json:"v"`
	// Bytes: each character of a string is one byte of it. JSON has no other way to say what is not UTF-8.
	Bytes  bool `json:"bytes,omitempty"`
	Values []T  `json:"of"`
}

func encodeMessages(messages []conv.Message) ([]byte, error) {
	c := column[conv.Message]{Version: codecVersion, Values: messages}
	probe, bad := validity()
	if probe.Messages(messages); *bad {
		c.Bytes, c.Values = true, chain.CloneMessages(messages)
		spread().Messages(c.Values)
	}
	return encode(c)
}

func decodeMessages(data []byte) ([]conv.Message, error) {
	c, err := decode[conv.Message](data)
	if err == nil && c.Bytes {
		v, bad := gather()
		if v.Messages(c.Values); *bad {
			err = errBytes
		}
	}
	if err != nil {
		return nil, err
	}
	return c.Values, nil
}

func encodeTools(tools []conv.ToolDef) ([]byte, error) {
	c := column[conv.ToolDef]{Version: codecVersion, Values: tools}
	probe, bad := validity()
	if probe.Tools(tools); *bad {
		c.Bytes, c.Values = true, append([]conv.ToolDef{}, tools...)
		spread().Tools(c.Values)
	}
	return encode(c)
}

func decodeTools(data []byte) ([]conv.ToolDef, error) {
	c, err := decode[conv.ToolDef](data)
	if err == nil && c.Bytes {
		v, bad := gather()
		if v.Tools(c.Values); *bad {
			err = errBytes
		}
	}
	if err != nil {
		return nil, err
	}
	return c.Values, nil
}

// encode writes nothing for nil, and what decode makes the same of otherwise.
func encode[T any](c column[T]) ([]byte, error) {
	if c.Values == nil {
		return nil, nil
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false) // markup is most of what there is to escape
	if err := e.Encode(c); err != nil {
		return nil, fmt.Errorf("conversation store: %w", err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

var errBytes = errors.New("conversation store: a column of bytes has a character that is none")

func decode[T any](data []byte) (c column[T], err error) {
	if len(data) == 0 {
		return c, nil
	}
	if err = json.Unmarshal(data, &c); err == nil && c.Version == codecVersion {
		return c, nil
	}
	// A newer one may well have members of other types, and its version says more than those.
	var probe struct {
		Version int `json:"v"`
	}
	if json.Unmarshal(data, &probe) == nil && probe.Version != codecVersion {
		return c, fmt.Errorf("conversation store: a column has version %d, and this build reads %d", probe.Version, codecVersion)
	}
	return c, fmt.Errorf("conversation store: a column is unreadable: %w", err)
}

// validity finds out whether a string is not UTF-8.
func validity() (*chain.Visitor, *bool) {
	bad := new(bool)
	return &chain.Visitor{
		Text: func(s *string) { *bad = *bad || !utf8.ValidString(*s) },
		Blob: func(*[]byte) {},
	}, bad
}

// spread makes a character of each byte.
func spread() *chain.Visitor {
	return &chain.Visitor{
		Text: func(s *string) {
			out := make([]rune, len(*s))
			for i := range len(*s) {
				out[i] = rune((*s)[i])
			}
			*s = string(out)
		},
		Blob: func(*[]byte) {},
	}
}

// gather is the opposite.
func gather() (*chain.Visitor, *bool) {
	bad := new(bool)
	return &chain.Visitor{
		Text: func(s *string) {
			out := make([]byte, 0, len(*s))
			for _, r := range *s {
				*bad = *bad || r > 0xff
				out = append(out, byte(r))
			}
			*s = string(out)
		},
		Blob: func(*[]byte) {},
	}, bad
}
