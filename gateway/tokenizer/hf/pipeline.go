package hf

import (
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/weirgate/weir/gateway/tokenizer/vocab"
)

// maxNested bounds sequences within sequences.
const maxNested = 8

// gpt2 is the pattern of ByteLevel where it cuts too.
const gpt2 = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

// punctuation is that of ASCII, symbols included, and Unicode's.
const punctuation = "[!-/:-@\\[-`{-~\\p{P}]"

// pipeline reads the components around the model.
type pipeline struct {
	spec      *vocab.Spec
	byteLevel bool
}

// component has the fields of all kinds of component.
type component struct {
	Type string `json:"type"`

	Normalizers   []json.RawMessage `json:"normalizers"`
	PreTokenizers []json.RawMessage `json:"pretokenizers"`
	Processors    []json.RawMessage `json:"processors"`
	Decoders      []json.RawMessage `json:"decoders"`

	Pattern struct {
		String *string `json:"String"`
		Regex  *string `json:"Regex"`
	} `json:"pattern"`
	Content  string `json:"content"`
	Prepend  string `json:"prepend"`
	Behavior string `json:"behavior"`
	Invert   bool   `json:"invert"`

	AddPrefixSpace *bool   `json:"add_prefix_space"`
	UseRegex       *bool   `json:"use_regex"`
	Replacement    string  `json:"replacement"`
	PrependScheme  *string `json:"prepend_scheme"`
	Split          *bool   `json:"split"`
	Individual     bool    `json:"individual_digits"`
	Delimiter      string  `json:"delimiter"`

	StripLeft     bool  `json:"strip_left"`
	StripRight    bool  `json:"strip_right"`
	CleanText     *bool `json:"clean_text"`
	Chinese       *bool `json:"handle_chinese_chars"`
	StripAccents  *bool `json:"strip_accents"`
	BertLowercase *bool `json:"lowercase"`

	Start   int    `json:"start"`
	Stop    int    `json:"stop"`
	Prefix  string `json:"prefix"`
	Cleanup *bool  `json:"cleanup"`
	Suffix  string `json:"suffix"`

	Single        []templatePiece `json:"single"`
	SpecialTokens json.RawMessage `json:"special_tokens"`
	Sep           json.RawMessage `json:"sep"`
	Cls           json.RawMessage `json:"cls"`
}

type templatePiece struct {
	SpecialToken *struct {
		ID string `json:"id"`
	} `json:"SpecialToken"`
	Sequence *struct {
		ID string `json:"id"`
	} `json:"Sequence"`
}

// read decodes a component; ok is false where there is none.
func read(data json.RawMessage, place string, depth int) (c component, ok bool, err error) {
	if len(data) == 0 || string(data) == "null" {
		return c, false, nil
	}
	if depth > maxNested {
		return c, false, fmt.Errorf("%w: %s: too many sequences within sequences", ErrMalformed, place)
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return c, false, fmt.Errorf("%w: %s: %w", ErrMalformed, place, err)
	}
	return c, true, nil
}

func unsupported(place string, c *component) error {
	return fmt.Errorf("%w: %s of type %q", ErrUnsupported, place, c.Type)
}

// sequence reads the elements of a Sequence in order.
func sequence(list []json.RawMessage, place string, depth int, one func(json.RawMessage, string, int) ([]vocab.Step, error)) ([]vocab.Step, error) {
	var all []vocab.Step
	for i, data := range list {
		steps, err := one(data, fmt.Sprintf("%s[%d]", place, i), depth+1)
		if err != nil {
			return nil, err
		}
		if all = append(all, steps...); len(all) > vocab.MaxSteps {
			return nil, fmt.Errorf("%w: %s: more than %d steps", ErrMalformed, place, vocab.MaxSteps)
		}
	}
	return all, nil
}

