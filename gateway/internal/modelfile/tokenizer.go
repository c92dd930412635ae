package modelfile

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/weirgate/weir/abi/jsonscan"
)

// tokenizerConfig is what tokenizer_config.json and special_tokens_map.json say.
type tokenizerConfig struct {
	templates  templates
	tokens     map[string]string
	tokensFrom string
	added      map[uint32]string // texts of added tokens
	hasAdded   bool              // added_tokens_decoder is there
	length     float64           // model_max_length; 0 unknown
}

// read reads both files; ok is false where there is no tokenizer_config.json.
func (c *tokenizerConfig) read(dir string) (ok bool, err error) {
	c.templates, c.tokens, c.added = templates{}, map[string]string{}, map[uint32]string{}
	c.tokensFrom = "there is no " + tokenizerFile
	ok, err = readObject(dir, tokenizerFile, func(r *jsonscan.Reader, key string) error {
		switch key {
		case "chat_template":
			return c.templates.read(r)
		case "added_tokens_decoder":
			c.hasAdded = true
			return c.readAdded(r)
		case "model_max_length":
			var err error
			c.length, _, err = number(r)
			return err
		case "extra_special_tokens":
			return readTokens(r, c.tokens)
		}
		return c.token(r, key)
	})
	if err != nil {
		return ok, err
	}
	if ok {
		c.tokensFrom = tokenizerFile
	}
	if c.hasAdded {
		return ok, nil
	}
	// Older models have their special tokens in a file of its own, which goes before what stands here;
	// transformers does not look at it where the added tokens are listed.
	older, err := readObject(dir, tokensFile, c.token)
	if older {
		c.tokensFrom = tokensFile + " (" + tokenizerFile + " lists no added tokens)"
	}
	return ok, err
}

// tokenNames are the special tokens that templates get by name, beside those that a model adds.
var tokenNames = [...]string{"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"} //nolint:gochecknoglobals // a table

// token reads a member that may be a special token: a text, or an object with a content.
func (c *tokenizerConfig) token(r *jsonscan.Reader, key string) error {
	if !slices.Contains(tokenNames[:], key) {
		return skip(r)
	}
	return readToken(r, key, c.tokens)
}

func readToken(r *jsonscan.Reader, name string, tokens map[string]string) error {
	s, ok, err := "", false, error(nil)
	if r.Peek() == jsonscan.Object {
		err = r.Object(func(key []byte) error {
			if string(key) != "content" {
				return skip(r)
			}
			s, ok, err = text(r)
			return err
		})
	} else {
		s, ok, err = text(r)
	}
	if err != nil || !ok {
		return err
	}
	if len(tokens) >= maxTokens {
		return fmt.Errorf("more than %d special tokens", maxTokens)
	}
	tokens[name] = s
	return nil
}

// readTokens reads an object of special tokens. Lists of them without names are left out.
func readTokens(r *jsonscan.Reader, tokens map[string]string) error {
	if r.Peek() != jsonscan.Object {
		return skip(r)
	}
	return r.Object(func(key []byte) error { return readToken(r, string(key), tokens) })
}

// readAdded reads the added tokens: an object with the text of each id.
func (c *tokenizerConfig) readAdded(r *jsonscan.Reader) error {
	if r.Peek() != jsonscan.Object {
		return skip(r)
	}
	return r.Object(func(key []byte) error {
		id, err := strconv.ParseUint(string(key), 10, 32)
		if err != nil || len(c.added) >= maxNames {
			return fmt.Errorf("added_tokens_decoder: the id %q", key)
		}
		one := map[string]string{}
		err = readToken(r, "", one)
		if s, ok := one[""]; ok {
			c.added[uint32(id)] = s
		}
		return err
	})
}

// read reads the templates of a JSON file: the default alone as a text, or a list of objects with name and
// template, or an object with a text for each name.
func (t templates) read(r *jsonscan.Reader) error {
	switch r.Peek() {
	case jsonscan.String:
		s, _, err := text(r)
		if err != nil {
			return err
		}
		return t.add(defaultName, s)
	case jsonscan.Array:
		return r.Array(func(int) error { return t.readNamed(r) })
	case jsonscan.Object:
		return r.Object(func(key []byte) error {
			name := string(key)
			s, ok, err := text(r)
			if err != nil || !ok {
				return err
			}
			return t.add(name, s)
		})
	}
	return skip(r)
}

func (t templates) readNamed(r *jsonscan.Reader) error {
	fields := map[string]string{}
	if err := r.Object(func(key []byte) error {
		name := string(key)
		if name != "name" && name != "template" {
			return skip(r)
		}
		s, ok, err := text(r)
		if ok {
			fields[name] = s
		}
		return err
	}); err != nil {
		return err
	}
	source, ok := fields["template"]
	if !ok || fields["name"] == "" {
		return fmt.Errorf("chat_template: want a name and a template in each element")
	}
	return t.add(fields["name"], source)
}

// processorTemplates reads chat_template.json.
func processorTemplates(dir string) (templates, error) {
	set := templates{}
	_, err := readObject(dir, processorFile, func(r *jsonscan.Reader, key string) error {
		if key != "chat_template" {
			return skip(r)
		}
		return set.read(r)
	})
	return set, err
}

// number reads a number. Another value is none: ok is false, and no error. Integers beyond what a float64
// holds are as good as none here.
func number(r *jsonscan.Reader) (v float64, ok bool, err error) {
	if r.Peek() != jsonscan.Number {
		return 0, false, skip(r)
	}
	raw, err := r.Raw()
	if err != nil {
		return 0, false, err
	}
	v, err = strconv.ParseFloat(string(raw), 64)
	if err != nil || math.IsInf(v, 0) {
		return 0, false, nil //nolint:nilerr // it is out of range, which is no fault of the document
	}
	return v, true, nil
}
