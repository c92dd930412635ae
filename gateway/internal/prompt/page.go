package prompt

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/gateway/internal/ledger"
	"github.com/weirgate/weir/gateway/jinja"
)

// piece is a text from one place.
type piece struct {
	text string
	name string // of a tool, as the client has it; what kind of media
	// owner is the message of the request whose bytes these are; nobody's are cut away with the template's.
	owner, part int32
	tool        int32 // index, of a schema
	turn        int32 // ordinal among the template's messages, once it is given to it
	behind      int32 // how many messages stand between the first of that turn and the owner
	kind        jinja.OriginKind
	what        ledger.Kind // Template for what the host writes
	flags       ledger.Flags
	joint       bool // a line end between texts, which a list of parts does without
	aside       bool // an id or a name: nobody misses it
	label       bool // an id or a name: templates repeat it elsewhere
	media       bool
	shown       bool // it was seen in the result
}

// result tells a tool's result from other turns.
type result struct {
	id, name string
	of       int // message of the call
}

// asked is a call as its result looks for it.
type asked struct {
	id string // as the client knows it
	result
}

// written is a message that the family writes.
type written struct {
	blocks []Block
	after  string // what the template begins a turn with at that place
}

// call is a call as the template gets it.
type call struct {
	id, name  string
	client    string // name of the tool as the client has it
	arguments string // JSON, as received
	part      int
}

// turn is a message for the template.
type turn struct {
	role    role
	name    string // participant
	message int    // of the request; of merged ones the first
	body    []piece
	think   []piece
	unsaid  []piece // reasoning that is not replayed
	calls   []call
	answers *result
}

// page is one prompt in the making.
type page struct {
	ctx  context.Context //nolint:containedctx // of the one Render that the page is of
	m    *Model
	v    *variant
	a    *abilities
	in   *Input
	req  *conv.Request
	plan *planned

	tools *toolList
	turns []turn

	// While messages are read.
	lead     []piece           // what stands in front of the first user's text
	waiting  []waiting         // results that have no turn yet
	asked    []asked           // calls of all assistant messages so far
	order    []asked           // those of the last one
	opens    string            // what the template begins the last assistant message with
	known    map[string]result // the calls by id, of the first of them so many as noted
	noted    int
	queued   []call // calls of a turn that the template gets one by one
	queuedOf int
	deferred map[string]int // deferred tools by name, until they were shown

	pieces  []piece  // that were given to the template, in order
	store   []piece  // memory for bodies
	called  []call   // and for calls
	results []result // and for turns that are results
	rewrite map[int]written
	recall  map[int]*Turn    // messages whose own words are known
	placed  map[int]int      // their turns
	byOwner map[int32][2]int // and where their pieces are
	missing []string
	lost    []string

	maker jinja.Maker
	texts []jinja.Value // pieces of a string
	marks []mark        // the result's bytes, by piece
	spare []mark
	gone  []ledger.Part // that the prompt has not
	buf   []byte
}

type waiting struct {
	message, part int
	*conv.ToolResult
	rank int // of its call among those of the last assistant message
}

// pages keeps what a prompt needs beside its result.
var pages sync.Pool //nolint:gochecknoglobals // a rendering has no owner that could hold it

// Bounds of what a kept page holds.
const (
	maxKept    = 4 << 20 // bytes of text
	maxKeptLen = 1 << 15 // pieces, marks
	maxKeptMap = 1 << 10 // calls
)

func newPage(ctx context.Context, m *Model, v *variant, in *Input, p *planned) *page {
	g, _ := pages.Get().(*page)
	if g == nil {
		g = &page{}
	}
	g.ctx, g.m, g.v, g.in, g.req, g.plan = ctx, m, v, in, in.Request, p
	return g
}

// release gives the page back, without anything of the request.
func (g *page) release() {
	if cap(g.buf) > maxKept || max(cap(g.pieces), cap(g.store), cap(g.marks), cap(g.spare), cap(g.turns)) > maxKeptLen {
		return
	}
	g.maker.Reset()
	*g = page{
		turns: emptied(g.turns), pieces: emptied(g.pieces), store: emptied(g.store), called: emptied(g.called), results: emptied(g.results),
		waiting: emptied(g.waiting), asked: emptied(g.asked), known: cleared(g.known),
		recall: cleared(g.recall), rewrite: cleared(g.rewrite), placed: cleared(g.placed), byOwner: cleared(g.byOwner), maker: g.maker, texts: emptied(g.texts), gone: emptied(g.gone),
		marks: g.marks[:0], spare: g.spare[:0], buf: g.buf[:0],
	}
	pages.Put(g)
}

func emptied[T any](s []T) []T {
	clear(s)
	return s[:0]
}

// cleared is a map to fill anew. A large one is not kept, since to clear it takes as long as it is.
func cleared[K comparable, V any](m map[K]V) map[K]V {
	if len(m) > maxKeptMap {
		return nil
	}
	clear(m)
	return m
}

// miss notes what the template cannot show, once.
func (g *page) miss(format string, args ...any) { note(&g.missing, fmt.Sprintf(format, args...)) }

// lose notes something that no model will see.
func (g *page) lose(format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	note(&g.missing, s)
	note(&g.lost, s)
}

// note adds s to a list, once, as long as the list is short.
func note(list *[]string, s string) {
	if len(*list) < maxMissing && !slices.Contains(*list, s) {
		*list = append(*list, s)
	}
}

// host is a text of the gateway's own in a message.
func host(owner int, text string) piece {
	return piece{text: text, kind: jinja.FromHost, owner: int32(owner)}
}

// alone is a body of one piece.
func (g *page) alone(p piece) []piece {
	if len(g.store) == cap(g.store) {
		g.store = make([]piece, 0, max(64, min(2*cap(g.store), maxKeptLen))) // earlier bodies keep the old one
	}
	n := len(g.store)
	g.store = append(g.store, p)
	return g.store[n : n+1 : n+1]
}

// add puts a text behind those of a body, on a line of its own.
func (t *turn) add(p ...piece) { t.body = join(t.body, "\n", true, p...) }

// join puts pieces behind those of a body, which may be p itself afterwards.
func join(body []piece, with string, joint bool, p ...piece) []piece {
	if empty(p) {
		return body
	}
	if len(body) == 0 {
		return p
	}
	sep := host(int(p[0].owner), with)
	sep.joint = joint
	return append(append(body, sep), p...)
}

// empty reports pieces without any text.
func empty(p []piece) bool {
	for i := range p {
		if p[i].text != "" || p[i].media {
			return false
		}
	}
	return true
}

// blank reports pieces that are white space at most.
func blank(p []piece) bool {
	for i := range p {
		if p[i].media || !white(p[i].text) {
			return false
		}
	}
	return true
}

// white reports a text that is white space at most, mostly by its first byte.
func white(s string) bool {
	if s != "" && s[0] > ' ' && s[0] < utf8.RuneSelf {
		return false
	}
	return strings.TrimSpace(s) == ""
}

// recalled is the part of a reasoning that the message has not: it stands before all others.
const recalled = -1

// part makes the piece of a text part.
func (g *page) part(kind jinja.OriginKind, what ledger.Kind, message, part int, text string) piece {
	p := piece{text: text, kind: kind, what: what, owner: int32(message), part: int32(part)}
	if m := &g.req.Messages[message]; part >= 0 && part < len(m.Parts) && m.Parts[part].Volatile {
		p.flags |= ledger.Volatile
	}
	if kind == jinja.FromAssistant && g.in.Turns != nil && g.recall[message] == nil {
		p.flags |= ledger.Forgotten
	}
	return p
}
