package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/weirgate/weir/gateway/internal/kit"
	"github.com/weirgate/weir/plugins/builtin"
	"github.com/weirgate/weir/plugins/parser/parsertest"
)

func pluginCommand() command {
	return command{
		name: "plugin", args: "COMMAND [flags]", summary: "writes, builds, inspects, checks and measures plugins",
		example: "weir plugin new --lang go acme && weir plugin build acme && weir plugin check acme/acme.wasm",
		run:     runPlugin,
	}
}

// pluginCommands are the verbs behind `weir plugin`.
func pluginCommands() []command {
	return []command{pluginNew(), pluginBuild(), pluginInspect(), pluginCheck(), pluginBench(), pluginList(), pluginRollback(), pluginRelease()}
}

func runPlugin(ctx context.Context, e Env, _ *flag.FlagSet) int {
	verb := ""
	if len(e.Args) > 0 {
		verb = e.Args[0]
	}
	switch verb {
	case "", "help", "-h", "-help", "--help":
		pluginUsage(e.Stdout)
		if verb == "" {
			return exitMisuse
		}
		return exitOK
	}
	for _, c := range pluginCommands() {
		if c.name != verb {
			continue
		}
		e.Args = e.Args[1:]
		c.name = "plugin " + c.name
		fs := flag.NewFlagSet("weir "+c.name, flag.ContinueOnError)
		fs.SetOutput(e.Stderr)
		fs.Usage = func() { c.help(fs.Output(), fs) }
		return c.run(ctx, e, fs)
	}
	fmt.Fprintf(e.Stderr, "weir plugin: unknown command %q\n", verb)
	pluginUsage(e.Stderr)
	return exitMisuse
}

func pluginUsage(w io.Writer) {
	fmt.Fprint(w, "Usage: weir plugin COMMAND [flags]\n\n")
	for _, c := range pluginCommands() {
		fmt.Fprintf(w, "  %-9s %s\n", c.name, c.summary)
	}
	fmt.Fprint(w, "\n`weir plugin COMMAND --help` explains a command.\n")
}

// intermixed reads flags that stand before, between and behind the other arguments, which it returns.
func intermixed(e Env, fs *flag.FlagSet) (args []string, code int, ok bool) {
	for {
		if code, ok := parse(e, fs); !ok {
			return nil, code, false
		}
		rest := fs.Args()
		if len(rest) == 0 {
			return args, exitOK, true
		}
		if used := len(e.Args) - len(rest); used > 0 && e.Args[used-1] == "--" {
			return append(args, rest...), exitOK, true
		}
		args, e.Args = append(args, rest[0]), rest[1:]
	}
}

// misuse tells of wrong arguments.
func misuse(e Env, fs *flag.FlagSet, format string, args ...any) int {
	fmt.Fprintf(e.Stderr, fs.Name()+": "+format+"\n", args...)
	return exitMisuse
}

// failed tells of an error and chooses the exit code.
func failed(e Env, fs *flag.FlagSet, err error) int {
	fmt.Fprintf(e.Stderr, "%s: %v\n", fs.Name(), err)
	if errors.Is(err, kit.ErrUsage) || errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrExist) {
		return exitMisuse
	}
	return exitFound
}

func pluginNew() command {
	return command{
		name: "new", args: "--lang LANG [--kind KIND] NAME [DIR]", summary: "writes a small project that builds at once",
		example: "weir plugin new --lang rust --kind parser acme",
		run: func(_ context.Context, e Env, fs *flag.FlagSet) int {
			var p kit.Project
			fs.StringVar(&p.Lang, "lang", "go", "`LANG`uage: "+strings.Join(kit.Languages(), ", "))
			fs.StringVar(&p.Kind, "kind", "parser", "`KIND` of plugin: parser or template")
			args, code, ok := intermixed(e, fs)
			if !ok {
				return code
			}
			if len(args) < 1 || len(args) > 2 {
				return misuse(e, fs, "want a name, and at most a folder")
			}
			p.Name, p.Dir = args[0], args[0]
			if len(args) == 2 {
				p.Dir = args[1]
			}
			files, err := kit.New(p)
			if err != nil {
				return failed(e, fs, err)
			}
			for _, f := range files {
				fmt.Fprintln(e.Stdout, filepath.Join(p.Dir, f))
			}
			fmt.Fprintln(e.Stdout)
			if command := kit.Before(p.Dir); command != "" {
				fmt.Fprintf(e.Stdout, "first, in %s: %s\n", p.Dir, command)
			}
			fmt.Fprintf(e.Stdout, "next: weir plugin build %s\n", p.Dir)
			return exitOK
		},
	}
}

