package message

import (
	"time"

	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/letter"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// scanGone says what to do about a scan that is not kept any more.
func scanGone(err error) error {
	if dedup.KindOf(err) != dedup.NotFound {
		return err
	}
	return &dedup.Error{Kind: dedup.NotFound, Err: err, Public: show.ErrorText(err) +
		" What a look found is kept for " + templates.Span(deadletter.ScanLife) + ": go back to the queue and look again"}
}

// whereSeen returns where a letter is to be found: in the look that is named, or when that is gone in the newest one of its queue. Its
// error leads back to the queue, and says who looked there last.
func (s pages) whereSeen(r *web.Request, key letter.Key) (letter.Key, error) {
	_, err := s.letters.Letter(r.Context(), r.Asker(), key.Scan, key.Ref)
	if dedup.KindOf(err) != dedup.NotFound {
		return key, err
	}
	back := letter.QueueAddress(s.site.Base, key.Pipeline, key.Queue)
	if from, parked := dedup.ParkedFrom(dedup.QueueRef{Name: key.Queue}); parked {
		back = letter.ParkingAddress(s.site.Base, key.Pipeline, from.Name)
	}
	gone := &web.LedBack{Err: scanGone(err), Href: back, Word: "Back to the queue"}
	view, failed := s.letters.Queue(r.Context(), r.Asker(), key.Pipeline, key.Queue)
	if failed != nil || view.Scan == nil || view.Scan.ID == key.Scan {
		return key, gone // why the queue cannot be read is said by its own page
	}
	newer := key
	newer.Scan = view.Scan.ID
	if _, err := s.letters.Letter(r.Context(), r.Asker(), newer.Scan, newer.Ref); err == nil {
		return newer, nil
	}
	now := r.Now()
	gone.Err = &dedup.Error{Kind: dedup.NotFound, Err: err, Public: "The look that saw this message is not kept any more. " + whoLooked(*view.Scan, now) +
		" and did not see it: it was moved in between, or stands behind the messages that were looked at"}
	return key, gone
}

// whoLooked says who looked at a queue, and when.
func whoLooked(scan deadletter.Scan, now time.Time) string {
	return show.ShortName(scan.By) + " looked at the queue at " + show.Moment(scan.At, now).Text
}

// sinceLooked notes that somebody has looked at the queue since a letter was seen.
func sinceLooked(scan deadletter.Scan, now time.Time, queue string) []templates.Problem {
	if scan.NewerBy == "" && scan.NewerAt.IsZero() {
		return nil
	}
	by, was := show.ShortName(scan.NewerBy), show.ShortName(scan.By)
	return []templates.Problem{{
		Tier: dedup.TierUnknown.String(), Href: queue, Link: "To the newer look",
		Text: templates.Sentence(by + " looked at the queue again at " + show.Moment(scan.NewerAt, now).Text + ". This page shows what " + was + " saw at " + show.Moment(scan.At, now).Text + "."),
	}}
}
