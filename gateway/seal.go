package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/weirgate/weir/abi/conv"
	"github.com/weirgate/weir/gateway/internal/config"
	"github.com/weirgate/weir/gateway/internal/httpapi"
	"github.com/weirgate/weir/gateway/internal/seal"
	"github.com/weirgate/weir/gateway/internal/surface"
	"github.com/weirgate/weir/gateway/internal/surface/responses"
	"github.com/weirgate/weir/gateway/internal/telemetry"
	"github.com/weirgate/weir/gateway/internal/tenant"
)

// bindSeal makes the box of a configuration. Without keys the one in the state folder counts, which is made at the first
// start; that is told once, for another weir that serves the same clients does not have it.
func (g *Gateway) bindSeal(c *config.Config) (*seal.Box, error) {
	if len(c.Seal.Keys) > 0 {
		keys, err := seal.LoadKeys(c.Seal.Keys, g.opt.LookupEnv, seal.ReadFile)
		if err != nil {
			return nil, fmt.Errorf("seal.keys: %w", err)
		}
		return seal.NewBox(keys...)
	}
	if g.ownKey != nil {
		return seal.NewBox(*g.ownKey)
	}
	key, where, err := stateKey(c)
	if err != nil {
		return nil, err
	}
	g.ownKey = &key
	g.log.LogAttrs(context.Background(), slog.LevelWarn, "no seal.keys are configured: what clients keep sealed is opened by this weir alone", slog.String(telemetry.KeyPath, where))
	return seal.NewBox(key)
}

// stateKey is the key in the state folder, or one that ends with the process where there is no such folder and none can be
// made. A key that is there and cannot be read is an error: what it sealed would be lost without a word.
func stateKey(c *config.Config) (key seal.Key, where string, err error) {
	dir := c.Server.StateDir
	if dir == "" {
		return seal.NewKey(), "memory", nil
	}
	key, _, err = seal.StateKey(dir)
	if err == nil {
		return key, dir, nil
	}
	if _, none := os.Stat(filepath.Join(dir, seal.KeyFile)); none != nil {
		return seal.NewKey(), "memory: " + err.Error(), nil //nolint:nilerr // it is told in the warning, and weir serves without
	}
	return key, "", errors.Join(errors.New("the key of seals is neither in seal.keys nor to be had in server.state_dir"), err)
}

// unsealed is the request of a call with what was sealed in it opened.
func (g *Gateway) unsealed(s *snapshot, t *tenant.Tenant, c *httpapi.Call) (*conv.Request, error) {
	req, report, err := seal.Unseal(c.Request.Request, s.box, t.Name, s.config.Seal.Strict && c.Surface == responses.Surface{}.Name())
	g.metrics.Seals(report.Opened, report.Invalid, report.Foreign)
	return req, err
}

// sealer seals reasoning as a surface needs it; it is nil where there is no place for a seal.
func (s *snapshot) sealer(m *model, t *tenant.Tenant, mode surface.SealMode) func([]byte) string {
	if mode == surface.SealNone {
		return nil
	}
	family := cmp.Or(m.Family, m.ID)
	return func(text []byte) string {
		switch {
		case len(text) == 0:
			return ""
		case mode == surface.SealTag:
			return s.box.Tag(t.Name, family, text)
		}
		return s.box.Reasoning(t.Name, family, text)
	}
}
