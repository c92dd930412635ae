//go:build unix

package harness

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup makes the process the leader of a group, so that it can be ended with its children.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup ends the process and the children that stayed in its group.
func killGroup(cmd *exec.Cmd) error {
	if cmd.Process == nil {
		return os.ErrProcessDone
	}
	return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
}
