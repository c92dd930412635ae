// Package abi names the exports, limits and constants of the Weir plugin ABI, version 1.
//
// ABI.md beside this file is normative; a number that stands in both must agree (a test checks it).
// Everything under abi imports the standard library alone, so that a plugin author pulls in nothing else.
//
// Glossary, one word per concept: a conversation is ordered messages of ordered parts; a turn is one
// generation; an event is what a turn tells, in order; a record is what a parser plugin tells of its
// input; a frame is what a transport writes; a surface is a client protocol; an engine generates; a
// guest is a plugin's module, the host runs it; a tenant is who pays.
package abi

// Version is the ABI version this package describes; it is part of each export's name.
const Version = 1

// Export names. A module carries the version in the names, so that its exports tell what it speaks.
const (
	ExportMemory     = "memory"
	ExportInitialize = "_initialize"
	ExportDescribe   = "weir1_describe"
	ExportOpen       = "weir1_open"
	ExportStart      = "weir1_start"
	ExportFeed       = "weir1_feed"
	ExportFinish     = "weir1_finish"
	ExportReserve    = "weir1_reserve"
	ExportPlan       = "weir1_plan"
	ExportRender     = "weir1_render"
)

// Magic opens a descriptor: the bytes "WEI1" read as a little-endian u32.
const Magic uint32 = 'W' | 'E'<<8 | 'I'<<16 | '1'<<24

// Limits of version 1, in bytes unless the name says otherwise. A guest that passes one is at fault.
const (
	DescriptorSize = 32        // eight little-endian u32
	MinInputCap    = 8 << 10   // smallest input buffer a guest may have
	MaxInputCap    = 1 << 20   // largest; a bigger one is reserved for plan and render
	MaxWindow      = 4096      // state window; 0 means sticky
	MaxPiece       = 512       // new bytes the host gives to one feed
	MaxHeld        = 1024      // bytes a feed may leave unconsumed
	MaxEmpty       = 64        // records without bytes of one call, and four for each byte consumed
	MaxRecords     = 4096      // records of one feed
	MaxHeader      = 512       // opener to name of a call, and each name, id and key
	MaxSpace       = 32        // white space that may be held before a marker
	MaxPromptTail  = 256       // prompt tail given to start
	MaxConfig      = 64 << 10  // config JSON given to open
	MaxManifest    = 64 << 10  // manifest JSON
	MaxEarlyArgs   = 1 << 20   // arguments the host holds for a name that comes last
	MaxPlan        = 256 << 10 // plan a policy answers
)

// RefusedToken is the token id of the pseudo-span {off, 0, RefusedToken}: no call begins at or before off.
const RefusedToken uint32 = 0xFFFFFFFF

// Feed flags.
const (
	// FlagBoundary asks the guest to decide now: what follows is not a continuation of these bytes.
	FlagBoundary uint32 = 1 << 0
)

// Why says how a stream ended.
type Why uint32

// Reasons given to weir1_finish.
const (
	WhyUnknown    Why = 0
	WhyStop       Why = 1 // the model ended its turn
	WhyLength     Why = 2 // a token limit cut it
	WhyStopString Why = 3 // a stop string of the client matched
	WhyAbort      Why = 4 // the engine or the client went away
)

// Error codes a guest returns (negated) from open, start, feed and finish; the host treats every
// negative result as a fault and only logs the code.
const (
	ErrConfig   = 1 // the config is not understood
	ErrInput    = 2 // the input breaks the ABI
	ErrInternal = 3 // the guest met a bug of its own
)
