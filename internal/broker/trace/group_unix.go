//go:build unix

package trace

import "syscall"

// ownGroup puts a process in a session of its own, so that signals to ours do not reach it.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
