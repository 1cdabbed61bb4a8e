package markers_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"dedup-dashboard/internal/markers/markerstest"
)

// sqlServers are shared by all tests of the package.
var sqlServers markerstest.SQLServers

func TestMain(m *testing.M) { goleak.VerifyTestMain(stopping{m}, markerstest.ClosedPools()) }

// stopping ends the shared servers before anybody looks for what the tests left behind.
type stopping struct{ m *testing.M }

func (s stopping) Run() int {
	code := s.m.Run()
	if err := sqlServers.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}
