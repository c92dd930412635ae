// Package models is the body of GET /v1/models: one superset that the clients of every surface read.
package models

import (
	"strconv"
	"time"

	"github.com/weirgate/weir/abi/jsonscan"
)

// Model is one model as clients see it.
type Model struct {
	ID          string
	DisplayName string    // the id when empty
	OwnedBy     string    // "weir" when empty
	Created     time.Time // of the entry
	Context     int       // tokens of the window; 0 is unknown and left out
	MaxOutput   int       // tokens of one answer; 0 is unknown and left out
	Of          string    // id of the model that ID is another name of; empty: it is the model's own
	Codex       Codex
}

// Body is the list: OpenAI's members and Anthropic's beside each other, and after them the catalogue that Codex reads.
// It is one page, whatever a client asks for.
func Body(list []Model) []byte {
	b := append(make([]byte, 0, 64+256*len(list)), `{"object":"list","data":[`...)
	for i := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendModel(b, &list[i])
	}
	b = append(b, `],"has_more":false,"first_id":`...)
	if len(list) == 0 {
		return append(b, `null,"last_id":null,"models":[]}`...)
	}
	b = jsonscan.AppendString(b, list[0].ID)
	b = append(b, `,"last_id":`...)
	b = jsonscan.AppendString(b, list[len(list)-1].ID)
	b = append(b, `,"models":[`...)
	for i := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendCodex(b, &list[i])
	}
	return append(b, `]}`...)
}

// One is the body of GET /v1/models/{id}.
func One(m Model) []byte { return appendModel(nil, &m) }

func appendModel(b []byte, m *Model) []byte {
	owner := m.OwnedBy
	if owner == "" {
		owner = "weir"
	}
	created := m.Created.UTC()
	if created.IsZero() {
		created = time.Unix(0, 0).UTC()
	}
	b = jsonscan.AppendString(append(b, `{"id":`...), m.ID)
	b = append(b, `,"object":"model","type":"model","display_name":`...)
	b = jsonscan.AppendString(b, m.name())
	b = strconv.AppendInt(append(b, `,"created":`...), created.Unix(), 10)
	b = created.AppendFormat(append(b, `,"created_at":"`...), time.RFC3339)
	b = jsonscan.AppendString(append(b, `","owned_by":`...), owner)
	if m.Context > 0 {
		b = appendInt(append(b, `,"max_model_len":`...), m.Context)
		b = appendInt(append(b, `,"context_window":`...), m.Context)
	}
	if m.MaxOutput > 0 {
		b = appendInt(append(b, `,"max_output_tokens":`...), m.MaxOutput)
	}
	return append(b, '}')
}

// name is what a list shows.
func (m *Model) name() string {
	if m.DisplayName == "" {
		return m.ID
	}
	return m.DisplayName
}

func appendInt(b []byte, n int) []byte { return strconv.AppendInt(b, int64(n), 10) }
