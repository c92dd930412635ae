package jsonscan

// state of a Machine, what it waits for next. A state that is no target of the tables' zero entries must
// not be 0, so the zero Machine has a state of its own.
const (
	stStart    uint8 = iota // a value, and nothing was seen yet
	stValue                 // a value, after optional space
	stValueEnd              // first value of an array, or its end
	stKey                   // a member name
	stKeyEnd                // first member name, or the end of the object
	stColon
	stNext     // comma or the end of the object
	stNextItem // comma or the end of the array
	stMinus
	stZero
	stInt
	stDot
	stFrac
	stExp
	stExpSign
	stExpDigits
	stT1 // in a literal, after so many of its letters
	stT2
	stT3
	stF1
	stF2
	stF3
	stF4
	stN1
	stN2
	stN3
	stEsc
	stHex1
	stHex2
	stHex3
	stHex4
	stKeyEsc // the same in the name of a member
	stKeyHex1
	stKeyHex2
	stKeyHex3
	stKeyHex4
	stKeyString // in a name
	stString    // in any other string; the last one that goes on by a byte alone
	stDone
	stBad

	states
)

// What an entry of steps may be instead of a state: a step that depends on more than state and byte.
const (
	misfit     = 0 // the byte ends a number, or has no place
	doOpen     = states + iota
	doOpenList // begins an array
	doClose    // ends a container
	doQuote    // ends a string that is no name
	doEnd      // ends a literal
)

// Classes of bytes that no state tells apart.
const (
	other   uint8 = iota // all that only a string may hold
	control              // below space, and no white space
	blank                // space
	line                 // other white space
	quote
	escape // backslash
	slash
	openObject
	closeObject
	openList
	closeList
	comma
	colon
	minus
	plus
	dot
	zero
	digit  // 1 to 9
	hex    // letters that only a hexadecimal number has
	expo   // E
	smallA // the letters of literals and escapes, each for itself
	smallB
	smallE
	smallF
	smallL
	smallN
	smallR
	smallS
	smallT
	smallU

	classes = 32 // a power of two, so that an index needs no check
)

var classOf = [256]uint8{
	0x00: control, 0x01: control, 0x02: control, 0x03: control, 0x04: control, 0x05: control, 0x06: control, 0x07: control,
	0x08: control, '\t': line, '\n': line, 0x0b: control, 0x0c: control, '\r': line, 0x0e: control, 0x0f: control,
	0x10: control, 0x11: control, 0x12: control, 0x13: control, 0x14: control, 0x15: control, 0x16: control, 0x17: control,
	0x18: control, 0x19: control, 0x1a: control, 0x1b: control, 0x1c: control, 0x1d: control, 0x1e: control, 0x1f: control,
	' ': blank, '"': quote, '\\': escape, '/': slash, '{': openObject, '}': closeObject, '[': openList, ']': closeList,
	',': comma, ':': colon, '-': minus, '+': plus, '.': dot,
	'0': zero, '1': digit, '2': digit, '3': digit, '4': digit, '5': digit, '6': digit, '7': digit, '8': digit, '9': digit,
	'A': hex, 'B': hex, 'C': hex, 'D': hex, 'E': expo, 'F': hex,
	'a': smallA, 'b': smallB, 'c': hex, 'd': hex, 'e': smallE, 'f': smallF,
	'l': smallL, 'n': smallN, 'r': smallR, 's': smallS, 't': smallT, 'u': smallU,
}

