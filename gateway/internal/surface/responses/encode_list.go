package responses

import (
	"net/url"
	"strconv"

	"github.com/weirgate/weir/abi/jsonscan"
	"github.com/weirgate/weir/gateway/internal/chain"
	"github.com/weirgate/weir/gateway/internal/fault"
	"github.com/weirgate/weir/gateway/internal/surface/internal/wire"
)

// Page says which part of a list is asked for.
type Page struct {
	After string // id of the item before the first one; empty: from the beginning
	Limit int    // items, at most
	Asc   bool   // in the order of the conversation; else the newest first
}

const (
	defaultPage = 20
	maxPage     = 100
)

// ParsePage reads after, limit and order. Others are let be.
func ParsePage(q url.Values) (Page, error) {
	p := Page{After: q.Get("after"), Limit: defaultPage}
	if s := q.Get("limit"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > maxPage {
			return Page{}, fault.At(fault.Invalid, "limit", "expected a number from 1 to %d, got %q", maxPage, s[:min(len(s), 64)])
		}
		p.Limit = n
	}
	switch s := q.Get("order"); s {
	case "", "desc":
	case "asc":
		p.Asc = true
	default:
		return Page{}, fault.At(fault.Invalid, "order", "expected asc or desc, got %q", s[:min(len(s), 64)])
	}
	return p, nil
}

// ItemsBody is a page of items, given in the order of the conversation. Those that came without an id have one by
// their place. A page after an item that is not there is empty.
func ItemsBody(items []chain.Item, page Page) []byte {
	at := func(i int) int {
		if page.Asc {
			return i
		}
		return len(items) - 1 - i
	}
	from := 0
	if page.After != "" {
		for from < len(items) && itemID(items, at(from)) != page.After {
			from++
		}
		from = min(from+1, len(items))
	}
	to := min(from+page.Limit, len(items))
	b := []byte(`{"object":"list","data":[`)
	for i := from; i < to; i++ {
		if i > from {
			b = append(b, ',')
		}
		b = appendListed(b, items, at(i))
	}
	first, last := "", ""
	if from < to {
		first, last = itemID(items, at(from)), itemID(items, at(to-1))
	}
	b = wire.AppendNullable(append(b, `],"first_id":`...), first)
	b = wire.AppendNullable(append(b, `,"last_id":`...), last)
	b = strconv.AppendBool(append(b, `,"has_more":`...), to < len(items))
	return append(b, '}')
}

// itemID is the id of an item in a list.
func itemID(items []chain.Item, i int) string {
	if id := items[i].ID; id != "" {
		return id
	}
	return "item_" + strconv.Itoa(i)
}

// appendListed appends an item as it came, with an id, and with the type that a message may leave out.
func appendListed(b []byte, items []chain.Item, i int) []byte {
	id := string(jsonscan.AppendString(nil, itemID(items, i)))
	return appendObject(b, items[i].JSON, member{"id", id}, member{"type", `"message"`})
}
