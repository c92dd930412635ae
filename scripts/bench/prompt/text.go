package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// slot stands in a text where requests differ: digits are put in its place, as many as it has bytes.
const slot = "~~~~~~~~"

// scribe writes texts of the kinds that an agent's conversation is made of. One with the same seed writes
// the same. Each piece of some hundred bytes holds a slot, so that two requests share little.
type scribe struct {
	r *rand.Rand

	words, stems, nouns, folders, short, levels, outcomes []string
}

func newScribe(seed uint64) *scribe {
	return &scribe{
		r:     rand.New(rand.NewPCG(seed, 1)),
		words: strings.Fields(wordList), stems: strings.Fields(stemList), nouns: strings.Fields(nounList), folders: strings.Fields(folderList),
		short: strings.Fields(shortList), levels: strings.Fields(levelList), outcomes: strings.Fields(outcomeList),
	}
}

// one picks an item, the first ones more often, as words of a language are used.
func (s *scribe) one(items []string) string {
	f := s.r.Float64()
	return items[int(f*f*float64(len(items)))]
}

func (s *scribe) between(low, high int) int { return low + s.r.IntN(high-low+1) }

// sentence is some words, now and then with a name of the code between them.
func (s *scribe) sentence() string {
	var b strings.Builder
	n := s.between(7, 18)
	for i := range n {
		word := s.one(s.words)
		switch {
		case i == 0:
			word = strings.ToUpper(word[:1]) + word[1:]
		case s.r.IntN(9) == 0:
			word = "`" + s.name() + "`"
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(word)
		if i > 2 && i < n-3 && s.r.IntN(8) == 0 {
			b.WriteByte(',')
		}
	}
	return b.String() + "."
}

// prose is n sentences under a number.
func (s *scribe) prose(n int) string {
	parts := []string{"Note " + slot + ":"}
	for range n {
		parts = append(parts, s.sentence())
	}
	return strings.Join(parts, " ")
}

// name is an identifier in one of two styles.
func (s *scribe) name() string {
	first, second := s.one(s.stems), s.one(s.nouns)
	if s.r.IntN(3) == 0 {
		return strings.ToLower(first) + "_" + strings.ToLower(second)
	}
	if s.r.IntN(4) == 0 {
		second = s.one(s.stems) + second
	}
	return strings.ToLower(first[:1]) + first[1:] + second
}

func (s *scribe) path() string {
	return fmt.Sprintf("%s/%s/%s_%s.go", s.one(s.folders), strings.ToLower(s.one(s.nouns)), strings.ToLower(s.one(s.stems)), strings.ToLower(s.one(s.nouns)))
}

func (s *scribe) hash() string { return fmt.Sprintf("%07x", s.r.IntN(1<<28)) }

// code is n functions.
func (s *scribe) code(n int) string {
	var b strings.Builder
	for range n {
		f, v, w, t := s.name(), s.name(), s.name(), s.one(s.nouns)
		fmt.Fprintf(&b, "// %s: %s\n// revision %s\nfunc (p *%s) %s(%s int, %s []byte) (*%s, error) {\n", f, s.sentence(), slot, s.one(s.nouns), f, v, w, t)
		for range s.between(2, 5) {
			switch s.r.IntN(5) {
			case 0:
				fmt.Fprintf(&b, "\tif %s < %d || len(%s) == 0 {\n\t\treturn nil, fmt.Errorf(\"%s: %%d of %%d: %%w\", %s, len(%s), err%s)\n\t}\n", v, s.r.IntN(5000), w, s.name(), v, w, t)
			case 1:
				fmt.Fprintf(&b, "\tfor i, %s := range p.%s[%s:] {\n\t\t%s = append(%s, %s.%s(i+%d)...)\n\t}\n", s.one(s.short), s.name(), v, w, w, s.one(s.short), s.name(), s.r.IntN(99))
			case 2:
				fmt.Fprintf(&b, "\t%s := p.%s.%s(%s, %q)\n", s.name(), s.name(), s.name(), v, s.one(s.words)+" "+s.one(s.words))
			case 3:
				fmt.Fprintf(&b, "\tp.mu.Lock()\n\tp.%s[%q] = %s << %d\n\tp.mu.Unlock()\n", s.name(), s.name(), v, s.r.IntN(31))
			case 4:
				fmt.Fprintf(&b, "\t// %s\n\tp.%s(%s[:min(len(%s), %d)])\n", s.sentence(), s.name(), w, w, 1<<s.between(4, 16))
			}
		}
		fmt.Fprintf(&b, "\treturn &%s{%s: %s}, nil\n}\n\n", t, s.name(), v)
	}
	return b.String()
}

// lines are n lines of a kind that tools print.
func (s *scribe) lines(n int) string {
	var b strings.Builder
	kind := s.r.IntN(4)
	for i := range n {
		at := "2026-03-" + fmt.Sprintf("%02dT%02d:%02d:%02d.%03dZ", s.between(1, 31), s.r.IntN(24), s.r.IntN(60), s.r.IntN(60), s.r.IntN(1000))
		switch kind {
		case 0:
			fmt.Fprintf(&b, "%s level=%s msg=%q id=%s took=%.1fms %s=%d\n", at, s.one(s.levels), s.one(s.words)+" "+s.one(s.words)+" "+s.one(s.words), s.id(i), s.r.Float64()*250, s.name(), s.r.IntN(9000))
		case 1:
			fmt.Fprintf(&b, "%s:%d:\t%s.%s(%s, %s)\n", s.path(), s.between(3, 700), s.one(s.short), s.name(), s.name(), s.id(i))
		case 2:
			fmt.Fprintf(&b, "-rw-r--r-- 1 build build %6d Mar %2d %02d:%02d %s %s\n", s.r.IntN(90000), s.between(1, 31), s.r.IntN(24), s.r.IntN(60), s.path(), s.id(i))
		case 3:
			fmt.Fprintf(&b, "--- %s: Test%s/%s_%s (%.2fs)\n", s.one(s.outcomes), s.one(s.stems)+s.one(s.nouns), s.name(), s.id(i), s.r.Float64()*3)
		}
	}
	return b.String()
}

// id is a slot in every sixth line, else a number that stays.
func (s *scribe) id(line int) string {
	if line%6 == 0 {
		return slot
	}
	return s.hash()
}

// document is a JSON text of n records.
func (s *scribe) document(n int) string {
	var b strings.Builder
	b.WriteString("[")
	for i := range n {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, "\n  {\"id\": \"%s-%s\", \"path\": %q, \"%s\": %d, \"%s\": %t, \"score\": %.4f, \"note\": %q}", s.hash(), s.id(i), s.path(), s.name(), s.r.IntN(99999), s.name(), s.r.IntN(2) == 0, s.r.Float64(), s.sentence())
	}
	return b.String() + "\n]\n"
}

