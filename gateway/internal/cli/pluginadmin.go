package cli

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	neturl "net/url"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/weirgate/weir/gateway"
)

// adminTimeout bounds a question to a running weir; adminAnswer its answer, in bytes.
const (
	adminTimeout = 10 * time.Second
	adminAnswer  = 8 << 20
)

func pluginList() command {
	return command{
		name: "list", args: "[--admin URL] [--json]", summary: "lists the plugins of a running weir",
		example: "weir plugin list",
		run: func(ctx context.Context, e Env, fs *flag.FlagSet) int {
			admin, asJSON := adminFlags(fs)
			args, code, ok := intermixed(e, fs)
			if !ok {
				return code
			}
			if len(args) > 0 {
				return misuse(e, fs, "unexpected argument %q", args[0])
			}
			return askAdmin(ctx, e, fs, http.MethodGet, *admin, "/plugins", *asJSON)
		},
	}
}

func pluginRollback() command {
	return pluginChange("rollback", "makes the version before the current one serve; a second call takes it back")
}

func pluginRelease() command {
	return pluginChange("release", "ends the quarantine of a plugin")
}

func pluginChange(verb, summary string) command {
	return command{
		name: verb, args: "[--admin URL] [--json] NAME", summary: summary, example: "weir plugin " + verb + " acme",
		run: func(ctx context.Context, e Env, fs *flag.FlagSet) int {
			admin, asJSON := adminFlags(fs)
			args, code, ok := intermixed(e, fs)
			if !ok {
				return code
			}
			if len(args) != 1 {
				return misuse(e, fs, "want the name of one plugin")
			}
			return askAdmin(ctx, e, fs, http.MethodPost, *admin, "/plugins/"+neturl.PathEscape(args[0])+"/"+verb, *asJSON)
		},
	}
}

func adminFlags(fs *flag.FlagSet) (admin *string, asJSON *bool) {
	return fs.String("admin", "http://127.0.0.1:8001", "`URL` of the running weir's admin address"), fs.Bool("json", false, "print the answer as it came")
}

func askAdmin(ctx context.Context, e Env, fs *flag.FlagSet, method, admin, path string, asJSON bool) int {
	list, body, err := callAdmin(ctx, method, strings.TrimRight(admin, "/")+path)
	switch {
	case err != nil:
		fmt.Fprintf(e.Stderr, "%s: %v\n", fs.Name(), err)
		return exitFound
	case list.Error != "":
		fmt.Fprintf(e.Stderr, "%s: %s\n", fs.Name(), list.Error)
		return exitFound
	case asJSON:
		_, _ = e.Stdout.Write(body)
	default:
		writePlugins(e.Stdout, list.Plugins)
	}
	return exitOK
}

func callAdmin(ctx context.Context, method, address string) (list gateway.PluginList, body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, address, http.NoBody)
	if err != nil {
		return list, nil, err
	}
	r.Header.Set(gateway.AdminHeader, "1")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return list, nil, fmt.Errorf("no weir answers: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if body, err = io.ReadAll(io.LimitReader(resp.Body, adminAnswer)); err != nil {
		return list, nil, err
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return list, nil, errors.New("the answer is not that of weir's admin address: status " + resp.Status)
	}
	return list, body, nil
}

// writePlugins writes a table, and under it what is wrong.
func writePlugins(w io.Writer, plugins []gateway.PluginStatus) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(tw, "NAME\tVERSION\tGENERATION\tSTREAMS\tFAULTS\tSTATE\tPREVIOUS\tSHA256\n")
	for _, p := range plugins {
		if p.Name == "" {
			continue
		}
		state := "serving"
		switch {
		case p.Quarantined && p.Serving == "":
			state = "quarantined, none serves"
		case p.Quarantined:
			state = "quarantined, " + p.Serving + " serves"
		case p.Builtin:
			state = "built in"
		}
		previous := p.Previous
		if previous == "" {
			previous = "-"
		}
		fmt.Fprintf(tw, "%s\t%s\t%d\t%d\t%d\t%s\t%s\t%.12s\n", p.Name, p.Version, p.Generation, p.Streams, p.Faults, state, previous, p.SHA256)
	}
	_ = tw.Flush()
	for _, p := range plugins {
		if p.Error != "" {
			fmt.Fprintf(w, "\n%s\n  %s\n", p.Origin, p.Error)
		}
	}
}
