package main

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/weirgate/weir/gateway/tokenizer/gguf"
	"github.com/weirgate/weir/gateway/tokenizer/load"
	"github.com/weirgate/weir/gateway/tokenizer/vocab"
)

// fact is something in which the engine reads a vocabulary in another way than the tokenizer that the
// model was trained with, which is the one that weir follows.
type fact uint8

const (
	unnormalized fact = 1 << iota // it does not bring text into NFC first
	strikes                       // it takes </s> for a control token, since it looks like one
	noFact       fact = 0
)

// String says what the engine does.
func (f fact) String() string {
	var all []string
	if f&unnormalized != 0 {
		all = append(all, "does not normalize text (NFC)")
	}
	if f&strikes != 0 {
		all = append(all, `takes "`+strike+`" for a control token, as its log says`)
	}
	return "the engine " + strings.Join(all, " and ")
}

const strike = "</s>"

// vocabulary is a model's, as weir reads it and changed by what is known of the engine.
type vocabulary struct {
	*vocab.Tokenizer
	spec  *vocab.Spec
	plain *vocab.Tokenizer // without tokens that are looked for in texts
	as    map[fact]*vocab.Tokenizer
}

// openVocabulary reads the vocabulary of a GGUF file. facts are those of the engine with this model.
func openVocabulary(path string, facts ...fact) (*vocabulary, error) {
	tok, err := load.Model(path, "")
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	file, err := gguf.Read(f)
	if err != nil {
		return nil, err
	}
	v := &vocabulary{Tokenizer: tok, as: map[fact]*vocab.Tokenizer{}}
	if v.spec, err = file.Vocabulary(); err != nil {
		return nil, err
	}
	bare := *v.spec
	bare.Added = nil
	if v.plain, err = vocab.New(&bare); err != nil {
		return nil, err
	}
	for _, f := range facts {
		if v.as[f], err = v.changed(f); err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
	}
	return v, nil
}

// changed is the vocabulary as one who does what f says reads it.
func (v *vocabulary) changed(f fact) (*vocab.Tokenizer, error) {
	s := *v.spec
	if f&unnormalized != 0 {
		s.Normalize = slices.DeleteFunc(slices.Clone(s.Normalize), func(st vocab.Step) bool { return st.Kind == vocab.NFC })
		if len(s.Normalize) == len(v.spec.Normalize) {
			return nil, errors.New("the vocabulary does not normalize either")
		}
	}
	if f&strikes != 0 {
		id, ok := v.ID(strike)
		if !ok {
			return nil, errors.New("there is no such token")
		}
		s.Added = append(slices.Clone(s.Added), vocab.Added{ID: id, Text: strike, Special: true})
	}
	return vocab.New(&s)
}

// sample is a text of the corpus.
type sample struct {
	Kind string `json:"k"`
	Text string `json:"t"`
}

func readCorpus(path string) ([]sample, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	var all []sample
	if err := json.NewDecoder(z).Decode(&all); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s is empty", path)
	}
	return all, nil
}

// compareCorpus compares the ids of each text with the engine's. Where they differ, one of the facts must be
// why: with nothing else changed, the vocabulary gives the engine's ids. With all of them it gives
// the engine's for every text.
func compareCorpus(ctx context.Context, e *engine, v *vocabulary, corpus []sample) (note string, reasons []string, err error) {
	facts := make([]fact, 0, len(v.as))
	all := noFact
	for f := range v.as {
		facts = append(facts, f)
		all |= f
	}
	slices.Sort(facts)
	found := make(map[fact]int, len(facts))
	ids, same := 0, 0
	for i, s := range corpus {
		theirs, err := e.tokenize(ctx, s.Text, true)
		if err != nil {
			return "", nil, fmt.Errorf("text %d: %w", i, err)
		}
		ours := v.Encode(nil, s.Text)
		if as := v.as[all]; as != nil && !slices.Equal(as.Encode(nil, s.Text), theirs) {
			return "", nil, fmt.Errorf("text %d (%s): %w", i, s.Kind, v.differ(ours, theirs))
		}
		ids += len(theirs)
		if slices.Equal(ours, theirs) {
			same++
			continue
		}
		n := slices.IndexFunc(facts, func(f fact) bool { return slices.Equal(v.as[f].Encode(nil, s.Text), theirs) })
		if n < 0 {
			return "", nil, fmt.Errorf("text %d (%s): %w", i, s.Kind, v.differ(ours, theirs))
		}
		found[facts[n]]++
	}
	for _, f := range facts {
		if found[f] > 0 {
			reasons = append(reasons, fmt.Sprintf("%d texts: %s", found[f], f))
		}
	}
	return fmt.Sprintf("%d texts, %d ids: %d the same", len(corpus), ids, same), reasons, nil
}

// differ shows where two lists of ids part.
func (v *vocabulary) differ(ours, theirs []uint32) error {
	at := 0
	for at < len(ours) && at < len(theirs) && ours[at] == theirs[at] {
		at++
	}
	show := func(ids []uint32) string {
		var b strings.Builder
		for _, id := range ids[min(at, len(ids)):min(at+6, len(ids))] {
			text, _ := v.Token(id)
			fmt.Fprintf(&b, " %d %q", id, text)
		}
		return b.String()
	}
	return fmt.Errorf("ids part at %d: weir's %d go on with%s, the engine's %d with%s", at, len(ours), show(ours), len(theirs), show(theirs))
}

// tokenAt gives the longest token that is looked for in texts and that text begins with; no size if there is
// none.
func (v *vocabulary) tokenAt(text string) (id uint32, size int) {
	for _, a := range v.spec.Added {
		if len(a.Text) > size && strings.HasPrefix(text, a.Text) {
			id, size = a.ID, len(a.Text)
		}
	}
	return id, size
}

// userDefined reports a token in text that the engine takes for one even where it reads plain text: one that
// is looked for, and is no control token.
func (v *vocabulary) userDefined(text string) bool {
	return slices.ContainsFunc(v.spec.Added, func(a vocab.Added) bool { return !a.Special && strings.Contains(text, a.Text) })
}
