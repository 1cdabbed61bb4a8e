package kinds_test

import (
	"testing"

	"dedup-dashboard/lab/markerstest"
)

func TestEachPresetConforms(t *testing.T) {
	for _, scheme := range []markerstest.Scheme{markerstest.TextStatus(), markerstest.JSONStatus()} {
		t.Run(scheme.Preset, func(t *testing.T) {
			server, rdb := markerstest.StartRedis(t)
			markerstest.Conform(t, markerstest.Config(t, scheme.Preset, server.URL()), rdb, scheme)
		})
	}
}
