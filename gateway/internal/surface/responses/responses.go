// Package responses is the surface of OpenAI's responses: items in, items out, over server-sent events, in one body,
// or as the messages of a socket.
package responses

import (
	"time"

	"github.com/weirgate/weir/gateway/internal/chain"
	"github.com/weirgate/weir/gateway/internal/surface"
)

// Surface is responses. It holds no state and is safe for concurrent use.
type Surface struct {
	// OpenNames takes the names that the Open Responses specification has for raw reasoning, response.reasoning.delta,
	// in place of OpenAI's, response.reasoning_text.delta.
	OpenNames bool
}

// Name returns "responses".
func (Surface) Name() string { return "responses" }

// RequestIDHeader returns the header in which this surface's clients look for the request id.
func (Surface) RequestIDHeader() string { return "X-Request-Id" }

// Prefixes of ids. What follows is surface.Info's ID, and of an item its index in hex.
const (
	idPrefix         = "resp_"
	reasoningPrefix  = "rs_"
	messagePrefix    = "msg_"
	functionPrefix   = "fc_"
	customPrefix     = "ctc_"
	searchPrefix     = "tsc_"
	compactionPrefix = "cmp_"
)

// Own is what this surface keeps of a request (surface.Request.Own is *Own). Decode leaves Request.Messages and the
// tools of the input's items to Join, which puts them together with the items that came before.
type Own struct {
	Previous     string       // previous_response_id
	Store        bool         // the answer can be continued and asked for again; true where the client is silent
	Instructions string       // of this request alone, in front of all
	preface      []chain.Item // the same where they are items
	choice       toolWish     // the tools that tool_choice names
	Input        []chain.Item // in order; one whose Reference is to be resolved has no messages
	Refs         []Ref        // items of the input that stand for kept ones
	Compact      bool         // the input ends with compaction_trigger: the answer is one compaction item
	NoGenerate   bool         // generate: false, sockets alone: the input is kept, and nothing is generated
	Summary      bool         // reasoning.summary was asked for
	Encrypted    bool         // include has reasoning.encrypted_content, or the answer is not kept
	Echo         Echo         // what the resource says of the request

	History []chain.Item // what came before Input; set by who joins them
	// SealSummary makes the encrypted_content of a compaction. Who answers a request that has Compact sets it first.
	SealSummary func(text []byte) string
	// Finished is when the answer was complete. Where it is zero, what writes the answer first sets it to the time of
	// then, so that a stream and the body that is kept of it say the same.
	Finished time.Time

	sealed compaction // what SealSummary said, which says something else every time
}

// Ref is an item_reference in the input.
type Ref struct {
	At   int    // index in Own.Input
	ID   string // of the item
	Path string // of the member that names it, for a fault
}

// Echo are members of the request that the resource repeats: JSON as received, nil where the client was silent.
type Echo struct {
	Tools, ToolChoice, Text, Reasoning, Metadata, Truncation, MaxToolCalls, ServiceTier []byte
	PromptCacheKey, PromptCacheRetention, SafetyIdentifier, User, Include, TopLogprobs  []byte
	Instructions                                                                        []byte
}

// PreviousParam is the member of a request that names the answer it goes on from.
const PreviousParam = "previous_response_id"

// Keep decides whether the answer is kept: where its client and its tenant, who may, both want it. One that is not kept
// cannot be referred to, and has its reasoning sealed: clients that do not know to ask for that bring it back as what the
// model said.
func Keep(req *surface.Request, may bool) {
	own := OwnOf(req)
	own.Store = own.Store && may
	if own.Encrypted = own.Encrypted || !own.Store; own.Encrypted {
		req.Seal = surface.SealFull
	}
}

// OwnOf is what this surface kept of a request that it decoded.
func OwnOf(req *surface.Request) *Own {
	own, _ := req.Own.(*Own)
	return own
}
