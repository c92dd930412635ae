package config_test

import (
	"os"
	"testing"

	"github.com/weirgate/weir/gateway/internal/config"
)

func TestBeside(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/beside.good.toml")
	if err != nil {
		t.Fatal(err)
	}
	c := mustParse(t, string(data))
	for i, want := range []struct {
		shadow string
		canary config.Canary
	}{
		{"acme", config.Canary{Parser: "acme", Share: 1}},
		{"", config.Canary{}},
	} {
		if m := c.Models[i]; m.Shadow != want.shadow || m.Canary != want.canary {
			t.Errorf("%s: got shadow %q and canary %+v, want %q and %+v", m.ID, m.Shadow, m.Canary, want.shadow, want.canary)
		}
	}
}
