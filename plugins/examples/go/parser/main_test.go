package main

import (
	"strings"
	"testing"

	"github.com/weirgate/weir/abi/guest"
	"github.com/weirgate/weir/abi/guesttest"
	"github.com/weirgate/weir/abi/host"
)

// open runs the parser in this process, as the gateway runs it in a sandbox.
func open(tb testing.TB) host.Guest {
	tb.Helper()
	g, err := guesttest.Native(&parser{}, []byte(`{"reasoning": "bracket", "tools": "bracket"}`))
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

// TestLaws holds the parser to the laws of the ABI, with what these inputs must give.
func TestLaws(t *testing.T) {
	tools := guest.Start{Tools: true}
	var cases []guesttest.Case
	for _, c := range []struct {
		name  string
		start guest.Start
		input string
		want  []string
	}{
		{"text", tools, "plain < text [ with > signs ]", []string{`text "plain < text [ with > signs ]"`}},
		{"reasoning", tools, "a<<b>>c", []string{`text "a"`, `reasoning "b"`, `block_end`, `text "c"`}},
		{"two in a row", tools, "<<b>><<c", []string{`reasoning "b"`, `block_end`, `reasoning "c"`}},
		{"opened by the prompt", guest.Start{Tail: []byte("<<>> <<")}, "b>>c", []string{`reasoning "b"`, `block_end`, `text "c"`}},
		{"call", tools, `ok[call:f {"a":"}]\""}].`, []string{`text "ok"`, `call "f"`, `args "{\"a\":\"}]\\\"\"}"`, `end`, `text "."`}},
		{"call in reasoning", tools, `<<[call:f {}]>>`, []string{`reasoning "[call:f {}]"`, `block_end`}},
		{"cut call", tools, `[call:f {"a":[1`, []string{`call "f"`, `args "{\"a\":[1"`, `end/truncated`}},
		{"not closed", tools, `[call:f {} x`, []string{`call "f"`, `args "{}"`, `end`, `text " x"`}},
		{"cut header", tools, `[call:f `, []string{`text "[call:f "`}},
		{"no name", tools, `[call: {}]`, []string{`text "[call: {}]"`}},
		{"longest name", tools, `[call:` + strings.Repeat("n", maxName) + ` {}]`, []string{`call "` + strings.Repeat("n", maxName) + `"`, `args "{}"`, `end`}},
		{"name too long", tools, `[call:` + strings.Repeat("n", maxName+1) + ` {}]`, []string{`text "[call:` + strings.Repeat("n", maxName+1) + ` {}]"`}},
		{"opener again", tools, `[call:[call:f {}]`, []string{`text "[call:"`, `call "f"`, `args "{}"`, `end`}},
		{"without tools", guest.Start{}, `[call:f {}]`, []string{`text "[call:f {}]"`}},
	} {
		cases = append(cases, guesttest.Case{Name: c.name, Start: c.start, Input: c.input, Want: strings.Join(c.want, "\n")})
	}
	cases = append(cases, guesttest.Case{
		Name: "refused name", Start: tools, Accept: []string{"f"}, Input: `[call:g {}][call:f {}]`,
		Want: "text \"[call:g {}]\"\ncall \"f\"\nargs \"{}\"\nend",
	})
	guesttest.Run(t, open, cases)
}

// TestLinear holds the parser to a bound on what it keeps of a long stream.
func TestLinear(t *testing.T) {
	guesttest.Linear(t, open, func(n int) guesttest.Case {
		return guesttest.Case{Start: guest.Start{Tools: true}, Input: `<<[>>[call:f {"a":"` + strings.Repeat("[<\\\"", n/4) + `"}]`}
	})
}
