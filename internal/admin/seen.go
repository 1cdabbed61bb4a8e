package admin

import (
	"context"

	"dedup-dashboard/internal/auth"
)

// maxSeen is the most letters that Seen tells of.
const maxSeen = 100

// Seen returns the looks that are still kept and found letters with this message id, each with those letters alone, masked for
// everybody. Operators may.
func (d *DeadLetters) Seen(ctx context.Context, who Caller, id string) ([]Scan, error) {
	if err := d.allow(ctx, who, auth.Operator, "look_up_dead_letters", ""); err != nil {
		return nil, err
	}
	if id == "" {
		return nil, nil
	}
	var found []Scan
	left := maxSeen
	for _, scan := range d.scans.all() {
		one := scan
		one.Letters = nil
		for i := range scan.Letters {
			if scan.Letters[i].ID == id && left > 0 {
				one.Letters = append(one.Letters, scan.Letters[i])
				left--
			}
		}
		if len(one.Letters) > 0 {
			found = append(found, one)
		}
	}
	return found, nil
}

// all returns the newest scan of each queue, masked, the newest first.
func (s *scanShelf) all() []Scan {
	s.mu.Lock()
	defer s.mu.Unlock()
	scans := make([]Scan, 0, len(s.order))
	for i := len(s.order) - 1; i >= 0; i-- {
		if k := s.scans[s.order[i]]; s.newestOf(k.raw.Pipeline, k.raw.Queue) == k {
			scans = append(scans, k.masked)
		}
	}
	return scans
}
