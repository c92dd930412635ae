package seal

import "encoding/binary"

// Limits and forms that tests go to the edge of.
const (
	DeflateOver  = deflateOver
	MaxOpened    = maxOpened
	FormPlain    = formPlain
	FormDeflated = formDeflated
)

// Frame makes a payload of any form and size.
func Frame(form byte, family string, size uint64, body []byte) []byte {
	p := binary.AppendUvarint([]byte{form}, uint64(len(family)))
	p = binary.AppendUvarint(append(p, family...), size)
	return append(p, body...)
}

// SealPayload seals a payload that no text need have led to.
func (b *Box) SealPayload(kind Kind, tenant string, payload []byte) string {
	k := b.keys[0]
	sealed := k.aead(kind).Seal(k.id[:], nil, payload, binding(kind, tenant))
	return prefix + string(kind) + "." + b.encoding.EncodeToString(sealed)
}

// Unpack reads a payload as Open does behind the decryption.
func (b *Box) Unpack(payload []byte) (family, text string, ok bool) { return b.unpack(payload) }
