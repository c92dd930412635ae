package rig

import (
	"fmt"
	"os/exec"
	"syscall"
	"time"
	"unsafe"
)

// tie has the kernel end a child when this process is killed and can end nothing itself. The signal comes
// when the thread ends that started the child, which threads of Go do with their process alone, unless
// one is locked to a goroutine.
func tie(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// cpuTime is the user and system time that all threads of a process have used, those that ended too, to
// the nanosecond. It reads the process's CPU clock, whose id is made of the process's as
// clock_getcpuclockid(3) makes it; /proc/PID/stat counts the same in hundredths of a second.
func cpuTime(pid int) (time.Duration, error) {
	const sched = 2
	clock := int32(^pid)<<3 | sched
	var ts syscall.Timespec
	if _, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, uintptr(clock), uintptr(unsafe.Pointer(&ts)), 0); errno != 0 {
		return 0, fmt.Errorf("CPU clock of process %d: %w", pid, errno)
	}
	return time.Duration(ts.Nano()), nil
}
