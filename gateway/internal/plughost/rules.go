package plughost

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// DefaultQuarantine is how many faults within a minute quarantine a plugin.
const DefaultQuarantine = 5

// Rules say which plugins of a folder are taken, and when one is not used any more.
type Rules struct {
	// Trusted are the keys of which one must have signed each file; none means that no signature is asked for.
	Trusted []ed25519.PublicKey
	// Quarantine is how many faults within a minute quarantine a plugin; 0 means never.
	Quarantine int
	// Plugins are rules for single ones, by name.
	Plugins map[string]Rule
}

// Rule is for one plugin.
type Rule struct {
	SHA256     string // digest that the file must have, in hex; empty allows any
	Quarantine *int   // instead of Rules.Quarantine
}

// limit is the quarantine of a plugin.
func (r *Rules) limit(name string) int {
	if one, ok := r.Plugins[name]; ok && one.Quarantine != nil {
		return *one.Quarantine
	}
	return r.Quarantine
}

// errPinned tells of a file that is not the one that the operator named.
var errPinned = errors.New("the digest is not the pinned one")

// errUndone tells of a file whose content is not served any more.
var errUndone = errors.New("rolled back")

// pinned checks a plugin's digest.
func (r *Rules) pinned(p *Plugin) error {
	if want := r.Plugins[p.Name].SHA256; want != "" && want != p.Digest {
		return fmt.Errorf("%w: sha256 %s, want %s", errPinned, p.Digest, want)
	}
	return nil
}

// signatureExtension is what a signature's file is called after its plugin's.
const signatureExtension = ".sig"

// maxSignature bounds a signature's file: 64 bytes, in base64 perhaps.
const maxSignature = 1 << 10

// ErrSignature is wrapped by the refusal of a file that no trusted key has signed.
var ErrSignature = errors.New("signature refused")

// trusts reports whether a key is one of those that are asked for, where any is.
func (r *Rules) trusts(key ed25519.PublicKey) bool {
	return len(r.Trusted) == 0 || slices.ContainsFunc(r.Trusted, func(k ed25519.PublicKey) bool { return k.Equal(key) })
}

// permits checks a loaded plugin against the rules.
func (r *Rules) permits(p *Plugin) error {
	if !r.trusts(p.signer) {
		return fmt.Errorf("%w: %s %s is not signed by a key that is trusted now", ErrSignature, p.Name, p.Version)
	}
	return r.pinned(p)
}

// signed returns the trusted key that has signed the module: the file beside it, with .sig behind its name,
// holds an Ed25519 signature of the module's bytes, raw or in base64. The key is nil if none is asked for.
func (r *Rules) signed(path string, wasm []byte) (ed25519.PublicKey, error) {
	if len(r.Trusted) == 0 {
		return nil, nil
	}
	b, err := read(path+signatureExtension, maxSignature)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s is missing, and trusted_keys asks for it", ErrSignature, path+signatureExtension)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSignature, err)
	}
	if len(b) != ed25519.SignatureSize {
		text, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(b)))
		if err != nil || len(text) != ed25519.SignatureSize {
			return nil, fmt.Errorf("%w: %s does not hold the %d bytes of an Ed25519 signature, raw or in base64", ErrSignature, path+signatureExtension, ed25519.SignatureSize)
		}
		b = text
	}
	for _, key := range r.Trusted {
		if ed25519.Verify(key, wasm, b) {
			return key, nil
		}
	}
	return nil, fmt.Errorf("%w: %s is not by any of the %d trusted keys", ErrSignature, path+signatureExtension, len(r.Trusted))
}

// signatureStamp tells versions of a signature apart.
func signatureStamp(path string) stamp {
	st, err := os.Stat(path + signatureExtension)
	if err != nil {
		return stamp{}
	}
	return stampOf(st)
}
