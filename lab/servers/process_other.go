//go:build unix && !linux

package servers

import "syscall"

// childAttributes puts a child in its own process group; only Linux can also tie its life to that of its parent.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
