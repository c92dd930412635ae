package seal

import (
	"errors"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/gateway/internal/fault"
)

// Report counts what became of a request's seals.
type Report struct {
	Opened  int // held a text, which is in the request now
	Invalid int // have the form of a seal and do not open, or do not vouch for the text beside them
	Foreign int // another vendor's
	Vouched int // tags that vouch for the text beside them
}

const (
	// param is the member that a fault names. Where in the request it stands is not known here.
	param = "encrypted_content"
	// lead stands in front of a summary, as the user's own words.
	lead = "Summary of the conversation so far:\n\n"
	// maxOpened bounds what the seals of one request may hold together, in bytes: one seal of a text that deflates well
	// can stand in a request many times.
	maxOpened = 32 << 20
)

// Unseal puts what a tenant's seals hold in their place, and takes away the seals. It returns req itself where there is
// nothing to do, and a copy otherwise, which may share what did not change.
//
//   - Reasoning whose seal opens is the sealed text, whatever is visible beside it. Any other seal comes off; without a
//     visible text the part goes, and so does a message that becomes empty by that.
//   - A summary becomes a text. One that does not open has nothing to show for it, and is a fault.
//
// strict makes every seal of the right form that does not open a fault. Errors are *fault.Error.
func Unseal(req *conv.Request, b *Box, tenant string, strict bool) (*conv.Request, Report, error) {
	u := unsealer{box: b, tenant: tenant, strict: strict}
	first := 0
	for first < len(req.Messages) && !sealed(req.Messages[first].Parts) {
		first++
	}
	if first == len(req.Messages) {
		return req, u.report, nil
	}
	out := *req
	out.Messages = append(make([]conv.Message, 0, len(req.Messages)), req.Messages[:first]...)
	for _, m := range req.Messages[first:] {
		if sealed(m.Parts) {
			var err error
			if m.Parts, err = u.parts(m.Parts); err != nil {
				return nil, u.report, err
			}
			if len(m.Parts) == 0 {
				continue
			}
		}
		out.Messages = append(out.Messages, m)
	}
	return &out, u.report, nil
}

// sealed reports whether a part changes when it is unsealed.
func sealed(parts []conv.Part) bool {
	for i := range parts {
		if p := &parts[i]; p.Kind == conv.Summary || p.Kind == conv.Reasoning && p.Seal != "" {
			return true
		}
	}
	return false
}

// unsealer is one call of Unseal.
type unsealer struct {
	box    *Box
	tenant string
	strict bool
	opened int // bytes
	report Report
}

func (u *unsealer) parts(parts []conv.Part) ([]conv.Part, error) {
	out := make([]conv.Part, 0, len(parts))
	for _, p := range parts {
		switch {
		case p.Kind == conv.Summary:
			text, err := u.summary(&p)
			if err != nil {
				return nil, err
			}
			p = conv.Part{Kind: conv.Text, Text: lead + text, Volatile: p.Volatile}
		case p.Kind == conv.Reasoning && p.Seal != "":
			text, err := u.reasoning(&p)
			if err != nil {
				return nil, err
			}
			if text == "" {
				continue
			}
			p.Text, p.Seal = text, ""
		}
		out = append(out, p)
	}
	return out, nil
}

// reasoning returns the text of a sealed part.
func (u *unsealer) reasoning(p *conv.Part) (string, error) {
	if kind, _, err := split(p.Seal); err == nil && kind == Tag && u.box.Vouches(u.tenant, "", p.Text, p.Seal) {
		u.report.Vouched++
		return p.Text, nil
	}
	text, err := u.open(Reasoning, p.Seal)
	switch {
	case err == nil || isFault(err):
		return text, err
	case u.strict && errors.Is(err, ErrInvalid):
		return "", fault.At(fault.Invalid, param, "this reasoning was changed, or its key is gone")
	}
	return p.Text, nil
}

// summary returns the text of a summary. One that is visible beside a seal was kept on this side: clients have none.
func (u *unsealer) summary(p *conv.Part) (string, error) {
	if p.Seal == "" && p.Text != "" {
		return p.Text, nil
	}
	text, err := u.open(Summary, p.Seal)
	switch {
	case err == nil || isFault(err):
		return text, err
	case p.Text == "" || u.strict && errors.Is(err, ErrInvalid):
		return "", fault.At(fault.Invalid, param, "this compaction was not made here, or its key is gone")
	}
	return p.Text, nil
}

// open returns what a seal of a kind holds, and counts it. Its errors are those of Box.Open, and a fault for seals that
// hold too much.
func (u *unsealer) open(kind Kind, s string) (string, error) {
	o, err := u.box.Open(u.tenant, s)
	if err == nil && o.Kind != kind {
		err = ErrInvalid
	}
	switch {
	case err == nil:
		u.report.Opened++
	case errors.Is(err, ErrForeign):
		u.report.Foreign++
	default:
		u.report.Invalid++
	}
	if u.opened += len(o.Text); u.opened > maxOpened {
		return "", fault.At(fault.TooLarge, param, "the sealed texts of a request have at most %d MiB together", maxOpened>>20)
	}
	return o.Text, err
}

func isFault(err error) bool {
	_, ok := errors.AsType[*fault.Error](err)
	return ok
}