// steps gives for a state and the class of a byte the next state, or what to do.
var steps = [64][classes]uint8{
	stStart: {
		blank: stValue, line: stValue, openObject: doOpen, openList: doOpenList, quote: stString,
		minus: stMinus, zero: stZero, digit: stInt, smallT: stT1, smallF: stF1, smallN: stN1,
	},
	stValue: {
		blank: stValue, line: stValue, openObject: doOpen, openList: doOpenList, quote: stString,
		minus: stMinus, zero: stZero, digit: stInt, smallT: stT1, smallF: stF1, smallN: stN1,
	},
	stValueEnd: {
		blank: stValueEnd, line: stValueEnd, openObject: doOpen, openList: doOpenList, quote: stString, closeList: doClose,
		minus: stMinus, zero: stZero, digit: stInt, smallT: stT1, smallF: stF1, smallN: stN1,
	},
	stKey:      {blank: stKey, line: stKey, quote: stKeyString},
	stKeyEnd:   {blank: stKeyEnd, line: stKeyEnd, quote: stKeyString, closeObject: doClose},
	stColon:    {blank: stColon, line: stColon, colon: stValue},
	stNext:     {blank: stNext, line: stNext, comma: stKey, closeObject: doClose},
	stNextItem: {blank: stNextItem, line: stNextItem, comma: stValue, closeList: doClose},
	stString: {
		other: stString, blank: stString, quote: doQuote, escape: stEsc, slash: stString,
		openObject: stString, closeObject: stString, openList: stString, closeList: stString, comma: stString, colon: stString,
		minus: stString, plus: stString, dot: stString, zero: stString, digit: stString, hex: stString, expo: stString,
		smallA: stString, smallB: stString, smallE: stString, smallF: stString, smallL: stString, smallN: stString,
		smallR: stString, smallS: stString, smallT: stString, smallU: stString,
	},
	stKeyString: {
		other: stKeyString, blank: stKeyString, quote: stColon, escape: stKeyEsc, slash: stKeyString,
		openObject: stKeyString, closeObject: stKeyString, openList: stKeyString, closeList: stKeyString, comma: stKeyString, colon: stKeyString,
		minus: stKeyString, plus: stKeyString, dot: stKeyString, zero: stKeyString, digit: stKeyString, hex: stKeyString, expo: stKeyString,
		smallA: stKeyString, smallB: stKeyString, smallE: stKeyString, smallF: stKeyString, smallL: stKeyString, smallN: stKeyString,
		smallR: stKeyString, smallS: stKeyString, smallT: stKeyString, smallU: stKeyString,
	},
	stEsc: {
		quote: stString, escape: stString, slash: stString, smallB: stString, smallF: stString, smallN: stString,
		smallR: stString, smallT: stString, smallU: stHex1,
	},
	stHex1: {zero: stHex2, digit: stHex2, hex: stHex2, expo: stHex2, smallA: stHex2, smallB: stHex2, smallE: stHex2, smallF: stHex2},
	stHex2: {zero: stHex3, digit: stHex3, hex: stHex3, expo: stHex3, smallA: stHex3, smallB: stHex3, smallE: stHex3, smallF: stHex3},
	stHex3: {zero: stHex4, digit: stHex4, hex: stHex4, expo: stHex4, smallA: stHex4, smallB: stHex4, smallE: stHex4, smallF: stHex4},
	stHex4: {zero: stString, digit: stString, hex: stString, expo: stString, smallA: stString, smallB: stString, smallE: stString, smallF: stString},
	stKeyEsc: {
		quote: stKeyString, escape: stKeyString, slash: stKeyString, smallB: stKeyString, smallF: stKeyString, smallN: stKeyString,
		smallR: stKeyString, smallT: stKeyString, smallU: stKeyHex1,
	},
	stKeyHex1:   {zero: stKeyHex2, digit: stKeyHex2, hex: stKeyHex2, expo: stKeyHex2, smallA: stKeyHex2, smallB: stKeyHex2, smallE: stKeyHex2, smallF: stKeyHex2},
	stKeyHex2:   {zero: stKeyHex3, digit: stKeyHex3, hex: stKeyHex3, expo: stKeyHex3, smallA: stKeyHex3, smallB: stKeyHex3, smallE: stKeyHex3, smallF: stKeyHex3},
	stKeyHex3:   {zero: stKeyHex4, digit: stKeyHex4, hex: stKeyHex4, expo: stKeyHex4, smallA: stKeyHex4, smallB: stKeyHex4, smallE: stKeyHex4, smallF: stKeyHex4},
	stKeyHex4:   {zero: stKeyString, digit: stKeyString, hex: stKeyString, expo: stKeyString, smallA: stKeyString, smallB: stKeyString, smallE: stKeyString, smallF: stKeyString},
	stMinus:     {zero: stZero, digit: stInt},
	stZero:      {dot: stDot, expo: stExp, smallE: stExp},
	stInt:       {zero: stInt, digit: stInt, dot: stDot, expo: stExp, smallE: stExp},
	stDot:       {zero: stFrac, digit: stFrac},
	stFrac:      {zero: stFrac, digit: stFrac, expo: stExp, smallE: stExp},
	stExp:       {minus: stExpSign, plus: stExpSign, zero: stExpDigits, digit: stExpDigits},
	stExpSign:   {zero: stExpDigits, digit: stExpDigits},
	stExpDigits: {zero: stExpDigits, digit: stExpDigits},
	stT1:        {smallR: stT2},
	stT2:        {smallU: stT3},
	stT3:        {smallE: doEnd},
	stF1:        {smallA: stF2},
	stF2:        {smallL: stF3},
	stF3:        {smallS: stF4},
	stF4:        {smallE: doEnd},
	stN1:        {smallU: stN2},
	stN2:        {smallL: stN3},
	stN3:        {smallL: doEnd},
}
