package gguf

import "strings"

// Token is a token of the vocabulary.
type Token struct {
	ID   uint32
	Text string
}

// namedTask is the task of the token whose id stands under key, as Token takes it.
func namedTask(key string) (task string, ok bool) {
	name, ok := strings.CutPrefix(key, "tokenizer.ggml.")
	if !ok {
		return "", false
	}
	if name, ok = strings.CutSuffix(name, "_token_id"); !ok {
		return "", false
	}
	switch name {
	case "eot", "eom", "cls", "mask":
		return name, true
	case "padding":
		return "pad", true
	case "separator": // the metadata spells it so
		return "sep", true
	}
	return "", false
}

// Token returns the token that has a task: bos, eos, eot (end of turn), eom (end of message), pad, unk, sep,
// cls or mask. ok is false where the file names none.
func (f *File) Token(task string) (t Token, ok bool) {
	id, ok := f.named[task]
	switch task {
	case "bos":
		id, ok = f.bos, true
	case "eos":
		id, ok = f.eos, true
	case "unk":
		id, ok = f.unknown, true
	}
	if !ok || id < 0 || id >= int64(len(f.tokens)) {
		return Token{}, false
	}
	return Token{ID: uint32(id), Text: f.tokens[id]}, true
}

// ContextLength is the number of tokens that the model takes, 0 where the file does not say.
func (f *File) ContextLength() int {
	const most = 1 << 30
	if n := f.lengths[f.Architecture]; n > 0 && n <= most {
		return int(n)
	}
	return 0
}
