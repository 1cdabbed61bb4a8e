package collector

import (
	"time"

	"dedup-dashboard/internal/dedup"
)

func anewCases() []findingCase {
	found := func(anew ...float64) []dedup.Finding { // a reading each 6 h
		w := &storeWatch{}
		for i, n := range anew {
			w.tape.readings = append(w.tape.readings, storeReading{At: findingNow.Add(time.Duration(i) * 6 * time.Hour), Epoch: 1, Anew: n})
		}
		return workedAnew(w, dedup.Scheme{DoneTTL: time.Hour})
	}
	return []findingCase{
		{"worked_again", "is found for work of the last day", found(0, 0, 377), dedup.Warning, []string{"at least 377 times in 24 h, by the store's events; done markers live for 1 h"}},
		{"worked_again", "is silent where none is", found(0, 0, 0), silent, nil},
		{"worked_again", "is silent about what is older than a day", found(0, 5, 5, 5, 5, 5, 5), silent, nil},
		{"worked_again", "is silent where no events came", found(), silent, nil},
		{"worked_again", "is silent without a store", workedAnew(nil, dedup.Scheme{}), silent, nil},
	}
}
