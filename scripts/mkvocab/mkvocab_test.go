package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The committed vocabulary is what training gives, and it is trained the same way each time.
func TestVocabularyIsCurrent(t *testing.T) {
	t.Parallel()
	for range 2 {
		if err := run(filepath.Join("..", ".."), true, false); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCounts(t *testing.T) {
	t.Parallel()
	counts := map[string]int{" the": 9, "\n\t": 2, "\xff": 3, "é": 3, "rare": 1}
	text := formatCounts(counts)
	again, err := parseCounts(text)
	if err != nil {
		t.Fatal(err)
	}
	delete(counts, "rare")
	if len(again) != len(counts) {
		t.Fatalf("read %v, want %v", again, counts)
	}
	for piece, n := range counts {
		if again[piece] != n {
			t.Errorf("%q was seen %d times, want %d", piece, again[piece], n)
		}
	}
	for _, bad := range []string{"x", "1", "0 \"a\"\n", "1 a\n", "-1 \"a\"\n"} {
		if _, err := parseCounts([]byte(bad)); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestPieces(t *testing.T) {
	t.Parallel()
	base, err := newPieces()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, text, want string
	}{
		{"words", "Hello wide world", "Hello| wide| world"},
		{"contraction", "don't he'LL x'y", "don|'t| he|'LL| x|'y"},
		{"digits", "12345 6", "123|45| |6"},
		{"punctuation", "a, b!? (c)", "a|,| b|!?| (|c|)"},
		{"punctuation takes line ends", "x;\n\ny", "x|;\n\n|y"},
		{"blanks leave one", "a   b", "a|  | b"},
		{"blanks to the last line end", "a \n \n  b", "a| \n \n| | b"},
		{"blanks at the end", "a   ", "a|   "},
		{"tab before a word", "\tif", "\tif"},
		{"blank before a digit", "a 1", "a| |1"},
		{"specials are no pieces", "a<think>b", "a|b"},
		{"bytes that are not text", "a\xff\xfeb", "ab"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.Join(slices.Collect(base.of(c.text)), "|"); got != c.want {
				t.Errorf("pieces %q, want %q", got, c.want)
			}
		})
	}
}

func TestTrainTakesTheMostFrequentPair(t *testing.T) {
	t.Parallel()
	merges := train(map[string]int{"abab": 5, "ab": 3, "cd": 9, "x": 100}, 10)
	var tokens []string
	text := make([]string, 256)
	for i := range text {
		text[i] = string([]byte{byte(i)})
	}
	for _, p := range merges {
		text = append(text, text[p.left]+text[p.right])
		tokens = append(tokens, text[len(text)-1])
	}
	if want := []string{"ab", "cd", "abab"}; !slices.Equal(tokens, want) {
		t.Errorf("learned %q, want %q", tokens, want)
	}
}

func TestForms(t *testing.T) {
	t.Parallel()
	got := []string{plural("city"), plural("day"), plural("box"), suffixed("make", "ing"), suffixed("carry", "ed"), suffixed("carry", "ing"), adverb("simple"), adverb("happy"), adverb("basic"), title("word")}
	want := "cities days boxes making carried carrying simply happily basically Word"
	if s := strings.Join(got, " "); s != want {
		t.Errorf("forms %s, want %s", s, want)
	}
}
