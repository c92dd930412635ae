package main

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/weirgate/weir/scripts/e2e/internal/harness"
)

// environment is what client programs are told of a server.
func environment(srv *harness.Server) []string {
	return []string{"WEIR_URL=" + srv.URL, "WEIR_MODEL=" + srv.Model}
}

// program is a scenario that runs a client program.
func program(g *group, prefix, file, argument string, needs need) scenario {
	return scenario{name: prefix + "/" + argument, group: g, needs: needs, run: func(ctx context.Context, st *stage, srv *harness.Server) (string, error) {
		home, err := st.folder("homes", prefix, argument)
		if err != nil {
			return "", err
		}
		command, dir, env := st.interpreter(needs)
		out, err := harness.Execute(ctx, home, harness.CleanEnv(home, append(env, environment(srv)...)...), command, filepath.Join(dir, file), argument)
		if err != nil {
			return "", err
		}
		note := strings.TrimSpace(out.Stdout)
		if note == "ok" {
			note = ""
		}
		return note, nil
	}}
}

// interpreter is what runs client programs of a kind, where they lie, and what it wants to know.
func (st *stage) interpreter(needs need) (command, dir string, env []string) {
	if needs == needPython {
		return st.python.python, st.python.scripts, []string{"PYTHONDONTWRITEBYTECODE=1", "PYTHONUTF8=1"}
	}
	return st.node.node, st.node.scripts, nil
}

func nodeScenarios(g *group) []scenario {
	var all []scenario
	for _, name := range []string{"stream", "two-calls", "run-tools", "models", "errors"} {
		all = append(all, program(g, "node-openai", "openai.mjs", name, needNode))
	}
	for _, name := range []string{"stream", "tool-loop", "tool-runner", "count", "models", "errors"} {
		all = append(all, program(g, "node-anthropic", "anthropic.mjs", name, needNode))
	}
	for _, name := range []string{"chat", "messages"} {
		all = append(all, program(g, "node-socket", "socket.mjs", name, needNode))
	}
	return all
}

func pythonScenarios(g *group) []scenario {
	var all []scenario
	for _, name := range []string{"stream", "tool-loop", "models", "errors"} {
		all = append(all, program(g, "python-openai", "openai_sdk.py", name, needPython))
	}
	for _, name := range []string{"stream", "tool-loop", "tool-runner", "count", "models", "errors"} {
		all = append(all, program(g, "python-anthropic", "anthropic_sdk.py", name, needPython))
	}
	return all
}
