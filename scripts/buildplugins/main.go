// Command buildplugins builds the module of the built-in plugins and writes it, with what it was built
// by, to plugins/builtin. With -check it builds and compares instead:
//
//	go run ./scripts/buildplugins [-check]
//
// The build is deterministic for one version of Go, so a difference means that the module in the
// repository is not that of the sources beside it. Exit status: 0, 1 for a difference or a failed build, 2
// for misuse.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Paths from the module's root.
const (
	source  = "./plugins/cmd/builtin"
	module  = "plugins/builtin/builtin.wasm"
	records = "plugins/builtin/manifest.json"
)

// flags are those of the guest SDK. Without -buildvcs=false the commit would be part of the bytes.
var flags = []string{"-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid="}

// manifest says what a module was built by.
type manifest struct {
	Go     string   `json:"go"`
	Flags  []string `json:"flags"`
	Size   int      `json:"size"`
	SHA256 string   `json:"sha256"`
}

func main() {
	check := flag.Bool("check", false, "compare with the module in the repository, write nothing")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: go run ./scripts/buildplugins [-check]")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(*check); err != nil {
		fmt.Fprintln(os.Stderr, "buildplugins:", err)
		os.Exit(1)
	}
}

func run(check bool) error {
	root, err := output("go", "env", "GOMOD")
	if err != nil {
		return err
	}
	if root == "" || root == os.DevNull {
		return errors.New("run it within the module")
	}
	if err := os.Chdir(filepath.Dir(root)); err != nil {
		return err
	}
	version, err := output("go", "env", "GOVERSION")
	if err != nil {
		return err
	}
	if check {
		return compare(version)
	}
	wasm, err := build()
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(describe(version, wasm), "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(module, wasm, 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(records, append(text, '\n'), 0o644); err != nil {
		return err
	}
	fmt.Printf("%s: %d bytes, by %s\n", module, len(wasm), version)
	return nil
}

// compare checks the module in the repository against its manifest, and against a build by the same Go.
func compare(version string) error {
	have, err := os.ReadFile(module)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(records)
	if err != nil {
		return err
	}
	var want manifest
	if err := json.Unmarshal(text, &want); err != nil {
		return fmt.Errorf("%s: %w", records, err)
	}
	if got := describe(want.Go, have); got.SHA256 != want.SHA256 || got.Size != want.Size {
		return fmt.Errorf("%s is not the file that %s describes", module, records)
	}
	if version != want.Go {
		fmt.Fprintf(os.Stderr, "buildplugins: NOT COMPARED: the module was built by %s and this is %s; only its checksum was checked\n", want.Go, version)
		return nil
	}
	wasm, err := build()
	if err != nil {
		return err
	}
	if !bytes.Equal(wasm, have) {
		return fmt.Errorf("%s is not what the sources give; run go run ./scripts/buildplugins", module)
	}
	fmt.Printf("%s: the same bytes, by %s\n", module, version)
	return nil
}

func describe(version string, wasm []byte) manifest {
	sum := sha256.Sum256(wasm)
	return manifest{Go: version, Flags: flags, Size: len(wasm), SHA256: hex.EncodeToString(sum[:])}
}

// build returns the module.
func build() ([]byte, error) {
	dir, err := os.MkdirTemp("", "buildplugins")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "builtin.wasm")
	cmd := exec.Command("go", append(append([]string{"build"}, flags...), "-o", file, source)...)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOWASM=", "GOFLAGS=", "GOEXPERIMENT=", "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("go build: %w", err)
	}
	return os.ReadFile(file)
}

func output(name string, args ...string) (string, error) {
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
