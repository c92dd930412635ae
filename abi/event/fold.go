package event

// Block is one folded block of a turn.
type Block struct {
	Kind     Kind // ReasoningStart, TextStart or ToolStart
	Text     []byte
	Phase    Phase
	Seal     string
	Call     Call // of a tool block, with Arguments whole
	Complete bool
	Cause    Cause
	Raw      []byte // a call that is not complete: the bytes the model wrote for it, where kept
}

// Result is a whole turn: the fold of its events. Responses that are not streamed, and `weir parse
// --result`, are made from it; there is no second way to make them.
type Result struct {
	Blocks       []Block
	Start, Usage Usage
	Reason       Reason
	StopSequence string
	Fault        *Fault
}

// Folder folds events into a Result. The zero value is ready; it is a Sink.
type Folder struct {
	Result Result
}

// Event folds e in.
func (f *Folder) Event(e *Event) error {
	r := &f.Result
	switch e.Kind {
	case TurnStart:
		r.Start = e.Usage
	case ReasoningStart, TextStart:
		r.Blocks = append(r.Blocks, Block{Kind: e.Kind, Phase: e.Phase})
	case ToolStart:
		r.Blocks = append(r.Blocks, Block{Kind: e.Kind, Call: e.Call})
	case ReasoningDelta, TextDelta:
		b := &r.Blocks[len(r.Blocks)-1]
		b.Text = append(b.Text, e.Text...)
	case ToolArgs:
		b := &r.Blocks[len(r.Blocks)-1]
		b.Call.Arguments = append(b.Call.Arguments, e.Text...)
	case ReasoningEnd:
		r.Blocks[len(r.Blocks)-1].Seal = e.Seal
	case ToolEnd:
		b := &r.Blocks[len(r.Blocks)-1]
		b.Complete, b.Cause = e.Complete, e.Cause
		b.Raw = append(b.Raw, e.Text...)
	case UsageKind:
		r.Usage = e.Usage
	case Finish:
		r.Reason, r.StopSequence = e.Reason, e.StopSequence
	case FaultKind:
		fault := e.Fault
		r.Fault = &fault
	}
	return nil
}

// Visible returns the blocks as a reader who was not streamed to should see them: a call that is not
// complete is a text block of its raw bytes.
func (r *Result) Visible() []Block {
	out := make([]Block, 0, len(r.Blocks))
	for _, b := range r.Blocks {
		if b.Kind == ToolStart && !b.Complete {
			if len(b.Raw) == 0 {
				continue
			}
			b = Block{Kind: TextStart, Text: b.Raw}
		}
		out = append(out, b)
	}
	return out
}
