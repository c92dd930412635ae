// Package toolname is the rule by which the model knows a tool: one name, with the namespace in it.
package toolname

import (
	"crypto/sha256"
	"encoding/hex"
	"unicode/utf8"
)

// maxName is the longest name that a namespaced tool may have towards the model, in bytes.
const maxName = 64

// Of is the name by which the model knows a tool: name, or namespace__name. Where that is longer than 64 bytes its
// end gives way to a hash of the whole, so that names stay different and stable.
func Of(namespace, name string) string {
	if namespace == "" {
		return name
	}
	full := namespace + "__" + name
	if len(full) <= maxName {
		return full
	}
	sum := sha256.Sum256([]byte(full))
	cut := maxName - 9
	for cut > 0 && !utf8.RuneStart(full[cut]) {
		cut--
	}
	return full[:cut] + "_" + hex.EncodeToString(sum[:4])
}
