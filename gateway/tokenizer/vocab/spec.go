// Package vocab is the engine that runs the vocabularies of models: text to ids as the model was trained
// with them, and back.
//
// A Spec says what a vocabulary is, whatever file it came from; New makes a Tokenizer of it. Text is cut
// at added tokens, normalized, cut into pieces and given to the model (BPE, Unigram or WordPiece), which
// is what the tools do that the vocabularies were made with, id for id.
package vocab

import "errors"

// ErrVocabulary is wrapped by the errors of New and of reading an image.
var ErrVocabulary = errors.New("bad vocabulary")

// Limits of a vocabulary.
const (
	MaxTokens   = 1 << 20   // ids
	MaxMerges   = 8 << 20   // merges
	MaxAdded    = 256 << 10 // added tokens
	MaxSteps    = 64        // steps of a pipeline
	maxAllBytes = 256 << 20 // bytes of all tokens together
	maxAddedLen = 4 << 10   // bytes of an added token
	wordPieceAt = 100       // characters of a word that WordPiece cuts, by default
)

// NoToken is the id that no token has.
const NoToken = ^uint32(0)

// Model is the algorithm that makes ids of a piece.
type Model uint8

// The models.
const (
	BPE       Model = iota // merge pairs, lowest rank first
	Unigram                // the cut of the highest score
	WordPiece              // the longest token first
)

// Merge joins two adjacent tokens. The lowest rank goes first, the leftmost of equal ones.
type Merge struct{ Left, Right, ID, Rank uint32 }

// Added is a token that is looked for in the text itself before the model sees it.
type Added struct {
	ID         uint32
	Text       string
	Special    bool // a control token: decoding can leave it out, a guard keeps it out
	SingleWord bool // only where no word characters touch it
	LeftStrip  bool // it takes the white space before it
	RightStrip bool // and behind it
	Normalized bool // it is looked for after normalization
}

// Kind is what a step does.
type Kind uint8

// The steps of normalizing (N), of cutting (C) and of decoding (D), with the fields that each uses.
const (
	NFC          Kind = iota + 1 // N
	NFD                          // N
	NFKC                         // N
	NFKD                         // N
	Lowercase                    // N
	StripSpace                   // N: white space off the start (Start != 0) and the end (Stop != 0)
	StripAccents                 // N: no marks; Flag: only those that take no space go
	Prepend                      // N: Text before what is not empty
	Replace                      // N, D: each Text, or match of the pattern Text if Regex, becomes With
	CleanText                    // N: no control characters, all white space a blank
	SpaceChinese                 // N: blanks around Chinese characters
	PrefixSpace                  // C: a blank before what begins without one
	Metaspace                    // C, D: blanks become Text, which Scheme puts first; Flag: cut before each
	Split                        // C: cut at Text, or at the matches of the pattern Text if Regex
	Bytes                        // D: tokens are bytes
	ByteFallback                 // D: tokens <0x00> to <0xFF> are bytes
	Fuse                         // D: what follows sees one text
	Strip                        // D: up to Start and Stop times Text off the ends
	Continue                     // D: Text at the start of a token joins it to the one before; Flag: clean up
	Suffix                       // D: Text at the end of a token is a blank
)

// Behavior says what becomes of a match that text is cut at.
type Behavior uint8

// The behaviors.
const (
	Isolated   Behavior = iota // a piece of its own
	Removed                    // nothing
	Previous                   // part of the piece before
	Next                       // part of the piece behind
	Contiguous                 // one piece with the matches next to it
)

// Scheme says when Metaspace puts its character first.
type Scheme uint8

// The schemes.
const (
	Always Scheme = iota
	First         // at the start of the whole text only
	Never
)

// Step is an element of a pipeline.
type Step struct {
	Kind        Kind
	Text, With  string
	Regex       bool
	Fancy       bool // the pattern is in the dialect of rank files
	Behavior    Behavior
	Invert      bool // matches and what is between them change places
	Scheme      Scheme
	Flag        bool
	Start, Stop int
}

// Spec is a vocabulary.
type Spec struct {
	Model  Model
	Tokens []string  // the bytes of each id; "": there is no such id
	Scores []float64 // of Unigram, by id
	Merges []Merge   // of BPE

	ByteLevel    bool     // BPE starts from bytes and not from characters
	ByteFallback bool     // what has no token becomes the tokens <0x00> to <0xFF> of its bytes
	FuseUnknown  bool     // BPE: unknown characters in a row are one
	IgnoreMerges bool     // BPE: a piece that is a token is that token
	Literal      []uint32 // ids whose text no piece may match
	Unknown      uint32   // the token of what has none; NoToken: it is left out
	Continuing   string   // WordPiece: what a token within a word begins with
	MaxWord      int      // WordPiece: characters of the longest word that is cut, 0: 100

	Added     []Added
	Normalize []Step
	Cut       []Step
	Decode    []Step

	// Before and After are the ids that the vocabulary's own rule puts around one text.
	Before, After []uint32
}
