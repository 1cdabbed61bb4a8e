package check

import (
	"testing"

	"go.uber.org/goleak"

	"dedup-dashboard/lab/markerstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, markerstest.ClosedPools()) }
