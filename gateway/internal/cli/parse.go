package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/abi/host"
	"github.com/weirgate/weir/gateway/internal/parsecmd"
	"github.com/weirgate/weir/gateway/internal/plughost"
	"github.com/weirgate/weir/gateway/internal/surface/chat"
	"github.com/weirgate/weir/plugins/builtin"
)

func parseCommand() command {
	return command{
		name: "parse", args: "[flags] < raw", summary: "parses raw model output from standard input into canonical events, as JSON lines",
		example: `weir parse --reasoning qwen3 --tools hermes --chunks bytes:1 --result < output.txt`,
		run:     runParse,
	}
}

func runParse(ctx context.Context, e Env, fs *flag.FlagSet) int {
	var o parsecmd.Options
	fs.StringVar(&o.Reasoning, "reasoning", "", "reasoning parser `NAME`")
	fs.StringVar(&o.Tools, "tools", "", "tool parser `NAME`")
	fs.StringVar(&o.PluginFile, "plugin", "", "`FILE.wasm` that parses in place of the two")
	request := fs.String("request", "", "chat completions request `FILE.json`, whose tools, tool_choice and stop count; without it every tool name is accepted")
	fs.StringVar(&o.PromptTail, "prompt-tail", "", "`TEXT` that followed the prompt's last turn marker, such as <think>")
	fs.StringVar(&o.Finish, "finish", "stop", "`REASON` the engine gave for its end: stop, length, tool_calls, stop_sequence, content_filter or abort")
	fs.StringVar(&o.Chunks, "chunks", "all", "how the input is cut: `SPEC` all, bytes:N or random:SEED")
	fs.BoolVar(&o.Result, "result", false, "print the folded turn as one object instead of events")
	fs.BoolVar(&o.EmitUnknown, "emit-unknown", false, "emit calls of tools that the request does not have, instead of giving them back as text")
	fs.Bool("json", true, "changes nothing: the output is JSON")
	if code, ok := parse(e, fs); !ok {
		return code
	}
	if fs.NArg() > 0 {
		fmt.Fprintf(e.Stderr, "weir parse: unexpected argument %q: the raw text comes on standard input\n", fs.Arg(0))
		return exitMisuse
	}
	if *request != "" {
		req, err := readRequest(*request)
		if err != nil {
			fmt.Fprintf(e.Stderr, "weir parse: %s: %v\n", *request, err)
			return exitMisuse
		}
		o.Request = req
	}
	var plugin *plughost.Plugin
	err := parsecmd.Run(ctx, o, func(ctx context.Context, file string, config []byte) (g host.Guest, err error) {
		plugin, g, err = openParser(ctx, file, config)
		return g, err
	}, e.Stdin, e.Stdout)
	if plugin != nil {
		plugin.Retire()
	}
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, parsecmd.ErrUsage):
		fmt.Fprintf(e.Stderr, "weir parse: %v\n", err)
		return exitMisuse
	}
	fmt.Fprintf(e.Stderr, "weir parse: %v\n", err)
	return exitFound
}

func readRequest(file string) (*conv.Request, error) {
	body, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	req, err := chat.Surface{}.Decode(body, http.Header{})
	if err != nil {
		return nil, err
	}
	return req.Request, nil
}

// openParser loads the plugin in file, or the built-in one, and opens it with a configuration. The
// compiled code of the built-in one is kept in the user's cache folder.
func openParser(ctx context.Context, file string, config []byte) (*plughost.Plugin, host.Guest, error) {
	var opt plughost.Options
	if dir, err := os.UserCacheDir(); err == nil {
		opt.CacheDir = dir + string(os.PathSeparator) + "weir"
	}
	h, err := plughost.New(opt)
	if err != nil {
		if h, err = plughost.New(plughost.Options{}); err != nil { // a cache is no reason to fail
			return nil, nil, err
		}
	}
	wasm, origin := builtin.Wasm(), "built in"
	if file != "" {
		if wasm, err = os.ReadFile(file); err != nil {
			return nil, nil, err
		}
		origin = file
	}
	p, err := h.Load(ctx, "", wasm, origin)
	if err != nil {
		return nil, nil, err
	}
	parser, err := p.Parser(config)
	if err != nil {
		p.Retire()
		return nil, nil, err
	}
	s, err := parser.Stream()
	if err != nil {
		p.Retire()
		return nil, nil, err
	}
	return p, s, nil
}
