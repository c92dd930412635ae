package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirgate/weir/gateway/internal/cli"
)

// run runs one command line with an input.
func run(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, diag bytes.Buffer
	code = cli.Run(t.Context(), cli.Env{Args: args, Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &diag})
	return code, out.String(), diag.String()
}

// write writes files into a folder of their own.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// data is reference data beside the repository; a test without it is skipped.
func data(t *testing.T, name ...string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
	path := filepath.Join(append([]string{filepath.Dir(dir), "shared", "data"}, name...)...)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("SKIPPED: no reference data %s: nothing compared with it", filepath.Join(name...))
	}
	return path
}

func TestRender(t *testing.T) {
	const (
		template = "{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{% if tools is none %}.{% endif %}\n"
		vars     = `{"bos_token": "<s>", "messages": [{"role": "user", "content": "Hi"}]}`
		clock    = "{{ strftime_now('%Y-%m-%d') }}"
	)
	dir := write(t, map[string]string{
		"f.jinja": template, "v.json": vars, "clock.jinja": clock, "raise.jinja": "a\n{{ raise_exception('no <b>') }}", "bad.jinja": "\n{% if %}", "bad.json": "[]",
		"chat_template.jinja": template, "tokenizer_config.json": `{"bos_token": "<model>"}`,
		"parts.jinja": "{% for m in messages %}{% for p in m.content %}{{ p.text }}{% endfor %}{% endfor %}{{ tools[0].name }}",
		"parts.json":  `{"messages": [{"content": [{"text": "a"}, {"text": "b"}], "role": "tool"}], "tools": [{"name": "c"}]}`,
	})
	in := func(name string) string { return filepath.Join(dir, name) }
	tools := write(t, map[string]string{
		"tokenizer_config.json": `{"chat_template": [{"name": "default", "template": "plain"}, {"name": "tool_use", "template": "with tools"}]}`,
	})
	for _, c := range []struct {
		name           string
		stdin          string
		args           []string
		code           int
		stdout, stderr string
	}{
		{"help", "", []string{"render", "--help"}, 0, "Usage: weir render", ""},
		{"no template", "", []string{"render", "--vars", "-"}, 2, "", "want --template or --model"},
		{"no variables", "", []string{"render", "--template", in("f.jinja")}, 2, "", "want --vars"},
		{"two inputs", "", []string{"render", "--template", "-", "--vars", "-"}, 2, "", "cannot both"},
		{"argument", "", []string{"render", "--template", in("f.jinja"), "--vars", "-", "x"}, 2, "", `unexpected argument "x"`},
		{"no such template", vars, []string{"render", "--template", in("none"), "--vars", "-"}, 2, "", "none"},
		{"variables that are no object", "", []string{"render", "--template", in("f.jinja"), "--vars", in("bad.json")}, 2, "", "bad.json"},
		{"a time that is none", vars, []string{"render", "--template", in("f.jinja"), "--vars", "-", "--now", "today"}, 2, "", "--now"},
		{"text", "", []string{"render", "--template", in("f.jinja"), "--vars", in("v.json")}, 0, "=<s><user>Hi.", ""},
		{"variables on standard input", vars, []string{"render", "--template", in("f.jinja"), "--vars", "-"}, 0, "=<s><user>Hi.", ""},
		{"template on standard input", "{{ bos_token }}!", []string{"render", "--template", "-", "--vars", in("v.json")}, 0, "=<s>!", ""},
		{"JSON", vars, []string{"render", "--json", "--template", in("f.jinja"), "--vars", "-"}, 0, `={"text":"<s><user>Hi."}` + "\n", ""},
		{"clock", "{}", []string{"render", "--template", in("clock.jinja"), "--vars", "-", "--now", "2026-08-15T12:34:56Z"}, 0, "=2026-08-15", ""},
		{"raised", "{}", []string{"render", "--template", in("raise.jinja"), "--vars", "-"}, 1, "=", "raise.jinja:2:19: raised: no <b>"},
		{"raised in JSON", "{}", []string{"render", "--json", "--template", in("raise.jinja"), "--vars", "-"}, 1, `{"error":{"column":19,"line":2,"message":"no <b>","raised":true}}`, "raised"},
		{"no template", "{}", []string{"render", "--template", in("bad.jinja"), "--vars", "-"}, 1, "=", "bad.jinja:2:"},
		{
			"origins", vars,
			[]string{"render", "--origins", "--template", in("f.jinja"), "--vars", "-"},
			0,
			`{"start":9,"end":11,"origin":"user","message":0,"part":0,"text":"Hi"}`, "",
		},
		{
			"origins of parts", "",
			[]string{"render", "--origins", "--json", "--template", in("parts.jinja"), "--vars", in("parts.json")},
			0,
			`={"spans":[{"start":0,"end":1,"origin":"tool_result","message":0,"part":0,"text":"a"},{"start":1,"end":2,"origin":"tool_result","message":0,"part":1,"text":"b"},` +
				`{"start":2,"end":3,"origin":"tool_schema","message":0,"part":0,"text":"c"}],"text":"abc"}` + "\n", "",
		},
		{"model", `{"messages": [{"role": "user", "content": "Hi"}]}`, []string{"render", "--model", dir, "--vars", "-"}, 0, "=<model><user>Hi.", ""},
		{"what is given goes before the model's", vars, []string{"render", "--model", dir, "--vars", "-"}, 0, "=<s><user>Hi.", ""},
		{"the model's template for tools", `{"tools": []}`, []string{"render", "--model", tools, "--vars", "-"}, 0, "=with tools", ""},
		{"and without", `{"tools": null}`, []string{"render", "--model", tools, "--vars", "-"}, 0, "=plain", ""},
		{"no model", vars, []string{"render", "--model", in("none"), "--vars", "-"}, 2, "", "none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, stdout, stderr := run(t, c.stdin, c.args...)
			want, exact := strings.CutPrefix(c.stdout, "=")
			if code != c.code || exact && stdout != want || !exact && !strings.Contains(stdout, want) || !strings.Contains(stderr, c.stderr) {
				t.Errorf("code %d, %q, %q; want %d, %q, %q", code, stdout, stderr, c.code, c.stdout, c.stderr)
			}
		})
	}
}

// TestRenderTruth renders every real template with every conversation, and raises where the reference does.
func TestRenderTruth(t *testing.T) {
	templates, err := filepath.Glob(filepath.Join(data(t, "templates", "jinja"), "*.jinja"))
	if err != nil || len(templates) == 0 {
		t.Fatalf("no templates: %v", err)
	}
	equal, raised := 0, 0
	for _, file := range templates {
		name := strings.TrimSuffix(filepath.Base(file), ".jinja")
		doc, err := os.ReadFile(data(t, "templates", "truth", name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var truth map[string]struct {
			OK  bool
			Out string
		}
		if err := json.Unmarshal(doc, &truth); err != nil {
			t.Fatal(err)
		}
		for fixture, want := range truth {
			code, stdout, stderr := run(t, "", "render", "--template", file, "--vars", data(t, "templates", "fixtures", fixture+".json"), "--now", "2026-08-15T12:34:56Z")
			switch {
			case want.OK && (code != 0 || stdout != want.Out):
				t.Errorf("%s with %s: code %d, %s", name, fixture, code, stderr)
			case !want.OK && (code != 1 || stdout != "" || stderr == ""):
				t.Errorf("%s with %s: code %d, want 1; %s", name, fixture, code, stderr)
			case want.OK:
				equal++
			default:
				raised++
			}
		}
	}
	t.Logf("%d renders equal, %d refusals", equal, raised)
}
