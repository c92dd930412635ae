package main

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/weirgate/weir/engines/enginetest"
	"github.com/weirgate/weir/scripts/e2e/internal/harness"
)

// liveTarget is how soon a plugin that was dropped in serves where the machine does nothing else; the
// quickest of several swaps is held against it. liveLimit is when it has failed, busy or not.
const (
	liveTarget = time.Second
	liveLimit  = 8 * time.Second
)

// pluginWords is what the model says; the plugins split it at different places.
func pluginWords() []enginetest.Chunk { return enginetest.Say("alpha|", "beta#", "gamma~", "delta") }

func pluginScenarios() []scenario {
	d := enginetest.NewDouble(enginetest.Script{Chunks: pluginWords()})
	g := &group{name: "plugins", errors: "plugin refused", open: func(*stage) (string, func()) {
		engine := httptest.NewServer(d)
		return fmt.Sprintf(`
[server]
shutdown_grace = "5s"
[plugins]
dir = "plugins"
[engines.scripted]
kind = "openai"
url = "%s/v1"
[[models]]
id = "split"
engines = ["scripted"]
family = "qwen3"
parser = "split"
thinking = "off"
`, engine.URL), func() { engine.CloseClientConnections(); engine.Close() }
	}}
	return []scenario{{name: "plugins/drop-in", group: g, limit: 3 * time.Minute, run: func(ctx context.Context, st *stage, srv *harness.Server) (string, error) {
		p := &pluginRun{d: d, srv: srv, file: filepath.Join(srv.Home, "plugins", "split.wasm")}
		return p.run(ctx, st)
	}}}
}

type pluginRun struct {
	d    *enginetest.Double
	srv  *harness.Server
	file string // in the watched folder
}

// build makes a plugin that splits at a separator.
func (st *stage) buildPlugin(ctx context.Context, separator string) (string, error) {
	out := filepath.Join(st.work, "split"+fmt.Sprintf("%x", separator)+".wasm")
	err := harness.Build(ctx, []string{"GOOS=wasip1", "GOARCH=wasm"}, out,
		"-buildmode=c-shared", "-trimpath", "-ldflags=-s -w -buildid= -X main.separator="+separator, "./scripts/e2e/plugin")
	return out, err
}

// run drops a plugin in, then garbage, replaces the plugin while a stream runs, and removes it.
func (p *pluginRun) run(ctx context.Context, st *stage) (string, error) {
	var builds []string
	for _, separator := range []string{"|", "#", "~"} {
		wasm, err := st.buildPlugin(ctx, separator)
		if err != nil {
			return "", err
		}
		builds = append(builds, wasm)
	}
	if err := os.MkdirAll(filepath.Dir(p.file), 0o700); err != nil {
		return "", err
	}
	if _, err := p.ask(ctx); err == nil {
		return "", errors.New("a model whose plugin is missing answers")
	}
	dropped, err := p.swap(ctx, builds[0], "alpha", "beta#gamma~delta")
	if err != nil {
		return "", fmt.Errorf("dropped in: %w", err)
	}
	if err := p.refuse(ctx); err != nil {
		return "", fmt.Errorf("a bad file: %w", err)
	}
	replaced, err := p.replace(ctx, builds[1])
	if err != nil {
		return "", err
	}
	again, err := p.swap(ctx, builds[2], "alpha|beta#gamma", "delta")
	if err != nil {
		return "", fmt.Errorf("replaced once more: %w", err)
	}
	if err := p.remove(ctx); err != nil {
		return "", fmt.Errorf("removed: %w", err)
	}
	note := fmt.Sprintf("live after %d ms, replaced after %d and %d ms", dropped.Milliseconds(), replaced.Milliseconds(), again.Milliseconds())
	if min(dropped, replaced, again) > liveTarget {
		note += fmt.Sprintf("; SLOW, %v is the target: is the machine busy?", liveTarget)
	}
	return note, nil
}

