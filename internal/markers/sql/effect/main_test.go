package effect_test

import (
	"testing"

	"dedup-dashboard/lab/markerstest"
)

// sqlServers are shared by all tests of the package.
var sqlServers markerstest.SQLServers

func TestMain(m *testing.M) { sqlServers.Main(m) }
