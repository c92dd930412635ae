package turn

import "github.com/weirgate/weir/engines"

// Output keeps what the model wrote in a turn, as the engine told it: what a later prompt must begin with, where
// it is to find all of it in the engine's cache.
type Output struct {
	// Max bounds Text in bytes; of a turn that writes more nothing is kept.
	Max int

	Text []byte
	IDs  []uint32 // of all of Text; nil where the engine does not tell
	// Whole is set when the turn is over and Text is all that the model wrote up to a stop of its own or the limit
	// of tokens.
	Whole bool

	mute bool // the engine does not tell ids, or not all
	lost bool
}

func (o *Output) add(d *engines.Delta) {
	if o.lost || len(d.Fragments) > 0 || len(o.Text)+len(d.Bytes) > o.Max {
		o.Text, o.IDs, o.lost = nil, nil, true
		return
	}
	o.Text = append(o.Text, d.Bytes...)
	switch {
	case o.mute:
	case len(d.IDs) > 0:
		o.IDs = append(o.IDs, d.IDs...)
	case len(d.Bytes) > 0:
		o.IDs, o.mute = nil, true
	}
}

func (o *Output) end(whole bool) { o.Whole = whole && !o.lost && len(o.Text) > 0 }
