package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/gateway/internal/modelfile"
)

func modelCommand() command {
	return command{
		name: "model", args: "COMMAND [flags]", summary: "says what the files of a model tell, and how it would be served",
		example: "weir model inspect /models/Qwen3-8B",
		run: func(ctx context.Context, e Env, _ *flag.FlagSet) int {
			return runVerb(ctx, e, "model", []command{modelInspect()})
		},
	}
}

// runVerb runs one of the commands behind a command.
func runVerb(ctx context.Context, e Env, group string, verbs []command) int {
	usage := func(w io.Writer) {
		fmt.Fprintf(w, "Usage: weir %s COMMAND [flags]\n\n", group)
		for _, c := range verbs {
			fmt.Fprintf(w, "  %-9s %s\n", c.name, c.summary)
		}
		fmt.Fprintf(w, "\n`weir %s COMMAND --help` explains a command.\n", group)
	}
	if len(e.Args) == 0 {
		usage(e.Stdout)
		return exitMisuse
	}
	switch e.Args[0] {
	case "help", "-h", "-help", "--help":
		usage(e.Stdout)
		return exitOK
	}
	for _, c := range verbs {
		if c.name != e.Args[0] {
			continue
		}
		e.Args = e.Args[1:]
		c.name = group + " " + c.name
		fs := flag.NewFlagSet("weir "+c.name, flag.ContinueOnError)
		fs.SetOutput(e.Stderr)
		fs.Usage = func() { c.help(fs.Output(), fs) }
		return c.run(ctx, e, fs)
	}
	fmt.Fprintf(e.Stderr, "weir %s: unknown command %q\n", group, e.Args[0])
	usage(e.Stderr)
	return exitMisuse
}

func modelInspect() command {
	return command{
		name: "inspect", args: "DIR|FILE.gguf [--json]",
		summary: "prints what was decided for a model and why, and an entry for the configuration; exits with 1 if there are warnings",
		example: "weir model inspect /models/Qwen3-8B",
		run: func(_ context.Context, e Env, fs *flag.FlagSet) int {
			asJSON := fs.Bool("json", false, "print JSON")
			args, code, ok := intermixed(e, fs)
			if !ok {
				return code
			}
			if len(args) != 1 {
				return misuse(e, fs, "want one folder or GGUF file")
			}
			m, err := modelfile.Open(args[0], modelfile.Options{Cache: vocabularyCache()})
			if err != nil {
				return failed(e, fs, err)
			}
			entry := modelEntry(m)
			if *asJSON {
				writeJSON(e.Stdout, modelJSON(m, entry))
			} else {
				writeModel(e.Stdout, m, entry)
			}
			if len(m.Warnings) > 0 {
				return exitFound
			}
			return exitOK
		},
	}
}

// vocabularyCache is the folder for images of vocabularies, or empty.
func vocabularyCache() string {
	dir := compileCache()
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "vocabularies")
}

func writeModel(w io.Writer, m *modelfile.Model, entry string) {
	fmt.Fprintf(w, "%s\n", m.Path)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, d := range m.Decisions {
		text := "- (" + d.Why + ")"
		if d.Value != "" {
			text = d.Value + " (" + d.Why + ")"
		}
		fmt.Fprintf(t, "  %s\t%s\n", d.What, printable(text))
	}
	_ = t.Flush()
	for _, text := range m.Warnings {
		fmt.Fprintf(w, "warning: %s\n", printable(text))
	}
	fmt.Fprintf(w, "\n%s", entry)
}

// printable keeps a text of a model's files on its line and in its column.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '\ufffd'
		}
		return r
	}, s)
}

// modelEntry is a model's entry in a configuration. What was found stands in comments, as the files say it
// too.
func modelEntry(m *modelfile.Model) string {
	path, err := filepath.Abs(m.Path)
	if err != nil {
		path = m.Path
	}
	b := []byte("[[models]]\n")
	key := func(prefix, name, value string) {
		b = append(append(b, prefix...), name+" = "...)
		b = append(jsonscan.AppendString(b, value), '\n')
	}
	key("", "id", modelID(path))
	b = append(b, "engines = [\"NAME\"] # of your [engines]\n"...)
	source := "dir"
	if strings.EqualFold(filepath.Ext(path), ".gguf") {
		source = "gguf"
	}
	key("", source, path)
	const found = "# "
	if m.Family != "" {
		key(found, "policy", m.Family)
	}
	if m.Reasoning != "" {
		key(found, "reasoning", m.Reasoning)
	}
	if m.Tools != "" {
		key(found, "tools", m.Tools)
	}
	if m.Context > 0 {
		b = fmt.Appendf(b, found+"context = %d\n", m.Context)
	}
	return string(b)
}

// modelID makes a name of a model's path. In the cache of the Hugging Face hub the path has it elsewhere.
func modelID(path string) string {
	name := filepath.Base(path)
	if up := filepath.Dir(path); filepath.Base(up) == "snapshots" {
		if repo, ok := strings.CutPrefix(filepath.Base(filepath.Dir(up)), "models--"); ok {
			name = strings.Replace(repo, "--", "/", 1)
		}
	}
	if ext := filepath.Ext(name); strings.EqualFold(ext, ".gguf") {
		name = strings.TrimSuffix(name, ext)
	}
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.:/@+", r) {
			return r
		}
		return '-'
	}, name)
	if name = strings.Trim(name, "./"); name == "" {
		return "model"
	}
	return name[:min(len(name), 128)]
}

// modelJSON is what `weir model inspect --json` prints of a model. Templates are told by their length.
func modelJSON(m *modelfile.Model, entry string) any {
	lengths := map[string]int{}
	for name, t := range m.Templates {
		lengths[name] = len(t)
	}
	sampling := map[string]any{}
	for name, v := range map[string]*float64{
		"temperature": m.Sampling.Temperature, "top_p": m.Sampling.TopP, "min_p": m.Sampling.MinP, "repetition_penalty": m.Sampling.RepetitionPenalty,
	} {
		if v != nil {
			sampling[name] = *v
		}
	}
	if m.Sampling.TopK != nil {
		sampling["top_k"] = *m.Sampling.TopK
	}
	size := 0
	if m.Vocab != nil {
		size = m.Vocab.Size()
	}
	return map[string]any{
		"path": m.Path, "template_bytes": len(m.Template), "templates_bytes": lengths, "tokens": m.Tokens, "vocabulary": size,
		"stops": orEmptyList(m.Stops), "stop_ids": orEmptyList(m.StopIDs), "context": m.Context, "sampling": sampling,
		"family": m.Family, "reasoning": m.Reasoning, "tools": m.Tools,
		"decisions": m.Decisions, "warnings": orEmptyList(m.Warnings), "entry": entry,
	}
}

func orEmptyList[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// writeJSON prints v as one line of JSON, with the angle brackets of markers as they are.
func writeJSON(w io.Writer, v any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		b.Reset()
		b.WriteString("{\"error\":\"not encodable\"}\n")
	}
	_, _ = w.Write(b.Bytes())
}
