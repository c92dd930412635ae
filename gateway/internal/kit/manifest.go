package kit

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/gateway/internal/plughost"
)

// embedded finds the manifest in the bytes of a module: the first JSON object with the members that each manifest
// has, or nothing. It may be at rest there in another form, or be made when the module runs.
func embedded(wasm []byte) []byte {
	const places, openers = 16, 32 // that are tried
	rest := wasm
	for range places {
		i := bytes.Index(rest, []byte(`"kinds"`))
		if i < 0 {
			return nil
		}
		at := i
		for range openers {
			if at = bytes.LastIndexByte(rest[:at], '{'); at < 0 {
				break
			}
			if text := manifestAt(rest[at:]); text != nil {
				return text
			}
		}
		rest = rest[i+1:]
	}
	return nil
}

// manifestAt is the manifest that b begins with, or nothing.
func manifestAt(b []byte) []byte {
	r := jsonscan.NewReader(b[:min(len(b), abi.MaxManifest)])
	var members []string
	err := r.Object(func(key []byte) error {
		members = append(members, string(key))
		_, err := r.Raw()
		return err
	})
	if err != nil || !slices.Contains(members, "kinds") || !slices.Contains(members, "name") {
		return nil
	}
	return b[:r.Offset()]
}

// manifestFaults says what is wrong with the manifest of a module that is not run. It is read out of a module that
// has nothing but that manifest.
func manifestFaults(ctx context.Context, wasm []byte) []string {
	text := embedded(wasm)
	if text == nil {
		return nil
	}
	h, err := plughost.New(plughost.Options{})
	if err != nil {
		return nil
	}
	const origin = "manifest"
	p, err := h.Load(ctx, "", bearer(text), origin)
	if err != nil {
		return reasons(strings.TrimPrefix(err.Error(), "plugin "+origin+": "))
	}
	p.Retire()
	return nil
}

// bearer is the smallest plugin with a manifest: each of its functions returns 0, where its descriptor is.
func bearer(manifest []byte) []byte {
	const at = 16 << 10 // of the manifest, behind the input buffer
	leb := func(n int) []byte { return binary.AppendUvarint(nil, uint64(n)) }
	sized := func(b []byte) []byte { return append(leb(len(b)), b...) }
	var d []byte
	for _, v := range [...]uint32{abi.Magic, abi.DescriptorSize, abi.DescriptorSize, abi.MinInputCap, 0, 0, at, uint32(len(manifest))} {
		d = binary.LittleEndian.AppendUint32(d, v)
	}
	out := []byte("\x00asm\x01\x00\x00\x00")
	section := func(id byte, parts ...[]byte) { out = append(append(out, id), sized(bytes.Join(parts, nil))...) }
	const i32, i64 = "\x7f", "\x7e"
	section(1, []byte("\x04"+
		"\x60\x00\x01"+i32+
		"\x60\x01"+i32+"\x01"+i32+
		"\x60\x03"+i32+i32+i32+"\x01"+i64+
		"\x60\x01"+i32+"\x01"+i64))
	section(3, []byte{5, 0, 1, 2, 2, 3})
	section(5, []byte{1, 0, 2})
	exports := [][]byte{leb(7), sized([]byte(abi.ExportMemory)), {2, 0}, sized([]byte(abi.ExportRender)), {0, 4}}
	for i, name := range [...]string{abi.ExportDescribe, abi.ExportOpen, abi.ExportFeed, abi.ExportFinish, abi.ExportPlan} {
		exports = append(exports, sized([]byte(name)), []byte{0, byte(i)})
	}
	section(7, exports...)
	const zero32, zero64 = "\x04\x00\x41\x00\x0b", "\x04\x00\x42\x00\x0b"
	section(10, []byte("\x05"+zero32+zero32+zero64+zero64+zero64))
	section(11, leb(2),
		[]byte("\x00\x41\x00\x0b"), sized(d),
		[]byte("\x00\x41\x80\x80\x01\x0b"), sized(manifest)) // 0x4000, as a signed number
	return out
}

// terminated says that a module counts the zero byte behind its manifest, where err may come of that.
func terminated(err error, wasm []byte) bool {
	at, ok := errors.AsType[*jsonscan.Error](err)
	if !ok {
		return false
	}
	text := embedded(wasm)
	return len(text) > 0 && at.Offset == len(text) && bytes.Contains(wasm, append(slices.Clip(text), 0))
}
