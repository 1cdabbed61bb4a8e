package servers

import "syscall"

// childAttributes puts a child in its own process group and ties its life to that of the thread that starts it.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