func pluginBuild() command {
	return command{
		name: "build", args: "[flags] [DIR]", summary: "builds a project into NAME.wasm with the tool of its language",
		example: "weir plugin build acme",
		run: func(ctx context.Context, e Env, fs *flag.FlagSet) int {
			o := kit.BuildOptions{Dir: ".", Log: e.Stderr}
			fs.StringVar(&o.Lang, "lang", "", "`LANG`uage, where the files do not tell it: "+strings.Join(kit.Languages(), ", "))
			fs.StringVar(&o.Out, "o", "", "`FILE` to write instead of NAME.wasm in the project")
			args, code, ok := intermixed(e, fs)
			if !ok {
				return code
			}
			if len(args) > 1 {
				return misuse(e, fs, "want one folder")
			}
			if len(args) == 1 {
				o.Dir = args[0]
			}
			file, err := kit.Build(ctx, o)
			if err != nil {
				return failed(e, fs, err)
			}
			size := int64(0)
			if st, err := os.Stat(file); err == nil {
				size = st.Size()
			}
			fmt.Fprintf(e.Stdout, "%s (%d bytes)\nnext: weir plugin check %s\n", file, size, file)
			return exitOK
		},
	}
}

// maxModule bounds the file that is read: more than the sandbox takes, so that it can say so.
const maxModule = 64 << 20

// readModule is the one file of a command, or the built-in plugin.
func readModule(args []string, own bool) (file string, wasm []byte, err error) {
	if own {
		if len(args) > 0 {
			return "", nil, fmt.Errorf("%w: --builtin takes no file", kit.ErrUsage)
		}
		return "built in", builtin.Wasm(), nil
	}
	if len(args) != 1 {
		return "", nil, fmt.Errorf("%w: want one file, such as acme.wasm", kit.ErrUsage)
	}
	st, err := os.Stat(args[0])
	if err == nil && st.Size() > maxModule {
		err = fmt.Errorf("%s has %d bytes, at most %d", args[0], st.Size(), maxModule)
	}
	if err != nil {
		return "", nil, err
	}
	wasm, err = os.ReadFile(args[0])
	return args[0], wasm, err
}

// compileCache is where compiled code is kept, or empty.
func compileCache() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	dir = filepath.Join(dir, "weir")
	if os.MkdirAll(dir, 0o700) != nil {
		return ""
	}
	if st, err := os.Stat(dir); err != nil || st.Mode().Perm()&0o077 != 0 {
		return ""
	}
	return dir
}

func pluginInspect() command {
	return command{
		name: "inspect", args: "FILE.wasm [flags]", summary: "tells what is in a module and what the sandbox has against it",
		example: "weir plugin inspect acme.wasm",
		run: func(ctx context.Context, e Env, fs *flag.FlagSet) int {
			asJSON := fs.Bool("json", false, "print JSON")
			own := fs.Bool("builtin", false, "the built-in plugin, instead of a file")
			args, code, ok := intermixed(e, fs)
			if !ok {
				return code
			}
			file, wasm, err := readModule(args, *own)
			if err != nil {
				return failed(e, fs, err)
			}
			in := kit.Inspect(ctx, file, wasm)
			if *asJSON {
				printJSON(e.Stdout, in)
			} else if err := in.Write(e.Stdout); err != nil {
				return failed(e, fs, err)
			}
			if len(in.Refused) > 0 {
				return exitFound
			}
			return exitOK
		},
	}
}

