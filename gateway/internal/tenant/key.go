package tenant

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
)

// KeyPrefix begins every key of NewKey, so that tools which look for leaked secrets know it.
const KeyPrefix = "weir_"

// NewKey makes a key of 32 random bytes and the hash that a tenant's keys hold.
func NewKey() (key, hash string) {
	var b [32]byte
	// Read never fails: the program ends where the system has no randomness.
	_, _ = rand.Read(b[:])
	key = KeyPrefix + hex.EncodeToString(b[:])
	return key, HashKey(key)
}

// HashKey returns what stands in a configuration for a key: sha256: and 64 hex digits.
func HashKey(key string) string {
	h := sha256.Sum256([]byte(key))
	return "sha256:" + hex.EncodeToString(h[:])
}
