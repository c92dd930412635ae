package modelfile

import (
	"errors"
	"fmt"
	"os"

	"github.com/weirgate/weir/gateway/tokenizer/gguf"
	"github.com/weirgate/weir/gateway/tokenizer/vocab"
)

// gguf reads the metadata of a GGUF file.
func (r *reading) gguf(path string, o Options) error {
	if err := regular(path); err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("opening a model: %w", err)
	}
	defer func() { _ = f.Close() }()
	file, err := gguf.Read(f)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrMalformed, path, err)
	}
	r.modelType, r.why.template, r.why.templates = file.Architecture, "tokenizer.chat_template of the file", "tokenizer.chat_template.NAME of the file"
	r.Template, r.Templates = file.ChatTemplate, file.Templates
	if r.Template == "" {
		r.why.template = "the file has no tokenizer.chat_template"
	}
	r.why.tokens = "ids in the file's metadata"
	for task, name := range map[string]string{
		"bos": "bos_token", "eos": "eos_token", "pad": "pad_token", "unk": "unk_token", "sep": "sep_token", "cls": "cls_token", "mask": "mask_token",
	} {
		if t, ok := file.Token(task); ok {
			r.Tokens[name] = t.Text
		}
	}
	r.why.stops = "ends of text, turn and message in the file's metadata"
	for _, task := range [...]string{"eos", "eot", "eom"} {
		if t, ok := file.Token(task); ok {
			r.ends = append(r.ends, t.ID)
			r.names[t.ID] = t.Text
		}
	}
	if r.Context = file.ContextLength(); r.Context > 0 {
		r.why.context = file.Architecture + ".context_length of the file"
	}
	r.why.sampling = "GGUF files carry none"
	return r.ggufVocabulary(file, o)
}

// ggufEnds are control tokens on which llama.cpp ends a generation by their text, whatever the metadata says.
var ggufEnds = [...]string{"<|endoftext|>", "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end|>", "<end_of_turn>", "<|end_of_text|>"} //nolint:gochecknoglobals // a table

func (r *reading) ggufVocabulary(file *gguf.File, o Options) error {
	if o.NoVocab {
		r.why.vocab = notRead
		return nil
	}
	spec, err := file.Vocabulary()
	if err == nil {
		r.Vocab, err = vocab.New(spec)
	}
	switch {
	case err == nil:
		r.why.vocab = "tokenizer.ggml.* of the file"
		for _, text := range ggufEnds {
			if id, ok := r.Vocab.ID(text); ok && r.Vocab.Special(id) {
				r.ends = append(r.ends, id)
			}
		}
	case errors.Is(err, gguf.ErrMalformed), errors.Is(err, vocab.ErrVocabulary):
		return fmt.Errorf("%w: %s: %w", ErrMalformed, r.Path, err)
	default: // a kind of vocabulary that is not known
		r.why.vocab = err.Error()
		r.warn("no vocabulary: %v", err)
	}
	return nil
}
