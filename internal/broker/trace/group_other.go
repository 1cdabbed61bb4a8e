//go:build !unix

package trace

import "syscall"

// ownGroup changes nothing where there are no process groups.
func ownGroup() *syscall.SysProcAttr { return nil }
