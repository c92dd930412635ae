package seal

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
)

const (
	keySize  = 32
	redacted = "[redacted]"
)

// Key is a secret of 32 bytes that others are derived of. Every way of printing or encoding one gives [redacted]; Reveal
// alone gives the text. The zero value is no key.
type Key struct {
	// Of unexported fields around a Key a printer calls no method. A function is all that it shows as an address
	// whatever the verb; a pointer it follows for some. Nor do functions compare: Equal is what compares keys.
	bytes func() *[keySize]byte
}

func keyOf(b *[keySize]byte) Key { return Key{bytes: func() *[keySize]byte { return b }} }

// NewKey makes a random key.
func NewKey() Key {
	b := new([keySize]byte)
	// Read never fails: the program ends where the system has no randomness.
	_, _ = rand.Read(b[:])
	return keyOf(b)
}

// ParseKey reads a key: 32 bytes in base64, of either alphabet and with or without padding, or 64 hex digits. Errors do
// not contain the text.
func ParseKey(text string) (Key, error) {
	text = strings.TrimSpace(text)
	raw, err := decodeKey(text)
	if err != nil {
		return Key{}, err
	}
	// What somebody typed to have anything there at all is known to everybody.
	if !slices.ContainsFunc(raw, func(c byte) bool { return c != raw[0] }) {
		return Key{}, errors.New("a key is random: this is one byte over and over")
	}
	return keyOf((*[keySize]byte)(raw)), nil
}

func decodeKey(text string) ([]byte, error) {
	if len(text) == hex.EncodedLen(keySize) {
		if raw, err := hex.DecodeString(text); err == nil {
			return raw, nil
		}
	}
	encoding := base64.RawStdEncoding
	if strings.ContainsAny(text, "-_") {
		encoding = base64.RawURLEncoding
	}
	padded := base64.StdEncoding.EncodedLen(keySize)
	digits := text
	if len(text) == padded {
		digits = strings.TrimSuffix(text, "=")
	}
	raw, err := encoding.Strict().DecodeString(digits)
	if err != nil || len(digits) != padded-1 || len(raw) != keySize {
		// The cause would name a place in the text, and what stands there.
		return nil, fmt.Errorf("a key is %d bytes in base64, or %d hex digits", keySize, hex.EncodedLen(keySize))
	}
	return raw, nil
}

// IsZero reports whether there is no key.
func (k Key) IsZero() bool { return k.bytes == nil }

// Equal compares two keys in constant time.
func (k Key) Equal(other Key) bool {
	if k.IsZero() || other.IsZero() {
		return k.IsZero() && other.IsZero()
	}
	return subtle.ConstantTimeCompare(k.bytes()[:], other.bytes()[:]) == 1
}

func containsKey(keys []Key, key Key) bool { return slices.ContainsFunc(keys, key.Equal) }

func (k Key) id() (id keyID) {
	sum := sha256.Sum256(k.bytes()[:])
	copy(id[:], sum[:])
	return id
}

// ID names a key in logs: the first four bytes of its SHA-256 in hex, which its seals have in them. It is no secret.
func (k Key) ID() string {
	if k.IsZero() {
		return ""
	}
	id := k.id()
	return hex.EncodeToString(id[:])
}

// Reveal returns the key's text, which ParseKey reads, for the one place that keeps it.
func (k Key) Reveal() string {
	if k.IsZero() {
		return ""
	}
	return base64.StdEncoding.EncodeToString(k.bytes()[:])
}

// String returns [redacted], or nothing where there is no key.
func (k Key) String() string {
	if k.IsZero() {
		return ""
	}
	return redacted
}

// GoString is String, for %#v.
func (k Key) GoString() string { return k.String() }

// Format is String for every verb: some, such as %d, would go round it.
func (k Key) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, k.String()) }

// MarshalText is String, for JSON and the like.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// LogValue is String, for slog.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }
