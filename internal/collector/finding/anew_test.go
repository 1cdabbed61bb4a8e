package finding

import (
	"time"

	"dedup-dashboard/internal/dedup"
)

func anewCases() []findingCase {
	found := func(n float64) []dedup.Finding {
		return OfScheme(SchemeUse{Scheme: dedup.Scheme{DoneTTL: time.Hour}, Anew: n})
	}
	return []findingCase{
		{"worked_again", "is found for work of the last day", found(377), dedup.Warning, []string{"at least 377 times in 24 h, by the store's events; done markers live for 1 h"}},
		{"worked_again", "is silent where none is", found(0), silent, nil},
	}
}