// refuse puts a file that is no plugin beside the good one: it is refused, and changes nothing.
func (p *pluginRun) refuse(ctx context.Context) error {
	if err := harness.WriteWhole(filepath.Join(filepath.Dir(p.file), "bad.wasm"), []byte("\x00asm\x01\x00\x00\x00garbage")); err != nil {
		return err
	}
	for !strings.Contains(p.srv.Log(), "bad.wasm") {
		if err := harness.Pause(ctx, 20*time.Millisecond); err != nil {
			return fmt.Errorf("the log does not speak of it: %w", err)
		}
	}
	a, err := p.ask(ctx)
	if err != nil {
		return err
	}
	return harness.Expect("reasoning", a.Reasoning, "alpha")
}

// replace changes the plugin while a stream runs, which ends as it began.
func (p *pluginRun) replace(ctx context.Context, wasm string) (time.Duration, error) {
	gate := make(chan struct{})
	p.d.Play(enginetest.Script{Chunks: pluginWords(), Gate: gate})
	old, begun := p.background(ctx)
	for _, step := range []func() bool{
		func() bool { return send(ctx, gate) },
		func() bool { return receive(ctx, begun) },
	} {
		if !step() {
			return 0, context.Cause(ctx)
		}
	}
	p.d.Play(enginetest.Script{Chunks: pluginWords()})
	took, err := p.swap(ctx, wasm, "alpha|beta", "gamma~delta")
	close(gate)
	if err != nil {
		return 0, fmt.Errorf("replaced: %w", err)
	}
	if err := p.finishes(ctx, old); err != nil {
		return 0, fmt.Errorf("the stream that began before the change: %w", err)
	}
	return took, nil
}

func send(ctx context.Context, c chan<- struct{}) bool {
	select {
	case c <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func receive(ctx context.Context, c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	case <-ctx.Done():
		return false
	}
}

// remove deletes the plugin and waits until its model is refused.
func (p *pluginRun) remove(ctx context.Context) error {
	if err := os.Remove(p.file); err != nil {
		return err
	}
	for {
		if _, err := p.ask(ctx); err != nil {
			return ctx.Err()
		}
		if err := harness.Pause(ctx, 20*time.Millisecond); err != nil {
			return fmt.Errorf("it still serves: %w", err)
		}
	}
}

func (p *pluginRun) ask(ctx context.Context) (*harness.ChatAnswer, error) {
	events, err := p.srv.Stream(ctx, "/v1/chat/completions", harness.ChatRequest("split", "Hello", nil))
	if err != nil {
		return nil, err
	}
	return harness.FoldChat(events)
}

// swap puts a plugin into the folder and waits until answers are split as it does.
func (p *pluginRun) swap(ctx context.Context, wasm, reasoning, content string) (time.Duration, error) {
	if err := harness.CopyFile(wasm, p.file); err != nil {
		return 0, err
	}
	begun := time.Now()
	for {
		a, err := p.ask(ctx)
		if err == nil && a.Reasoning == reasoning && a.Content == content {
			return time.Since(begun), nil
		}
		if time.Since(begun) > liveLimit {
			if err == nil {
				err = fmt.Errorf("reasoning %q, content %q, want %q, %q", a.Reasoning, a.Content, reasoning, content)
			}
			return 0, fmt.Errorf("not after %v: %w", liveLimit, err)
		}
		if err := harness.Pause(ctx, 25*time.Millisecond); err != nil {
			return 0, err
		}
	}
}

// background starts a stream and tells when its first words have come.
func (p *pluginRun) background(ctx context.Context) (events chan []harness.Event, begun chan struct{}) {
	events, begun = make(chan []harness.Event, 1), make(chan struct{})
	go func() {
		var got []harness.Event
		seen := false
		// What went wrong shows in the events, which are then not whole.
		_ = p.srv.Follow(ctx, "/v1/chat/completions", harness.ChatRequest("split", "Hello", nil), func(e harness.Event) error {
			got = append(got, e)
			if !seen && strings.Contains(e.Data, "alpha") {
				seen = true
				close(begun)
			}
			return nil
		})
		events <- got
	}()
	return events, begun
}

// finishes wants the stream to end on the version with which it began.
func (p *pluginRun) finishes(ctx context.Context, events chan []harness.Event) error {
	select {
	case got := <-events:
		a, err := harness.FoldChat(got)
		if err != nil {
			return err
		}
		return errors.Join(harness.Expect("reasoning", a.Reasoning, "alpha"), harness.Expect("content", a.Content, "beta#gamma~delta"))
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
