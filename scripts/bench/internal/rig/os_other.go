//go:build !linux

package rig

import (
	"errors"
	"os/exec"
	"time"
)

// tie needs a signal at the death of a parent, which Linux has.
func tie(*exec.Cmd) {}

// cpuTime needs the CPU clock of another process, which is read on Linux.
func cpuTime(int) (time.Duration, error) {
	return 0, errors.New("the CPU time of another process is measured on Linux only")
}
