package host

import (
	"errors"
	"fmt"

	"github.com/weirgate/weir/abi"
	"github.com/weirgate/weir/abi/record"
)

// Call is one feed or finish. The guest reads In, Spans and Flags, reads and writes Window, and appends
// to Records with Ptr as an offset into In. All memory is the stream's; nothing is kept by the guest. A
// guest that changes Window calls Keep before; one whose call fails may leave the window in any state.
//
// The fields that most calls use come first, with the memory for a record: see Stream.
type Call struct {
	Window  []byte
	In      []byte
	Records []record.Record
	first   [8]record.Record // memory for Records; more are rare

	Flags uint32
	// Spent is what a guest that meters its calls took for the earlier calls of the same feed or finish: a
	// guest that returns early does not get more for that. The guest adds to it, the stream sets it to 0.
	Spent int64
	Spans []record.Span

	before []byte // window before the call, where it was kept
}

// plain makes the call one without spans and flags that nothing was before. In and Records stay.
func (c *Call) plain() { c.Flags, c.Spent, c.Spans, c.before = 0, 0, nil, c.before[:0] }

// Keep puts the window aside, so that the stream can go back to it. Only a call whose records end with a name
// is ever taken back, so a guest that knows its records before it changes the window may leave Keep out for
// others.
func (c *Call) Keep() { c.before = append(c.before[:0], c.Window...) }

// Guest runs calls of one configured plugin. It may be shared by streams; whether it may be called
// concurrently is the implementation's matter. After an error the window and the records are undefined.
type Guest interface {
	// Template is the window of a new stream; empty means sticky.
	Template() []byte
	Start(window, start []byte) error
	Feed(c *Call) error
	Finish(c *Call, why abi.Why) error
}

// Sink takes the records of a stream in order, with their bytes.
type Sink interface {
	// Accept gives the verdict on the name that ends a feed, before any record of that feed is
	// delivered: false takes the feed back, and the call, or what is left of one that began in an earlier
	// feed, will come as text. recs are the feed's records, in their input.
	Accept(recs []record.Record, in []byte) bool
	// Record delivers one record. b is valid until it returns.
	Record(r record.Record, b []byte) error
}

// ErrProtocol is wrapped by the faults of a guest that breaks the ABI.
var ErrProtocol = errors.New("plugin breaks the ABI")

// ErrRecords is wrapped by the faults of a guest that returns too many records, or ones that are not the
// input in order. It is a kind of ErrProtocol.
var ErrRecords = fmt.Errorf("%w: records", ErrProtocol)

// ErrSticky is wrapped by the fault of a guest without a window whose call was refused: what it did in its
// own memory cannot be taken back, so the stream goes on raw.
var ErrSticky = errors.New("a sticky plugin cannot take a call back")

// MaxSpans is how many spans one feed gives, the verdict on a name not counted. The smallest input buffer
// holds abi.MaxHeld + abi.MaxPiece bytes beside them.
const MaxSpans = 512

// Fault tells of a guest that trapped or broke the ABI; the stream went on raw from there.
type Fault struct {
	Export string // weir1_start, weir1_feed or weir1_finish
	Err    error
}

func (f *Fault) Error() string { return f.Export + ": " + f.Err.Error() }

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }
