package chatml

import "github.com/weirgate/weir/abi/jsonscan"

// wish is what someone says of thinking.
type wish uint8

const (
	unset wish = iota
	on
	off
)

// switches are an outline's switches, as far as they matter here.
type switches struct {
	named    bool // kwargs.enable_thinking is there, of whatever type
	enable   wish // its value
	thinking wish // kwargs.thinking
	mode     wish // the request's thinking mode; adaptive counts as on: these models decide by themselves
	effort   wish // "none" is off, every other effort on
	def      wish // of the tenant or the model
}

// thinks resolves the wishes: the first that speaks wins. When none does, these families think.
func (s switches) thinks() bool {
	for _, w := range [...]wish{s.enable, s.thinking, s.mode, s.effort, s.def} {
		if w != unset {
			return w == on
		}
	}
	return true
}

// readSwitches reads the switches object; see the outline in ABI.md. Unknown members are skipped, so
// that a newer host can say more, and so are template arguments of another type than expected: they may
// mean something to a template that this policy does not know.
func readSwitches(b []byte) (switches, error) {
	var s switches
	if len(b) == 0 {
		return s, nil
	}
	r := jsonscan.NewReader(b)
	if r.OpenObject() != nil {
		return s, errOutline
	}
	for {
		key, ok, err := r.Member()
		if err != nil {
			return s, errOutline
		}
		if !ok {
			break
		}
		switch string(key) {
		case "thinking":
			s.mode, err = word(r, "off")
		case "effort":
			s.effort, err = word(r, "none")
		case "default":
			s.def, err = word(r, "off")
		case "kwargs":
			err = kwargs(r, &s)
		default:
			_, err = r.Raw()
		}
		if err != nil {
			return s, errOutline
		}
	}
	if r.End() != nil {
		return s, errOutline
	}
	return s, nil
}

// word reads a string: off if it is no, else on; an empty one says nothing.
func word(r *jsonscan.Reader, no string) (wish, error) {
	var buf [16]byte
	text, err := r.Text(buf[:0])
	switch {
	case err != nil || len(text) == 0:
		return unset, err
	case string(text) == no:
		return off, nil
	}
	return on, nil
}

func kwargs(r *jsonscan.Reader, s *switches) error {
	if err := r.OpenObject(); err != nil {
		return err
	}
	for {
		key, ok, err := r.Member()
		if err != nil || !ok {
			return err
		}
		raw, err := r.Raw()
		if err != nil {
			return err
		}
		w := unset
		switch string(raw) {
		case "true":
			w = on
		case "false":
			w = off
		}
		switch string(key) {
		case "enable_thinking":
			s.named, s.enable = true, w
		case "thinking":
			s.thinking = w
		}
	}
}
