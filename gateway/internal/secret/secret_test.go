package secret_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/weirgate/weir/gateway/internal/secret"
)

func TestNothingPrintsIt(t *testing.T) {
	t.Parallel()
	s := secret.New("hunter2")
	inside := struct {
		Key secret.Text
		Ptr *secret.Text
	}{s, &s}
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		fmt.Fprintf(&out, verb+verb+"\n", s, inside)
	}
	b, err := json.Marshal(inside)
	if err != nil {
		t.Fatal(err)
	}
	out.Write(b)
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "key", s)
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "key", s, "in", inside)
	if strings.Contains(out.String(), "hunter2") {
		t.Fatalf("the secret is printed:\n%s", out.String())
	}
	if !strings.Contains(out.String(), "[redacted]") {
		t.Fatalf("no sign of the secret:\n%s", out.String())
	}
}

func TestZero(t *testing.T) {
	t.Parallel()
	var none secret.Text
	if !none.IsZero() || none.String() != "" || none.Reveal() != "" {
		t.Fatalf("zero value is %q", none)
	}
	if s := secret.New("x"); s.IsZero() || s.Reveal() != "x" {
		t.Fatal("a secret is lost")
	}
}
