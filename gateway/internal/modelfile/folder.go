package modelfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weirgate/weir/gateway/tokenizer/hf"
	"github.com/weirgate/weir/gateway/tokenizer/load"
	"github.com/weirgate/weir/gateway/tokenizer/tiktoken"
	"github.com/weirgate/weir/gateway/tokenizer/vocab"
)

// The files of a model's folder.
const (
	templateFile   = "chat_template.jinja"
	processorFile  = "chat_template.json"
	tokenizerFile  = "tokenizer_config.json"
	tokensFile     = "special_tokens_map.json"
	generationFile = "generation_config.json"
	configFile     = "config.json"
	vocabFile      = "tokenizer.json"
	ranksFile      = "tiktoken.model"
	piecesFile     = "tokenizer.model"
)

// templateFolders hold named templates, one a file.
var templateFolders = [...]string{"additional_chat_templates", "chat_templates"} //nolint:gochecknoglobals // a table

// defaultName is the name of the template that is not named.
const defaultName = "default"

// templates are those of one source, by name.
type templates map[string]string

// folder reads a model's folder.
func (r *reading) folder(dir string, o Options) error {
	var c tokenizerConfig
	hasTokenizer, err := c.read(dir)
	if err != nil {
		return err
	}
	if err := r.folderTemplates(dir, &c); err != nil {
		return err
	}
	r.folderTokens(&c)
	hasConfig, err := r.configs(dir, &c)
	if err != nil {
		return err
	}
	from, err := vocabularyFile(dir)
	if err != nil {
		return err
	}
	if r.Template == "" && len(r.Templates) == 0 && from == "" && !hasTokenizer && !hasConfig {
		return noModel(dir)
	}
	return r.folderVocabulary(dir, from, o)
}

func noModel(dir string) error {
	if files, err := filepath.Glob(filepath.Join(dir, "*.gguf")); err == nil && len(files) > 0 {
		return fmt.Errorf("%w: %s holds GGUF files: name one of them, such as %s", ErrNoModel, dir, filepath.Base(files[0]))
	}
	return fmt.Errorf("%w: %s has none of %s, %s, %s and %s", ErrNoModel, dir, templateFile, tokenizerFile, configFile, vocabFile)
}

// folderTemplates chooses among the sources of templates as transformers does: where there are template
// files, what stands in JSON files does not count, and a processor's template goes before a tokenizer's.
func (r *reading) folderTemplates(dir string, c *tokenizerConfig) error {
	files, err := templateFiles(dir)
	if err != nil {
		return err
	}
	processor, err := processorTemplates(dir)
	if err != nil {
		return err
	}
	r.why.template = "there is neither " + templateFile + " nor a chat_template in " + tokenizerFile
	for _, s := range []struct {
		from string
		set  templates
	}{{templateFile, files}, {processorFile, processor}, {"chat_template of " + tokenizerFile, c.templates}} {
		if len(s.set) == 0 {
			continue
		}
		if len(r.Templates) == 0 {
			r.Templates, r.why.templates = s.set, s.from
		}
		if t, ok := s.set[defaultName]; ok {
			r.Template, r.why.template = t, s.from
			break
		}
	}
	if len(files) > 0 && r.why.templates == templateFile {
		r.why.templates = "files beside it"
	}
	delete(r.Templates, defaultName)
	return nil
}

// templateFiles reads chat_template.jinja and the folders of named templates. The file in the model's own
// folder is the default, whatever they hold.
func templateFiles(dir string) (templates, error) {
	set := templates{}
	for _, folder := range templateFolders {
		files, err := os.ReadDir(filepath.Join(dir, folder))
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			return nil, fmt.Errorf("opening a model: %w", err)
		}
		for _, f := range files {
			name, ok := strings.CutSuffix(f.Name(), ".jinja")
			if !ok || name == "" {
				continue
			}
			if err := set.addFile(name, filepath.Join(dir, folder, f.Name())); err != nil {
				return nil, err
			}
		}
	}
	return set, set.addFile(defaultName, filepath.Join(dir, templateFile))
}

func (t templates) addFile(name, path string) error {
	data, err := readFile(path, maxTemplate)
	if err != nil || data == nil {
		return err
	}
	return t.add(name, string(data))
}

// add adds a template; of those with one name the last one counts.
func (t templates) add(name, source string) error {
	if len(source) > maxTemplate {
		return fmt.Errorf("%w: a chat template of more than %d bytes", ErrMalformed, maxTemplate)
	}
	if len(t) >= maxTemplates {
		return fmt.Errorf("%w: more than %d chat templates", ErrMalformed, maxTemplates)
	}
	t[name] = source
	return nil
}

// folderTokens takes the special tokens.
func (r *reading) folderTokens(c *tokenizerConfig) {
	r.Tokens, r.why.tokens, r.names = c.tokens, c.tokensFrom, c.added
	if eos := c.tokens["eos_token"]; eos != "" {
		r.endTexts = append(r.endTexts, eos)
	}
}

// vocabularyFile is the file in a folder that holds the vocabulary, or empty.
func vocabularyFile(dir string) (string, error) {
	for _, name := range [...]string{vocabFile, ranksFile} {
		err := regular(filepath.Join(dir, name))
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return name, err
		}
	}
	return "", nil
}

// folderVocabulary opens the vocabulary in a file of a folder. One of a kind that is not known is none.
func (r *reading) folderVocabulary(dir, from string, o Options) error {
	switch {
	case o.NoVocab:
		r.why.vocab = notRead
		return nil
	case from == "":
		r.why.vocab = "there is neither " + vocabFile + " nor " + ranksFile
		if regular(filepath.Join(dir, piecesFile)) == nil {
			r.why.vocab += "; " + piecesFile + " alone is not read"
		}
		r.warn("no vocabulary, so no exact counts and no ids: %s", r.why.vocab)
		return nil
	}
	tok, err := load.Model(dir, o.Cache)
	switch {
	case err == nil:
		r.Vocab, r.why.vocab = tok, from
		return nil
	case slices.ContainsFunc([]error{hf.ErrMalformed, tiktoken.ErrMalformed, vocab.ErrVocabulary, fs.ErrPermission}, func(target error) bool { return errors.Is(err, target) }):
		return fmt.Errorf("%w: %s: %w", ErrMalformed, filepath.Join(dir, from), err)
	}
	r.why.vocab = err.Error()
	r.warn("no vocabulary, so no exact counts and no ids: %v", err)
	return nil
}
