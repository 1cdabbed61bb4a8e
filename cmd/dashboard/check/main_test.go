package check

import (
	"testing"

	"go.uber.org/goleak"

	"dedup-dashboard/internal/markers/markerstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, markerstest.ClosedPools()) }
