package models_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/weirgate/weir/gateway/internal/surface/models"
)

var list = []models.Model{
	{ID: "qwen3", DisplayName: "Qwen \"3\"", OwnedBy: "us", Created: time.Unix(1700000000, 0), Context: 65536, MaxOutput: 8192},
	{ID: "anthropic/qwen3"},
}

func TestBody(t *testing.T) {
	const want = `{"object":"list","data":[` +
		`{"id":"qwen3","object":"model","type":"model","display_name":"Qwen \"3\"","created":1700000000,"created_at":"2023-11-14T22:13:20Z","owned_by":"us","max_model_len":65536,"context_window":65536,"max_output_tokens":8192},` +
		`{"id":"anthropic/qwen3","object":"model","type":"model","display_name":"anthropic/qwen3","created":0,"created_at":"1970-01-01T00:00:00Z","owned_by":"weir"}` +
		`],"has_more":false,"first_id":"qwen3","last_id":"anthropic/qwen3","models":[`
	if got := string(models.Body(list)); !strings.HasPrefix(got, want) || !json.Valid([]byte(got)) {
		t.Errorf("got  %s\nwant %s...", got, want)
	}
	if got, want := string(models.Body(nil)), `{"object":"list","data":[],"has_more":false,"first_id":null,"last_id":null,"models":[]}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestOne(t *testing.T) {
	const want = `{"id":"qwen3","object":"model","type":"model","display_name":"Qwen \"3\"","created":1700000000,"created_at":"2023-11-14T22:13:20Z","owned_by":"us","max_model_len":65536,"context_window":65536,"max_output_tokens":8192}`
	if got := string(models.One(list[0])); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestOneIsOfTheList wants the same entry alone and in the list, whatever the catalogue says of it.
func TestOneIsOfTheList(t *testing.T) {
	for _, m := range catalogue() {
		if one := string(models.One(m)); !strings.Contains(string(models.Body(catalogue())), one) || strings.Contains(one, "slug") {
			t.Errorf("got %s", one)
		}
	}
}
