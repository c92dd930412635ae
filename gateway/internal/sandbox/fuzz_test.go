package sandbox_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/weirgate/weir/gateway/internal/sandbox"
)

// strip leaves out the custom sections of a module that was accepted, which the engine must not see.
func strip(wasm []byte) []byte {
	out := bytes.Clone(wasm[:8])
	for at := 8; at < len(wasm); {
		size, n := binary.Uvarint(wasm[at+1:])
		end := at + 1 + n + int(size)
		if wasm[at] != 0 {
			out = append(out, wasm[at:end]...)
		}
		at = end
	}
	return out
}

// FuzzPrepare feeds mutated modules. What passes must pass the engine's compiler with its meters just as
// it does without, be the same when made again, and not pass twice.
func FuzzPrepare(f *testing.F) {
	f.Add(good().Bytes())
	for _, c := range hostile() {
		if len(c.wasm) < 4096 {
			f.Add(c.wasm)
		}
	}
	for _, c := range hostileGuests() {
		f.Add(c.wasm)
	}
	for seed := range uint64(8) {
		f.Add(generate(seed, false))
	}
	// Small bodies, so that what the engine compiles stays small.
	l := sandbox.DefaultLimits()
	l.Body, l.Functions, l.Branches, l.Locals, l.Params, l.MemoryPages = 8<<10, 100, 500, 500, 50, 16
	ctx := context.Background()
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithMemoryLimitPages(16))
	f.Cleanup(func() { rt.Close(ctx) })
	f.Fuzz(func(t *testing.T, b []byte) {
		out, _, err := sandbox.Prepare(b, l)
		if err != nil {
			if !errors.Is(err, sandbox.ErrModule) {
				t.Fatalf("not an ErrModule: %v", err)
			}
			return
		}
		if len(out) > 64*len(b)+1<<10 {
			t.Fatalf("%d bytes became %d", len(b), len(out))
		}
		if again, _, err := sandbox.Prepare(b, l); err != nil || !bytes.Equal(again, out) {
			t.Fatalf("made again: %v, or other bytes", err)
		}
		if _, _, err := sandbox.Prepare(out, l); err == nil {
			t.Fatal("a module with meters got more of them")
		}
		before, errBefore := rt.CompileModule(ctx, strip(b))
		after, errAfter := rt.CompileModule(ctx, out)
		if errBefore == nil {
			before.Close(ctx)
		}
		if errAfter == nil {
			after.Close(ctx)
		}
		if errBefore == nil && errAfter != nil {
			t.Fatalf("the engine refuses the prepared module: %v", errAfter)
		}
		if errBefore != nil && errAfter == nil {
			t.Logf("the engine takes only the prepared module: %v", errBefore)
		}
	})
}
