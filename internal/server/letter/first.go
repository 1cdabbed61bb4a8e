package letter

import (
	"dedup-dashboard/internal/admin/deadletter"
)

// First are the first letters that a requeue moves unless somebody chooses otherwise. Where it moves none they are the first of all: the
// review says why.
func First(letters []deadletter.Letter, most int, target string) []deadletter.Letter {
	var some []deadletter.Letter
	for _, l := range letters {
		if len(some) < most && l.Goes(target) {
			some = append(some, l)
		}
	}
	if len(some) == 0 {
		some = letters[:min(len(letters), most)]
	}
	return some
}
