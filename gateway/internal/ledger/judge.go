package ledger

import "slices"

// report judges the prompt p, whose entry is e, by the best match and, where that is another
// conversation, by the entry of its own. It returns the entry that e makes needless, if any.
func (s *session) report(p *Prompt, e *entry, best match) (Report, *entry) {
	r := Report{Tokens: p.tokens(), Shared: tokensOf(p, best.bytes), Exact: len(p.IDs) > 0 && best.exact, Cause: First}
	block := p.Block
	if block <= 0 {
		block = blockIDs
	}
	r.Expected = max(0, min(r.Shared, r.Tokens-1)) / block * block
	if best.e == nil {
		r.Exact = len(p.IDs) > 0
		return r, nil
	}
	c := comparison{now: e.parts, text: p.Text, owner: p.Owner}
	v, ok := c.verdict(p, e, best)
	if (!ok || v.cause.Break()) && best.exact && best.bytes >= best.e.size {
		r.Cause = None // all of the earlier prompt is there, whatever its parts are called
		return r, nil
	}
	if !ok {
		for _, old := range slices.Backward(s.entries) {
			if old == best.e || !c.repeats(old.parts) {
				continue
			}
			m := old.match(units{ids: p.IDs, text: p.Text}, e.hashes, 0)
			if w, related := c.verdict(p, e, m); related && (!ok || m.bytes > best.bytes) {
				v, best, ok = w, m, true
			}
		}
	}
	if !ok {
		if r.Cause = SideQuery; s.key.Session == "" {
			r.Cause = First
		}
		return r, nil
	}
	if r.Cause = v.cause; r.Cause.Break() {
		r.BrokeAt = tokensOf(p, best.bytes)
		r.Lost = tokensOf(p, best.e.size-best.bytes)
		r.Owner, r.Change, r.Where = v.owner, v.change, v.where()
		return r, nil
	}
	if v.extends && best.bytes == best.e.size {
		return r, best.e
	}
	return r, nil
}

// verdict judges e by the entry of m. It is not ok when the two are of different conversations.
func (c *comparison) verdict(p *Prompt, e *entry, m match) (v verdict, ok bool) {
	old := m.e
	lost := min(old.size, e.size) - m.bytes
	if len(old.parts) == 0 || len(e.parts) == 0 {
		// Less than a block is the answer's header, which need not be in the history.
		if lost == 0 || lost < min(blockBytes, m.bytes) {
			return verdict{extends: true}, true
		}
		return verdict{cause: TemplateChanged}, m.blocks > 0
	}
	c.old, c.tail, c.closed = old.parts, old.tail, old.closed
	v = c.judge()
	if v.cause.Break() {
		return v, c.related(&v)
	}
	if !v.extends {
		return v, true
	}
	// The same bytes. Tokens at the border to what is new may differ, since tokens reach over it; more
	// than that has a reason.
	answered := m.bytes >= old.prompt && m.exact
	switch {
	case answered && lost > 2*old.width && len(p.IDs) > 0:
		v = verdict{cause: TurnUnknown, at: said(e.parts[:v.j]), i: v.i, j: v.j}
	case lost >= blockBytes:
		v = verdict{cause: TemplateChanged, i: v.i, j: v.j}
	}
	return v, true
}

// said is the last part that the model wrote, or nil.
func said(parts []part) *part {
	for i := range slices.Backward(parts) {
		if p := &parts[i]; !p.empty() && (p.kind == Assistant || p.kind == Reasoning || p.kind == Call) {
			return p
		}
	}
	return nil
}

// where names the part of the verdict.
func (v *verdict) where() Where {
	if v.at == nil {
		return Where{}
	}
	w := Where{
		Kind: v.at.kind, Message: int(v.at.message), Part: int(v.at.part), Name: v.at.name,
		Start: int(v.at.start), End: int(v.at.end), Gone: v.gone,
	}
	if v.between {
		w = Where{Kind: Template, Message: w.Message, Part: w.Part, Start: w.Start, End: w.Start}
	}
	return w
}

// tokensOf makes bytes of units tokens of p.
func tokensOf(p *Prompt, n int) int {
	if len(p.IDs) > 0 {
		return n / idBytes
	}
	return int(int64(n) * int64(p.tokens()) / int64(max(1, len(p.Text))))
}
