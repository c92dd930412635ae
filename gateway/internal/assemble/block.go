package assemble

import (
	"github.com/weirgate/weir/abi/event"
)

// text adds to the text block of a phase, opening one where it must.
func (a *Assembler) text(b []byte, phase event.Phase) error {
	if err := a.enter(event.TextStart, phase); err != nil {
		return err
	}
	return a.stoppable(a.fix.feed(b))
}

// textPhase is the phase of the text that stands, for bytes that carry none.
func (a *Assembler) textPhase() event.Phase {
	if a.block == event.TextStart {
		return a.phase
	}
	return event.PhaseNone
}

// stoppable delivers text as far as no stop string can begin in it.
func (a *Assembler) stoppable(b []byte) error {
	if len(b) == 0 || !a.stops.any() {
		return a.delta(event.TextDelta, b)
	}
	out, match := a.stops.feed(b)
	if match >= 0 {
		a.match, a.isStop, a.ended = a.stops.words[match].text, true, true
	}
	return a.delta(event.TextDelta, out)
}

func (a *Assembler) reasoning(b []byte) error {
	a.stats.Reasoning += len(b)
	if err := a.enter(event.ReasoningStart, event.PhaseNone); err != nil {
		return err
	}
	return a.delta(event.ReasoningDelta, a.fix.feed(b))
}

// enter makes kind the block that stands; its start leaves with its first delta.
func (a *Assembler) enter(kind event.Kind, phase event.Phase) error {
	if a.block == kind && a.phase == phase {
		return nil
	}
	if err := a.closeBlock(); err != nil {
		return err
	}
	a.block, a.phase = kind, phase
	return nil
}

func (a *Assembler) delta(kind event.Kind, b []byte) error {
	if len(b) == 0 {
		return nil
	}
	if !a.begun {
		a.begun = true
		if err := a.emit(event.Event{Kind: a.block, Phase: a.phase}); err != nil {
			return err
		}
	}
	return a.emit(event.Event{Kind: kind, Text: b})
}

// closeBlock delivers what a text or reasoning block holds and ends it.
func (a *Assembler) closeBlock() error {
	var err error
	switch {
	case a.block == 0:
		return nil
	case a.ended: // what is held came after the end
		a.fix.drop()
	case a.block == event.ReasoningStart:
		err = a.delta(event.ReasoningDelta, a.fix.flush())
	default:
		if err = a.delta(event.TextDelta, a.stops.flush()); err == nil {
			err = a.delta(event.TextDelta, a.fix.flush())
		}
	}
	if err != nil {
		return err
	}
	end := event.TextEnd
	if a.block == event.ReasoningStart {
		end = event.ReasoningEnd
	}
	begun := a.begun
	a.block, a.phase, a.begun = 0, event.PhaseNone, false
	if !begun {
		return nil
	}
	return a.emit(event.Event{Kind: end})
}
