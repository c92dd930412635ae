package jinja

// PlainLen is how many bytes at the start of s stand in a JSON string as they are.
func PlainLen(s string, ascii bool) int { return plainLen(s, ascii) }

// Room is how much may still be remembered of a list or dict that is kept, and the most of it, in bytes.
func Room(v Value) (left, most int64) {
	var k *kept
	if v.k == kDict {
		k = v.dict().kept
	} else {
		k = v.p.(*list).kept
	}
	return k.room.Load(), keptFactor * k.size
}
