package show

import (
	"slices"
	"testing"

	"dedup-dashboard/internal/dedup"
)

func TestTheWordOfAMethodIsNoneOfAQuality(t *testing.T) {
	qualities := []string{dedup.Measured.String(), dedup.Derived.String(), dedup.Estimated.String(), dedup.QualityUnknown.String()}
	for _, m := range dedup.Methods() {
		if word := methodWord(m); slices.Contains(qualities, word) {
			t.Errorf("the method %s is called %s, as a quality", m, word)
		}
	}
}
