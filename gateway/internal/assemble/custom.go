package assemble

import (
	"slices"

	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/abi/record"
	"github.com/weirgate/weir/gateway/internal/assemble/internal/unescape"
)

// maxProbe is how far the wrapper of a custom tool's input is looked for, in bytes.
const maxProbe = 256

type customAt uint8

const (
	customText  customAt = iota // input as it is
	customProbe                 // is it wrapped?
	customInput                 // in the wrapped string
	customRest                  // after it, in the wrapper
)

// customState follows the input of a custom tool. Models that know functions alone write it as
// {"input": "..."}, or as one string; then the input is that string's text.
type customState struct {
	at   customAt
	json bool   // the format says that it is JSON
	lead []byte // bytes of the probe
	all  jsonscan.Machine
	str  jsonscan.Machine
	esc  unescape.Decoder
}

func (s *customState) begin(kind uint32) {
	*s = customState{lead: s.lead[:0], json: kind == record.ArgsJSON}
	if kind != record.ArgsText {
		s.at = customProbe
	}
}

// probe tells where the wrapped string's text begins in b: 0 while that is open, -1 if there is none.
func (s *customState) probe(b []byte) int {
	p := trimLeft(b)
	if s.json && len(p) > 0 && p[0] == '"' {
		return len(b) - len(p) + 1
	}
	for _, want := range [...]string{"{", `"input"`, ":", `"`} {
		p = trimLeft(p)
		n := min(len(p), len(want))
		if string(p[:n]) != want[:n] {
			return -1
		}
		if n < len(want) {
			return 0
		}
		p = p[n:]
	}
	return len(b) - len(p)
}

func (a *Assembler) customArgs(b []byte) error {
	s, size := a.call.custom, len(b)
	switch s.at {
	case customText:
		return a.emitArgs(b)
	case customProbe:
		s.lead = append(s.lead, b...)
		n := s.probe(s.lead[:min(len(s.lead), maxProbe)])
		if n == 0 && len(s.lead) < maxProbe {
			return nil
		}
		if n <= 0 {
			s.at = customText
			return a.emitArgs(s.lead)
		}
		s.at = customInput
		s.all.Feed(s.lead[:n])
		s.str.Feed([]byte{'"'})
		s.esc.Reset(record.EscJSON)
		b = s.lead[n:]
	}
	if s.at == customInput {
		n, st := s.str.Feed(b)
		inside := b[:n]
		if st == jsonscan.Done {
			inside = b[:n-1]
		}
		a.tmp = s.esc.Append(a.tmp[:0], inside)
		if st == jsonscan.Done {
			a.tmp = s.esc.Flush(a.tmp)
		}
		if err := a.emitArgs(a.tmp); err != nil {
			return err
		}
		s.all.Feed(b[:n])
		b = b[n:]
		switch st {
		case jsonscan.Done:
			s.at = customRest
		case jsonscan.Bad:
			a.call.lose(append(slices.Clone(s.esc.Held()), b...), size)
			return nil
		}
	}
	if len(b) == 0 {
		return nil
	}
	if s.all.Status() == jsonscan.More {
		n, _ := s.all.Feed(b)
		b = b[n:]
	}
	if b = trimLeft(b); len(b) > 0 {
		a.call.lose(b, size)
	}
	return nil
}

func (a *Assembler) endCustom() (bool, error) {
	s := a.call.custom
	switch s.at {
	case customText:
		return true, nil
	case customProbe:
		return true, a.emitArgs(s.lead)
	}
	return s.at == customRest && s.all.Status() == jsonscan.Done, nil
}

// customParam takes the input of a custom tool that came as a parameter: the first one is it.
func (a *Assembler) customParam(r record.Record, b []byte) error {
	p, v := &a.params, &a.value
	switch r.Kind {
	case record.Key:
		if p.inputs++; p.inputs > 1 {
			a.stats.Duplicates++
		}
	case record.Open, record.Close:
		a.stats.Strays++
		a.call.bad = true
	case record.Value:
		if p.inputs != 1 {
			return nil
		}
		if v.mode == idle {
			v.mode = inText
			v.esc.Reset(r.Flags)
		}
		a.tmp = v.esc.Append(a.tmp[:0], b)
		if r.Flags&record.Fin != 0 {
			v.mode = idle
			a.tmp = v.esc.Flush(a.tmp)
		}
		return a.emitArgs(a.tmp)
	}
	return nil
}
