package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Build builds a package of this module. The tool runs anywhere inside it.
func Build(ctx context.Context, env []string, out string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	root, err := moduleRoot(ctx)
	if err != nil {
		return err
	}
	res, err := Execute(ctx, root, append(os.Environ(), env...), "go", append([]string{"build", "-o", out}, args...)...)
	if err != nil {
		return fmt.Errorf("build %s: %w\n%s", args[len(args)-1], err, res.Stderr)
	}
	return nil
}

func moduleRoot(ctx context.Context) (string, error) {
	res, err := Execute(ctx, "", os.Environ(), "go", "env", "GOMOD")
	if err != nil {
		return "", err
	}
	file := strings.TrimSpace(res.Stdout)
	if file == "" || file == os.DevNull {
		return "", errors.New("run this inside the module")
	}
	return filepath.Dir(file), nil
}