func (p *pipeline) normalizer(data json.RawMessage, place string, depth int) ([]vocab.Step, error) {
	c, ok, err := read(data, place, depth)
	if !ok {
		return nil, err
	}
	one := func(s vocab.Step) ([]vocab.Step, error) { return []vocab.Step{s}, nil }
	switch c.Type {
	case "Sequence":
		return sequence(c.Normalizers, place, depth, p.normalizer)
	case "NFC":
		return one(vocab.Step{Kind: vocab.NFC})
	case "NFD":
		return one(vocab.Step{Kind: vocab.NFD})
	case "NFKC":
		return one(vocab.Step{Kind: vocab.NFKC})
	case "NFKD":
		return one(vocab.Step{Kind: vocab.NFKD})
	case "Lowercase":
		return one(vocab.Step{Kind: vocab.Lowercase})
	case "StripAccents":
		return one(vocab.Step{Kind: vocab.StripAccents})
	case "Strip":
		return one(vocab.Step{Kind: vocab.StripSpace, Start: flag(c.StripLeft), Stop: flag(c.StripRight)})
	case "Prepend":
		return one(vocab.Step{Kind: vocab.Prepend, Text: c.Prepend})
	case "Replace":
		s, err := c.pattern(place)
		s.Kind, s.With = vocab.Replace, c.Content
		return []vocab.Step{s}, err
	case "BertNormalizer":
		return bertNormalizer(&c), nil
	}
	return nil, unsupported(place, &c)
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

func or(b *bool, value bool) bool {
	if b != nil {
		return *b
	}
	return value
}

func bertNormalizer(c *component) []vocab.Step {
	var steps []vocab.Step
	lower := or(c.BertLowercase, true)
	if or(c.CleanText, true) {
		steps = append(steps, vocab.Step{Kind: vocab.CleanText})
	}
	if or(c.Chinese, true) {
		steps = append(steps, vocab.Step{Kind: vocab.SpaceChinese})
	}
	if or(c.StripAccents, lower) {
		steps = append(steps, vocab.Step{Kind: vocab.NFD}, vocab.Step{Kind: vocab.StripAccents, Flag: true})
	}
	if lower {
		steps = append(steps, vocab.Step{Kind: vocab.Lowercase})
	}
	return steps
}

// pattern returns a step that looks for the component's pattern.
func (c *component) pattern(place string) (vocab.Step, error) {
	switch {
	case c.Pattern.String != nil && *c.Pattern.String != "":
		return vocab.Step{Text: *c.Pattern.String}, nil
	case c.Pattern.Regex != nil && *c.Pattern.Regex != "":
		return vocab.Step{Text: *c.Pattern.Regex, Regex: true}, nil
	}
	return vocab.Step{}, fmt.Errorf("%w: %s: no pattern", ErrMalformed, place)
}

func behavior(name, place string) (vocab.Behavior, error) {
	switch name {
	case "Isolated":
		return vocab.Isolated, nil
	case "Removed":
		return vocab.Removed, nil
	case "MergedWithPrevious":
		return vocab.Previous, nil
	case "MergedWithNext":
		return vocab.Next, nil
	case "Contiguous":
		return vocab.Contiguous, nil
	}
	return 0, fmt.Errorf("%w: %s: behavior %q", ErrUnsupported, place, name)
}

func regex(pattern string, b vocab.Behavior) vocab.Step {
	return vocab.Step{Kind: vocab.Split, Text: pattern, Regex: true, Behavior: b}
}

func (p *pipeline) preTokenizer(data json.RawMessage, place string, depth int) ([]vocab.Step, error) {
	c, ok, err := read(data, place, depth)
	if !ok {
		return nil, err
	}
	if p.byteLevel {
		return nil, fmt.Errorf("%w: %s of type %q behind ByteLevel", ErrUnsupported, place, c.Type)
	}
	switch c.Type {
	case "Sequence":
		return sequence(c.PreTokenizers, place, depth, p.preTokenizer)
	case "Split":
		s, err := c.pattern(place)
		if err != nil {
			return nil, err
		}
		s.Kind, s.Invert = vocab.Split, c.Invert
		s.Behavior, err = behavior(c.Behavior, place)
		return []vocab.Step{s}, err
	case "ByteLevel":
		p.byteLevel = true
		var steps []vocab.Step
		if or(c.AddPrefixSpace, true) {
			steps = append(steps, vocab.Step{Kind: vocab.PrefixSpace})
		}
		if or(c.UseRegex, true) {
			steps = append(steps, regex(gpt2, vocab.Isolated))
		}
		return steps, nil
	case "Metaspace":
		s, err := metaspace(&c, place)
		s.Flag = or(c.Split, true)
		return []vocab.Step{s}, err
	case "Whitespace":
		return []vocab.Step{{Kind: vocab.Split, Text: `\w+|[^\w\s]+`, Regex: true, Fancy: true, Behavior: vocab.Removed, Invert: true}}, nil
	case "WhitespaceSplit":
		return []vocab.Step{regex(`\s`, vocab.Removed)}, nil
	case "BertPreTokenizer":
		return []vocab.Step{regex(`\s`, vocab.Removed), regex(punctuation, vocab.Isolated)}, nil
	case "Punctuation":
		if c.Behavior == "" {
			c.Behavior = "Isolated"
		}
		b, err := behavior(c.Behavior, place)
		return []vocab.Step{regex(punctuation, b)}, err
	case "Digits":
		if c.Individual {
			return []vocab.Step{regex(`\p{N}`, vocab.Isolated)}, nil
		}
		return []vocab.Step{regex(`\p{N}`, vocab.Contiguous)}, nil
	case "CharDelimiterSplit":
		if utf8.RuneCountInString(c.Delimiter) != 1 {
			return nil, fmt.Errorf("%w: %s: delimiter %q", ErrMalformed, place, c.Delimiter)
		}
		return []vocab.Step{{Kind: vocab.Split, Text: c.Delimiter, Behavior: vocab.Removed}}, nil
	}
	return nil, unsupported(place, &c)
}

func metaspace(c *component, place string) (vocab.Step, error) {
	s := vocab.Step{Kind: vocab.Metaspace, Text: c.Replacement}
	if utf8.RuneCountInString(c.Replacement) != 1 {
		return s, fmt.Errorf("%w: %s: replacement %q", ErrMalformed, place, c.Replacement)
	}
	scheme := "always"
	if c.AddPrefixSpace != nil && !*c.AddPrefixSpace {
		scheme = "never"
	}
	if c.PrependScheme != nil {
		scheme = *c.PrependScheme
	}
	switch scheme {
	case "always":
		s.Scheme = vocab.Always
	case "first":
		s.Scheme = vocab.First
	case "never":
		s.Scheme = vocab.Never
	default:
		return s, fmt.Errorf("%w: %s: prepend_scheme %q", ErrUnsupported, place, scheme)
	}
	return s, nil
}

func (p *pipeline) decoder(data json.RawMessage, place string, depth int) ([]vocab.Step, error) {
	c, ok, err := read(data, place, depth)
	if !ok {
		return nil, err
	}
	one := func(s vocab.Step) ([]vocab.Step, error) { return []vocab.Step{s}, nil }
	switch c.Type {
	case "Sequence":
		return sequence(c.Decoders, place, depth, p.decoder)
	case "ByteLevel":
		return one(vocab.Step{Kind: vocab.Bytes})
	case "ByteFallback":
		return one(vocab.Step{Kind: vocab.ByteFallback})
	case "Fuse":
		return one(vocab.Step{Kind: vocab.Fuse})
	case "Replace":
		s, err := c.pattern(place)
		if err == nil && s.Regex {
			err = fmt.Errorf("%w: %s: a pattern", ErrUnsupported, place)
		}
		s.Kind, s.With = vocab.Replace, c.Content
		return []vocab.Step{s}, err
	case "Strip":
		if c.Start < 0 || c.Stop < 0 || max(c.Start, c.Stop) > 1000 {
			return nil, fmt.Errorf("%w: %s: start %d and stop %d", ErrMalformed, place, c.Start, c.Stop)
		}
		return one(vocab.Step{Kind: vocab.Strip, Text: c.Content, Start: c.Start, Stop: c.Stop})
	case "Metaspace":
		s, err := metaspace(&c, place)
		return []vocab.Step{s}, err
	case "WordPiece":
		return one(vocab.Step{Kind: vocab.Continue, Text: c.Prefix, Flag: or(c.Cleanup, true)})
	case "BPEDecoder":
		return one(vocab.Step{Kind: vocab.Suffix, Text: c.Suffix})
	}
	return nil, unsupported(place, &c)
}

// postProcessor fills in what stands around a text. Processors in a row each go around the one before.
func (p *pipeline) postProcessor(data json.RawMessage, place string, depth int) error {
	c, ok, err := read(data, place, depth)
	if !ok {
		return err
	}
	switch c.Type {
	case "ByteLevel":
		return nil
	case "Sequence":
		for i, data := range c.Processors {
			if err := p.postProcessor(data, fmt.Sprintf("%s[%d]", place, i), depth+1); err != nil {
				return err
			}
		}
		return nil
	case "TemplateProcessing":
		return p.template(&c, place)
	case "BertProcessing", "RobertaProcessing":
		sep, err1 := pairID(c.Sep)
		cls, err2 := pairID(c.Cls)
		if err1 != nil || err2 != nil {
			return fmt.Errorf("%w: %s: sep or cls", ErrMalformed, place)
		}
		p.around([]uint32{cls}, []uint32{sep})
		return nil
	}
	return unsupported(place, &c)
}

func (p *pipeline) around(before, after []uint32) {
	p.spec.Before = slices.Concat(before, p.spec.Before)
	p.spec.After = slices.Concat(p.spec.After, after)
}

// pairID reads ["text", id].
func pairID(data json.RawMessage) (uint32, error) {
	var pair [2]json.RawMessage
	if err := json.Unmarshal(data, &pair); err != nil {
		return 0, err
	}
	var id uint32
	return id, json.Unmarshal(pair[1], &id)
}

func (p *pipeline) template(c *component, place string) error {
	var tokens map[string]struct {
		IDs []uint32 `json:"ids"`
	}
	if err := json.Unmarshal(c.SpecialTokens, &tokens); err != nil {
		return fmt.Errorf("%w: %s: special_tokens: %w", ErrMalformed, place, err)
	}
	var before, after []uint32
	seen := 0
	for i, piece := range c.Single {
		switch {
		case piece.Sequence != nil && piece.Sequence.ID == "A":
			seen++
		case piece.SpecialToken != nil && len(tokens[piece.SpecialToken.ID].IDs) > 0:
			if ids := tokens[piece.SpecialToken.ID].IDs; seen > 0 {
				after = append(after, ids...)
			} else {
				before = append(before, ids...)
			}
		default:
			return fmt.Errorf("%w: %s: single[%d]", ErrMalformed, place, i)
		}
	}
	if seen != 1 || len(before)+len(after) > 256 {
		return fmt.Errorf("%w: %s: single has the text %d times", ErrUnsupported, place, seen)
	}
	p.around(before, after)
	return nil
}
