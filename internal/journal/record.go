package journal

import (
	"encoding/base64"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"dedup-dashboard/internal/admin/marker"
	"dedup-dashboard/internal/dedup"
)

// JSON holds no bytes that are not UTF-8 and no year beyond 9999, but keys of markers and their expiries can be both. So
// such strings are written in base64 behind a mark, and such times as the last that can be written; the exact expiry of a
// sighting is a number of its own.
const byteMark = "\x00base64:"

var lastTime = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)

func packString(s string) string {
	if utf8.ValidString(s) && !strings.HasPrefix(s, byteMark) {
		return s
	}
	return byteMark + base64.StdEncoding.EncodeToString([]byte(s))
}

func unpackString(s string) string {
	coded, marked := strings.CutPrefix(s, byteMark)
	if !marked {
		return s
	}
	b, err := base64.StdEncoding.DecodeString(coded)
	if err != nil {
		return s
	}
	return string(b)
}

func packTime(t time.Time) time.Time {
	if t.After(lastTime) {
		return lastTime
	}
	if t.Year() < 1 {
		return time.Time{}
	}
	return t.UTC()
}

func keepTime(t time.Time) time.Time { return t }

// sightingWith returns a copy with every string that a store or a producer wrote, and every time, changed.
func sightingWith(s dedup.Sighting, text func(string) string, at func(time.Time) time.Time) dedup.Sighting {
	for _, p := range []*string{&s.ID, &s.Key, &s.Status, &s.BusinessKey, &s.Owner, &s.Detail, &s.Server} {
		*p = text(*p)
	}
	for _, p := range []*time.Time{&s.Since, &s.FirstSeen, &s.Expires, &s.ExpirySet, &s.At, &s.Clock} {
		*p = at(*p)
	}
	if s.Retry != nil {
		retry := *s.Retry
		retry.Key, retry.Value = text(retry.Key), text(retry.Value)
		s.Retry = &retry
	}
	return s
}

// planWith returns a copy of a plan, changed likewise.
func planWith(p marker.Plan, text func(string) string, at func(time.Time) time.Time) marker.Plan {
	p.Request.Keys = slices.Clone(p.Request.Keys)
	for i := range p.Request.Keys {
		p.Request.Keys[i] = text(p.Request.Keys[i])
	}
	if p.Request.Filter != nil {
		f := *p.Request.Filter
		f.Match = text(f.Match)
		p.Request.Filter = &f
	}
	p.Items = slices.Clone(p.Items)
	for i := range p.Items {
		p.Items[i].Seen = sightingWith(p.Items[i].Seen, text, at)
	}
	p.LeftOut = slices.Clone(p.LeftOut)
	for i := range p.LeftOut {
		p.LeftOut[i].Key, p.LeftOut[i].ID = text(p.LeftOut[i].Key), text(p.LeftOut[i].ID)
	}
	return p
}

func encodePlan(p marker.Plan) (string, error) {
	return asJSON(planWith(p, packString, packTime))
}

func decodePlan(text string) (marker.Plan, error) {
	p, err := unmarshal[marker.Plan]("plan", text)
	return planWith(p, unpackString, keepTime), err
}

func encodeSighting(s dedup.Sighting) (string, error) {
	s.Value = nil
	return asJSON(sightingWith(s, packString, packTime))
}

func decodeSighting(text string) (dedup.Sighting, error) {
	s, err := unmarshal[dedup.Sighting]("marker", text)
	return sightingWith(s, unpackString, keepTime), err
}

func encodeOutcome(o dedup.Outcome) (string, error) {
	o.Text = packString(o.Text)
	if o.Now != nil {
		now := sightingWith(*o.Now, packString, packTime)
		now.Value = nil
		o.Now = &now
	}
	return asJSON(o)
}

func decodeOutcome(text string) (dedup.Outcome, error) {
	o, err := unmarshal[dedup.Outcome]("outcome", text)
	o.Text = unpackString(o.Text)
	if o.Now != nil {
		now := sightingWith(*o.Now, unpackString, keepTime)
		o.Now = &now
	}
	return o, err
}
