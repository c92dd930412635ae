package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/weirgate/weir/gateway"
	"github.com/weirgate/weir/gateway/internal/telemetry"
)

func serveCommand() command {
	return command{
		name: "serve", args: "[--config FILE] [--listen ADDR] [--admin ADDR]", summary: "runs the gateway until SIGINT or SIGTERM; SIGHUP reads the configuration again",
		example: "weir serve --config weir.toml --listen 127.0.0.1:8000",
		run:     serve,
	}
}

func serve(ctx context.Context, e Env, fs *flag.FlagSet) int {
	var opt gateway.Options
	fs.StringVar(&opt.ConfigFile, "config", "", "configuration `FILE`; without it the embedded default holds")
	fs.StringVar(&opt.Listen, "listen", "", "`ADDR` of the surfaces, instead of server.listen; port 0 takes a free one")
	fs.StringVar(&opt.Admin, "admin", "", "`ADDR` of metrics and health, instead of server.admin; off for none")
	asJSON := fs.Bool("json", false, "print the addresses as JSON")
	if code, ok := parse(e, fs); !ok {
		return code
	}
	if fs.NArg() > 0 {
		fmt.Fprintf(e.Stderr, "weir serve: unexpected argument %q\n", fs.Arg(0))
		return exitMisuse
	}
	// A line a turn costs as much as a write to the client; waiting lines leave together.
	log := telemetry.NewBuffered(e.Stderr)
	defer func() { _ = log.Close() }() // stderr is gone with whoever reads it
	opt.LogOutput = log
	opt.Version, _ = buildVersion()
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	defer relaxCollector(ctx)()
	g, err := gateway.New(ctx, opt)
	if err != nil {
		fmt.Fprintf(e.Stderr, "weir serve: %v\n", err)
		if errors.Is(err, os.ErrNotExist) {
			return exitMisuse
		}
		return exitFound
	}
	defer g.Close()
	unhook := reloadOnHangup(ctx, g)
	defer unhook()
	err = g.Run(ctx, func(addr, admin string) {
		if *asJSON {
			printJSON(e.Stdout, map[string]string{"listen": "http://" + addr, "admin": url(admin)})
			return
		}
		fmt.Fprintf(e.Stdout, "listening on http://%s\n", addr)
		if admin != "" {
			fmt.Fprintf(e.Stdout, "metrics and health on http://%s\n", admin)
		}
	})
	if err != nil {
		fmt.Fprintf(e.Stderr, "weir serve: %v\n", err)
		return exitFound
	}
	return exitOK
}

// url is an address as a URL; an empty one stays empty.
func url(addr string) string {
	if addr == "" {
		return ""
	}
	return "http://" + addr
}

// reloadOnHangup reads the configuration again on SIGHUP until the returned function is called.
func reloadOnHangup(ctx context.Context, g *gateway.Gateway) (stop func()) {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ctx.Done():
				return
			case <-hangup:
				_ = g.Reload() // it has logged and counted what was wrong
			}
		}
	}()
	return func() {
		signal.Stop(hangup)
		cancel()
		<-done
	}
}