// fileList is a flag that may be given more than once.
type fileList []string

func (f *fileList) String() string { return "" }

// Set adds a file. It is read later, so that one that is not there is no fault of the command line.
func (f *fileList) Set(file string) error {
	*f = append(*f, file)
	return nil
}

// samples reads files with output of a model.
func (f *fileList) samples() ([]kit.Sample, error) {
	var out []kit.Sample
	for _, file := range *f {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		out = append(out, kit.Sample{Name: filepath.Base(file), Text: string(b)})
	}
	return out, nil
}

func pluginCheck() command {
	return command{
		name: "check", args: "FILE.wasm [flags]", summary: "holds a plugin to the ABI and to every law of parsing; exit code 1 if it breaks one",
		example: `weir plugin check acme.wasm --corpus answer1.txt --corpus answer2.txt`,
		run: func(ctx context.Context, e Env, fs *flag.FlagSet) int {
			var o kit.CheckOptions
			var own fileList
			fs.StringVar(&o.Config, "config", "", "the one configuration to check, as `JSON`; without it all that the manifest allows")
			fs.Var(&own, "corpus", "`FILE` with raw output of a model, to check a parser with beside the built-in corpus; may be repeated")
			asJSON := fs.Bool("json", false, "print JSON")
			known := fs.Bool("builtin", false, "the built-in plugin with its own corpus, instead of a file")
			args, code, ok := intermixed(e, fs)
			if !ok {
				return code
			}
			file, wasm, err := readModule(args, *known)
			if err != nil {
				return failed(e, fs, err)
			}
			if o.Samples, err = own.samples(); err != nil {
				return failed(e, fs, err)
			}
			o.File, o.CacheDir = file, compileCache()
			if *known && o.Config == "" {
				for _, f := range parsertest.Families() {
					o.Families = append(o.Families, kit.Family{Name: f.Name, Config: f.Config, Cases: f.Cases})
				}
			}
			r, err := kit.Check(ctx, wasm, o)
			if err != nil {
				return failed(e, fs, err)
			}
			if *asJSON {
				printJSON(e.Stdout, r)
			} else if err := r.Write(e.Stdout); err != nil {
				return failed(e, fs, err)
			}
			if !r.OK {
				return exitFound
			}
			return exitOK
		},
	}
}

func pluginBench() command {
	return command{
		name: "bench", args: "FILE.wasm [flags]", summary: "measures what a parser costs, in about five seconds",
		example: "weir plugin bench acme.wasm --streams 10000",
		run: func(ctx context.Context, e Env, fs *flag.FlagSet) int {
			var o kit.BenchOptions
			fs.StringVar(&o.Config, "config", "", "configuration, as `JSON`; without it the manifest's last formats")
			sample := fs.String("file", "", "`FILE` with raw output of a model to feed, over and over")
			fs.IntVar(&o.Streams, "streams", 10_000, "`N` streams that take turns")
			asJSON := fs.Bool("json", false, "print JSON")
			own := fs.Bool("builtin", false, "the built-in plugin, instead of a file")
			args, code, ok := intermixed(e, fs)
			if !ok {
				return code
			}
			if o.Streams < 1 || o.Streams > 1_000_000 {
				return misuse(e, fs, "--streams %d, want 1 to 1000000", o.Streams)
			}
			file, wasm, err := readModule(args, *own)
			if err != nil {
				return failed(e, fs, err)
			}
			if *sample != "" {
				b, err := os.ReadFile(*sample)
				if err != nil {
					return failed(e, fs, err)
				}
				o.Sample = string(b)
			}
			o.File, o.CacheDir = file, compileCache()
			b, err := kit.Measure(ctx, wasm, o)
			if err != nil {
				return failed(e, fs, err)
			}
			if *asJSON {
				printJSON(e.Stdout, b)
			} else if err := b.Write(e.Stdout); err != nil {
				return failed(e, fs, err)
			}
			return exitOK
		},
	}
}
