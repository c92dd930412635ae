package vocab

import "slices"

// Concatenates reports whether the ids of two texts in a row are the ids of both together, where the
// second one begins with a control token; and whether ids that a model wrote can be followed by those of
// the text behind it. It takes that no step puts something before a text or takes something off its ends,
// that no control token takes white space before it, and that none can be read in another way by what
// stands before it.
func (t *Tokenizer) Concatenates() bool { return t.concatenates }

func concatenates(s *Spec) bool {
	changesEnds := func(p Step) bool {
		switch p.Kind {
		case Prepend, StripSpace, PrefixSpace:
			return true
		case Metaspace:
			return p.Scheme != Never
		}
		return false
	}
	if !cuttable(s.Added) || slices.ContainsFunc(s.Normalize, changesEnds) || slices.ContainsFunc(s.Cut, changesEnds) {
		return false
	}
	var controls trie
	for _, a := range s.Added {
		if a.Special {
			if a.LeftStrip || a.Normalized && len(s.Normalize) > 0 {
				return false
			}
			controls.put(a.Text, a.ID)
		}
	}
	return !slices.ContainsFunc(s.Added, func(a Added) bool { return hides(&controls, a.Text) })
}

// hides reports whether a control token begins within text, behind its start: there it stands in text, or
// goes on where that ends.
func hides(controls *trie, text string) bool {
	for from := 1; from < len(text); from++ {
		w := walker{t: controls}
		for i := from; i < len(text); i++ {
			end, ok := w.step(text[i])
			if end != 0 || ok && i == len(text)-1 {
				return true
			}
			if !ok {
				break
			}
		}
	}
	return false
}
