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
)

// liveLimit is how soon a plugin that was dropped in must serve.
const liveLimit = time.Second

// pluginWords is what the model says; the plugins split it at different places.
var pluginWords = enginetest.Say("alpha|", "beta#", "gamma")

func pluginScenarios() []scenario {
	d := enginetest.NewDouble(enginetest.Script{Chunks: pluginWords})
	g := &group{name: "plugins", open: func(*stage) (string, func()) {
		engine := httptest.NewServer(d)
		return fmt.Sprintf(`
[server]
admin = "ADMIN"
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
	return []scenario{{name: "plugins/drop-in", group: g, limit: 3 * time.Minute, run: func(ctx context.Context, st *stage, srv *server) (string, error) {
		p := &pluginRun{d: d, srv: srv, file: filepath.Join(srv.home, "plugins", "split.wasm")}
		return p.run(ctx, st)
	}}}
}

type pluginRun struct {
	d    *enginetest.Double
	srv  *server
	file string // in the watched folder
}

// build makes a plugin that splits at a separator.
func (st *stage) buildPlugin(ctx context.Context, separator string) (string, error) {
	out := filepath.Join(st.work, "split"+fmt.Sprintf("%x", separator)+".wasm")
	err := goBuild(ctx, []string{"GOOS=wasip1", "GOARCH=wasm"}, out,
		"-buildmode=c-shared", "-trimpath", "-ldflags=-s -w -buildid= -X main.separator="+separator, "./scripts/e2e/plugin")
	return out, err
}

// run drops a plugin in, then garbage, replaces the plugin while a stream runs, and removes it.
func (p *pluginRun) run(ctx context.Context, st *stage) (string, error) {
	bar, err := st.buildPlugin(ctx, "|")
	if err != nil {
		return "", err
	}
	hash, err := st.buildPlugin(ctx, "#")
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(p.file), 0o700); err != nil {
		return "", err
	}
	if _, err := p.ask(ctx); err == nil {
		return "", errors.New("a model whose plugin is missing answers")
	}
	live, err := p.swap(ctx, bar, "alpha", "beta#gamma")
	if err != nil {
		return "", fmt.Errorf("dropped in: %w", err)
	}

	// A bad file changes nothing.
	if err := writeWhole(filepath.Join(filepath.Dir(p.file), "bad.wasm"), []byte("\x00asm\x01\x00\x00\x00garbage")); err != nil {
		return "", err
	}
	gate := make(chan struct{})
	p.d.Play(enginetest.Script{Chunks: pluginWords, Gate: gate})
	old, begun := p.background(ctx)
	gate <- struct{}{}
	select {
	case <-begun:
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	p.d.Play(enginetest.Script{Chunks: pluginWords})
	replaced, err := p.swap(ctx, hash, "alpha|beta", "gamma")
	if err != nil {
		return "", fmt.Errorf("replaced: %w", err)
	}
	close(gate)
	if err := p.finishes(ctx, old); err != nil {
		return "", fmt.Errorf("the stream that began before the change: %w", err)
	}
	if err := os.Remove(p.file); err != nil {
		return "", err
	}
	for {
		if _, err := p.ask(ctx); err != nil && ctx.Err() == nil {
			break
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return "", fmt.Errorf("a removed plugin still serves: %w", err)
		}
	}
	note := fmt.Sprintf("live after %d ms, replaced after %d ms", live.Milliseconds(), replaced.Milliseconds())
	if live > liveLimit || replaced > liveLimit {
		return "", fmt.Errorf("%s, want at most %v", note, liveLimit)
	}
	return note, nil
}

func (p *pluginRun) ask(ctx context.Context) (*chatAnswer, error) {
	events, err := p.srv.stream(ctx, "/v1/chat/completions", chatRequest("split", "Hello", nil))
	if err != nil {
		return nil, err
	}
	return foldChat(events)
}

// swap puts a plugin into the folder and waits until answers are split as it does.
func (p *pluginRun) swap(ctx context.Context, wasm, reasoning, content string) (time.Duration, error) {
	if err := copyFile(wasm, p.file); err != nil {
		return 0, err
	}
	begun := time.Now()
	for {
		a, err := p.ask(ctx)
		if err == nil && a.reasoning == reasoning && a.content == content {
			return time.Since(begun), nil
		}
		if time.Since(begun) > 20*liveLimit {
			if err != nil {
				return 0, err
			}
			return 0, fmt.Errorf("reasoning %q, content %q, want %q, %q", a.reasoning, a.content, reasoning, content)
		}
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return 0, err
		}
	}
}

// background starts a stream and tells when its first words have come.
func (p *pluginRun) background(ctx context.Context) (events chan []sseEvent, begun chan struct{}) {
	events, begun = make(chan []sseEvent, 1), make(chan struct{})
	go func() {
		var got []sseEvent
		seen := false
		// What went wrong shows in the events, which are then not whole.
		_ = p.srv.follow(ctx, "/v1/chat/completions", chatRequest("split", "Hello", nil), func(e sseEvent) error {
			got = append(got, e)
			if !seen && strings.Contains(e.data, "alpha") {
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
func (p *pluginRun) finishes(ctx context.Context, events chan []sseEvent) error {
	select {
	case got := <-events:
		a, err := foldChat(got)
		if err != nil {
			return err
		}
		return errors.Join(expect("reasoning", a.reasoning, "alpha"), expect("content", a.content, "beta#gamma"))
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
