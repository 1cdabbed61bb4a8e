package markerstest

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// Main runs the tests of a package that shares the servers, and ends them before anybody looks for what the tests left behind.
func (s *SQLServers) Main(m *testing.M) { goleak.VerifyTestMain(stopping{m, s}, ClosedPools()) }

type stopping struct {
	m       *testing.M
	servers *SQLServers
}

// Run runs the tests and stops the servers.
func (s stopping) Run() int {
	code := s.m.Run()
	if err := s.servers.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}
