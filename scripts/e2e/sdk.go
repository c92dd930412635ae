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
	switch needs {
	case needPython:
		return st.python.python, st.python.scripts, []string{"PYTHONDONTWRITEBYTECODE=1", "PYTHONUTF8=1"}
	case needSDK:
		return st.node.node, st.sdk, nil
	}
	return st.node.node, st.node.scripts, nil
}

// installSDK installs the SDKs that have a folder of their own: Vercel's AI SDK, and OpenAI's with what its socket needs.
func (st *stage) installSDK(ctx context.Context) error {
	dir, err := st.npm(ctx, "sdk")
	if err != nil {
		return err
	}
	st.sdk, err = st.modules("sdk", "*.mjs", dir)
	return err
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

// responsesScenarios are OpenAI's clients on responses.
func responsesScenarios(g *group) []scenario {
	var all []scenario
	for _, name := range []string{"create", "stream", "tools", "tools-stateless", "kept", "cancel", "compact", "count", "socket", "errors"} {
		all = append(all, program(g, "node-responses", "responses.mjs", name, needSDK))
	}
	for _, name := range []string{"create", "stream", "tools", "tools-stateless", "kept", "cancel", "compact", "count", "socket", "errors"} {
		all = append(all, program(g, "python-responses", "responses_sdk.py", name, needPython))
	}
	return all
}

// aiScenarios are Vercel's AI SDK with each of its providers that speak a protocol of weir's.
func aiScenarios(g *group) []scenario {
	var all []scenario
	for _, provider := range []string{"chat", "compatible", "anthropic", "responses", "open-responses"} {
		for _, name := range []string{"text", "stream", "tool-loop", "object", "errors"} {
			all = append(all, program(g, "ai-sdk", "ai.mjs", provider+"/"+name, needSDK))
		}
	}
	return all
}
