package requeue_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

// TestMain has every property checked in thousands of cases, unless the command line says how many.
func TestMain(m *testing.M) {
	flag.Parse()
	checks := "6000"
	if testing.Short() {
		checks = "600"
	}
	said := false
	flag.Visit(func(f *flag.Flag) { said = said || f.Name == "rapid.checks" })
	if !said {
		_ = flag.Set("rapid.checks", checks)
	}
	_ = flag.Set("rapid.nofailfile", "true")
	goleak.VerifyTestMain(m)
}
