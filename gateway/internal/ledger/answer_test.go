package ledger_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/weirgate/weir/gateway/internal/ledger"
)

// answered is what the model wrote for messages[n] of a prompt: the text of p from its generation prompt
// up to the end of the turn, and its parts.
func answered(t *testing.T, before, p *ledger.Prompt, message int) ledger.Answer {
	t.Helper()
	from := len(before.Text)
	to := from + strings.Index(p.Text[from:], "<|im_end|>") + len("<|im_end|>")
	if !strings.HasPrefix(p.Text, before.Text) || to < from {
		t.Fatal("the conversation does not go on")
	}
	a := ledger.Answer{Text: p.Text[from:to], IDs: encoder(t).Encode(nil, p.Text[from:to])}
	for _, part := range p.Parts {
		if part.Message == message && part.Start >= from && part.Kind != ledger.ToolSchema {
			part.Start, part.End = part.Start-from, part.End-from
			a.Parts = append(a.Parts, part)
		}
	}
	return a
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		answer func(*ledger.Answer)
		style  style
		want   expectation
	}{
		{name: "comes back as it was"},
		{
			name: "other tokens for the same text", answer: func(a *ledger.Answer) { a.IDs[3], a.IDs[4] = a.IDs[4], a.IDs[3] },
			want: expectation{cause: ledger.TurnUnknown, kind: ledger.Call, name: "open"},
		},
		{
			name: "printed again", style: style{respaced: true},
			want: expectation{cause: ledger.TemplateReserialises, kind: ledger.Call, name: "open"},
		},
		{
			name: "printed again since it was forgotten", style: style{respaced: true, forgotten: true},
			want: expectation{cause: ledger.TurnUnknown, kind: ledger.Call, name: "open"},
		},
		{
			name: "without the reasoning", style: style{dropped: true, owner: ledger.OwnerTemplate},
			want: expectation{cause: ledger.ReasoningDropped, kind: ledger.Reasoning, owner: ledger.OwnerTemplate},
		},
		{
			name: "other reasoning", answer: func(a *ledger.Answer) {
				a.Text = strings.Replace(a.Text, "look", "wait", 1)
				a.IDs[2]++
			},
			want: expectation{cause: ledger.ReasoningMutated, kind: ledger.Reasoning, owner: ledger.OwnerClient},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := ledger.New(ledger.Options{})
			one := render(t, l, key, talk(ask), style{})
			a := answered(t, one, render(t, l, key, talk(ask, acts, seen), style{}), 2)
			if c.answer != nil {
				c.answer(&a)
			}
			whole := &ledger.Prompt{IDs: slices.Concat(one.IDs, a.IDs)}
			l.Append(l.Observe(one).Ref, a)
			p := render(t, l, key, talk(ask, acts, seen, goesOn), c.style)
			r := l.Observe(p)
			got := expectation{r.Cause, r.Where.Kind, r.Change, r.Where.Name, r.Owner, r.Where.Gone}
			if got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
			if n := naive(whole, p); r.Shared != n {
				t.Errorf("shared %d, want %d", r.Shared, n)
			}
		})
	}
}

func TestAnswersThatDoNotCount(t *testing.T) {
	t.Parallel()
	l := ledger.New(ledger.Options{})
	one := render(t, l, key, talk(ask), style{})
	two := render(t, l, key, talk(ask, acts, seen), style{})
	a := answered(t, one, two, 2)
	r := l.Observe(one)
	l.Append(ledger.Ref{}, a)
	l.Append(r.Ref, ledger.Answer{Text: a.Text, Parts: a.Parts}) // without ids
	l.Append(r.Ref, ledger.Answer{})
	l.Append(r.Ref, a)
	bytes := l.Stats().Bytes
	l.Append(r.Ref, a)
	if got := l.Stats().Bytes; got != bytes {
		t.Errorf("a second answer takes %d bytes", got-bytes)
	}
	if r := l.Observe(two); r.Cause != ledger.None {
		t.Errorf("%v", r.Cause)
	}
	l.Append(r.Ref, a) // the prompt became part of a longer one
	if r := l.Observe(two); r.Cause != ledger.None || r.Shared != len(two.IDs) {
		t.Errorf("%v, shared %d", r.Cause, r.Shared)
	}
}

// TestAnswerOfBytes appends to a prompt that has no ids.
func TestAnswerOfBytes(t *testing.T) {
	t.Parallel()
	l := ledger.New(ledger.Options{})
	one := render(t, l, key, talk(ask), style{bytes: true})
	two := render(t, l, key, talk(ask, acts, seen), style{bytes: true})
	a := answered(t, one, two, 2)
	a.IDs = nil
	l.Append(l.Observe(one).Ref, a)
	two.Tokens = len(two.Text)
	if r := l.Observe(two); r.Cause != ledger.None || r.Shared != len(one.Text)+len(a.Text) {
		t.Errorf("%v, shared %d of %d", r.Cause, r.Shared, len(one.Text)+len(a.Text))
	}
}
