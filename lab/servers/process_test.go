package servers_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"dedup-dashboard/lab/servers"
)

func TestHelpersOfAChildThatEndsByItselfEndWithItAndAKillComesToNobodyElse(t *testing.T) {
	note := filepath.Join(t.TempDir(), "helper")
	child, err := servers.StartProcess(exec.Command("sh", "-c", `sleep 600 & echo $! >"$0"`, note))
	must(t, err)
	<-child.Done()
	text, err := os.ReadFile(note)
	must(t, err)
	helper, err := strconv.Atoi(strings.TrimSpace(string(text)))
	must(t, err)
	waitUntil(t, "the helper has ended", func() bool { return ended(t, helper) })
	child.Kill() // its number may be another's by now
}

// ended tells whether a process has ended, though perhaps nobody has asked yet how.
func ended(t *testing.T, pid int) bool {
	t.Helper()
	if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) {
		return true
	}
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err == nil && strings.Contains(string(status), ") Z ")
}
