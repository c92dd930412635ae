// Package ucd holds the Unicode data that tokenizers are defined by: character classes of Unicode 16.0
// and the four normalization forms of Unicode 9.0.
//
// Package unicode follows the Go release, and one character of another class gives other tokens: the
// tables here stay as the vocabularies' own tools have them. gen.py makes them.
package ucd

import _ "embed"

// Category is a general category of Unicode.
type Category uint8

// The general categories.
const (
	Cn Category = iota
	Lu
	Ll
	Lt
	Lm
	Lo
	Mn
	Mc
	Me
	Nd
	Nl
	No
	Pc
	Pd
	Ps
	Pe
	Pi
	Pf
	Po
	Sm
	Sc
	Sk
	So
	Zs
	Zl
	Zp
	Cc
	Cf
	Cs
	Co
)

// Sets of categories, one bit each.
const (
	Letter      = 1<<Lu | 1<<Ll | 1<<Lt | 1<<Lm | 1<<Lo
	Mark        = 1<<Mn | 1<<Mc | 1<<Me
	Number      = 1<<Nd | 1<<Nl | 1<<No
	Punctuation = 1<<Pc | 1<<Pd | 1<<Ps | 1<<Pe | 1<<Pi | 1<<Pf | 1<<Po
	Symbol      = 1<<Sm | 1<<Sc | 1<<Sk | 1<<So
	Separator   = 1<<Zs | 1<<Zl | 1<<Zp
	Other       = 1<<Cn | 1<<Cc | 1<<Cf | 1<<Cs | 1<<Co
)

// MaxRune is the last code point.
const MaxRune = 0x10FFFF

const (
	blockBits = 8
	blocks    = (MaxRune + 1) >> blockBits

	categoryMask = 0x1f
	spaceBit     = 0x20
	hanBit       = 0x40
	wordBit      = 0x80
)

//go:embed classes.bin
var classes string

// Class is what the tables say of a code point.
type Class uint8

// ClassOf returns r's class; what is no code point is unassigned.
func ClassOf(r rune) Class {
	if uint32(r) > MaxRune {
		return 0
	}
	return Class(classes[blocks+int(classes[r>>blockBits])<<blockBits+int(r&(1<<blockBits-1))])
}

// Category returns the general category.
func (c Class) Category() Category { return Category(c & categoryMask) }

// Is reports whether the general category is in set, a union of 1<<category.
func (c Class) Is(set uint32) bool { return set>>(c&categoryMask)&1 != 0 }

// Space reports the property White_Space.
func (c Class) Space() bool { return c&spaceBit != 0 }

// Han reports the script Han.
func (c Class) Han() bool { return c&hanBit != 0 }

// Word reports what is alphabetic, a mark, a decimal number or connecting punctuation.
func (c Class) Word() bool { return c&wordBit != 0 }
