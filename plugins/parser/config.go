package parser

import (
	"errors"

	"github.com/weirgate/weir/abi/jsonscan"
)

// evidence is what the config says of one marker.
type evidence struct {
	text    string
	id      uint32
	hasID   bool
	textual bool
}

// config is the decoded open config.
type config struct {
	reasoning string
	tools     string
	markers   []evidence
}

// maxMarkers bounds the markers of a config. A vocabulary may have more special tokens than a family has
// markers; those that mean nothing here are skipped, but not without end.
const maxMarkers = 256

var (
	errReasoning = errors.New("unknown reasoning stage")
	errTools     = errors.New("unknown tool grammar")
	errMarkers   = errors.New("too many markers")
	errID        = errors.New("a marker's id must be a number below 2^32-1, or null")
	errTextual   = errors.New("a marker's textual must be true or false")
)

// parseConfig decodes the open config. An empty one parses nothing.
func parseConfig(doc []byte) (c config, err error) {
	r := jsonscan.NewReader(doc)
	if len(doc) == 0 {
		return c, nil
	}
	var buf []byte
	err = r.Object(func(key []byte) error {
		switch string(key) {
		case "reasoning":
			buf, err = optional(r, buf[:0])
			c.reasoning = string(buf)
		case "tools":
			buf, err = optional(r, buf[:0])
			c.tools = string(buf)
		case "markers":
			c.markers, err = parseMarkers(r)
		default:
			_, err = r.Raw()
		}
		return err
	})
	if err != nil {
		return c, err
	}
	return c, r.End()
}

// optional reads a string, or null as the empty one.
func optional(r *jsonscan.Reader, dst []byte) ([]byte, error) {
	if r.Peek() == jsonscan.Null {
		_, err := r.Raw()
		return dst, err
	}
	return r.Text(dst)
}

func parseMarkers(r *jsonscan.Reader) (out []evidence, err error) {
	if r.Peek() == jsonscan.Null {
		_, err = r.Raw()
		return nil, err
	}
	err = r.Object(func(key []byte) error {
		if len(out) == maxMarkers {
			return errMarkers
		}
		e := evidence{text: string(key)}
		err := r.Object(func(key []byte) error {
			raw, err := r.Raw()
			if err != nil {
				return err
			}
			switch string(key) {
			case "id":
				e.id, e.hasID, err = parseID(raw)
			case "textual":
				e.textual = string(raw) == "true"
				if !e.textual && string(raw) != "false" {
					err = errTextual
				}
			}
			return err
		})
		out = append(out, e)
		return err
	})
	return out, err
}

func parseID(raw []byte) (id uint32, ok bool, err error) {
	if string(raw) == "null" {
		return 0, false, nil
	}
	n := uint64(0)
	for _, c := range raw {
		if c < '0' || c > '9' || n > 1<<32 {
			return 0, false, errID
		}
		n = n*10 + uint64(c-'0')
	}
	if n >= 1<<32-1 {
		return 0, false, errID
	}
	return uint32(n), true, nil
}