// Words of the texts, the usual ones first.
const (
	wordList = `the of to and a in is that it for on with as be this by are at from or an when not which if each so after was one all has before only its then no they
but out into more same can must where two per than other over does until how between while first last line file test value request answer stream
server client error call name list field buffer byte token message part state count cache key time limit reader writer record header body chunk event
order queue worker process signal lock table column index query page block segment window change write read send wait keep drop close open start stop
begin end return fail pass check compare measure count build parse render encode decode empty whole partial broken missing second third early late
slow fast small large wide narrow deep shallow hidden visible stable strict weir river basin gauge channel gate sluice spill flood ripple current flow
level crest wall stone bank delta estuary reservoir rain operator tenant engineer reviewer author reader maintainer customer budget quota invoice
ledger account balance holiday notebook garden measurement calibration threshold tolerance deviation interpolation hysteresis turbulence sediment
permeability evaporation precipitation concurrency backpressure idempotent serialisation deduplication checkpoint rollback migration replication
consistency availability latency throughput nevertheless consequently occasionally deliberately apparently unfortunately approximately immediately
eventually previously naïve café — “quoted” 42 3.14 1,024 10% O(n) v2.1 e.g. i.e. TCP HTTP/2 UTF-8 JSON CPU RAM SHA-256`
	stemList = `Read Write Parse Flush Open Close Next Peek Merge Split Append Lookup Insert Evict Encode Decode Render Route Drain Retry Probe Clamp Hash Index Fold
Trim Scan Bind Admit Stage Refill Resume Settle Reclaim Snapshot Reconcile`
	nounList = `Buffer Segment Ledger Window Header Record Token Stream Queue Table Cursor Block Session Tenant Budget Schema Router Replica Vocabulary Prefix Gauge
Sluice Basin Checkpoint Histogram Deadline Envelope Registry Partition Watermark`
	folderList  = `internal/store internal/wire gateway cmd/gauge pkg/ledger plugins engine scripts/tools internal/flow testdata`
	shortList   = `b s r w it req out buf seg win tok rec`
	levelList   = `INFO DEBUG WARN ERROR`
	outcomeList = `PASS FAIL SKIP`
)
