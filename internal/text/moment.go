// Package text reads and writes words for people. It knows nothing of brokers, stores or pages.
package text

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MaxMoment is the most bytes of a time that somebody writes.
const MaxMoment = 64

// errNoMoment is the answer to what is no time at all.
var errNoMoment = errors.New("not a time")

// A Moment is a time that somebody wrote.
type Moment struct {
	// At is when that is, in the zone in which it was read.
	At time.Time
	// Again is the second time that the clocks show it, in the hour that is repeated when summer time ends; else zero.
	Again time.Time
	// Skipped is set where the clocks never show it, because they are put forward over it. At is when they are.
	Skipped bool
}

// A Reader reads times as people write them: 2026-11-23, 2026-11-23 15:00, 15:00, yesterday, today 15:00, 2h, 2 hours ago.
// An offset or Z behind a date and time wins over the zone.
type Reader struct {
	// Now is when it is read, in the zone of who wrote it.
	Now time.Time
	// Ahead looks into the future: a time of day is the next one and 2h is in two hours. Without it they are the last one and two hours ago.
	Ahead bool
}

var (
	dayPattern   = regexp.MustCompile(`^(\d{4})-(\d{2})-(\d{2})(?:[t ]\s*(.+))?$`)
	wordPattern  = regexp.MustCompile(`^(today|yesterday|tomorrow)(?:\s+(.+))?$`)
	clockPattern = regexp.MustCompile(`^(\d{1,2}):(\d{2})(?::(\d{2})(\.\d{1,9})?)?\s*(z|utc|gmt|[+-]\d{2}:?\d{2})?$`)
	spanPattern  = regexp.MustCompile(`^(\d+)\s*([a-z]+)\s*`)
)

// clock is a time of day; zone is nil unless it says one.
type clock struct {
	hour, minute, second, nano int
	zone                       *time.Location
}

// Read reads a time. Its error is not worded: who asked knows what to say.
func (r Reader) Read(s string) (Moment, error) {
	if len(s) > MaxMoment {
		return Moment{}, errNoMoment
	}
	s = strings.ToLower(strings.Join(strings.Fields(s), " "))
	m, err := r.read(s)
	if err != nil {
		return Moment{}, err
	}
	for _, at := range []time.Time{m.At, m.Again} {
		// Others cannot be written down again with their offset.
		if y := at.UTC().Year(); !at.IsZero() && (y < 1 || y > 9998) {
			return Moment{}, errNoMoment
		}
	}
	return m, nil
}

func (r Reader) read(s string) (Moment, error) {
	if s == "now" {
		return Moment{At: r.Now.Truncate(time.Second)}, nil
	}
	if m := dayPattern.FindStringSubmatch(s); m != nil {
		day, err := time.Parse(time.DateOnly, m[1]+"-"+m[2]+"-"+m[3])
		if err != nil {
			return Moment{}, errNoMoment
		}
		return r.onDay(day, m[4])
	}
	if m := wordPattern.FindStringSubmatch(s); m != nil {
		return r.onDay(r.today(map[string]int{"yesterday": -1, "tomorrow": 1}[m[1]]), m[2])
	}
	if m := clockPattern.FindStringSubmatch(s); m != nil {
		return r.nearest(s)
	}
	return r.away(s)
}

// Day reads a day without a time of day, and returns its midnight in UTC.
func (r Reader) Day(s string) (time.Time, error) {
	switch s = strings.ToLower(strings.TrimSpace(s)); s {
	case "today":
		return r.today(0), nil
	case "yesterday":
		return r.today(-1), nil
	case "tomorrow":
		return r.today(1), nil
	}
	return time.Parse(time.DateOnly, s)
}

// today is the day in the reader's zone, days later, as midnight in UTC.
func (r Reader) today(days int) time.Time {
	y, m, d := r.Now.Date()
	return time.Date(y, m, d+days, 0, 0, 0, 0, time.UTC)
}

// onDay is a time of a day; without one its first moment.
func (r Reader) onDay(day time.Time, timeOfDay string) (Moment, error) {
	if timeOfDay == "" {
		m := atClock(day, clock{}, r.Now.Location())
		return Moment{At: m.At}, nil // a day begins once, even where midnight comes twice or never
	}
	c, err := parseClock(timeOfDay)
	if err != nil {
		return Moment{}, err
	}
	return atClock(day, c, r.Now.Location()), nil
}

// nearest is the last time that it was this time of day, or the next one.
func (r Reader) nearest(s string) (Moment, error) {
	c, err := parseClock(s)
	if err != nil {
		return Moment{}, err
	}
	here := r
	if c.zone != nil {
		here.Now = r.Now.In(c.zone)
	}
	m := atClock(here.today(0), c, r.Now.Location())
	switch {
	case r.Ahead && !m.At.After(r.Now):
		m = atClock(here.today(1), c, r.Now.Location())
	case !r.Ahead && m.At.After(r.Now):
		m = atClock(here.today(-1), c, r.Now.Location())
	}
	return m, nil
}

func parseClock(s string) (clock, error) {
	m := clockPattern.FindStringSubmatch(s)
	if m == nil {
		return clock{}, errNoMoment
	}
	c := clock{}
	c.hour, _ = strconv.Atoi(m[1])
	c.minute, _ = strconv.Atoi(m[2])
	c.second, _ = strconv.Atoi(m[3])
	if m[4] != "" {
		c.nano, _ = strconv.Atoi((m[4][1:] + "00000000")[:9])
	}
	if c.hour > 23 || c.minute > 59 || c.second > 59 {
		return clock{}, errNoMoment
	}
	var err error
	c.zone, err = parseOffset(m[5])
	return c, err
}

// parseOffset reads Z or +08:00; nil where none is written.
func parseOffset(s string) (*time.Location, error) {
	switch s {
	case "":
		return nil, nil
	case "z", "utc", "gmt":
		return time.UTC, nil
	}
	hours, _ := strconv.Atoi(s[1:3])
	minutes, _ := strconv.Atoi(s[len(s)-2:])
	if hours > 23 || minutes > 59 {
		return nil, errNoMoment
	}
	seconds := hours*3600 + minutes*60
	if s[0] == '-' {
		seconds = -seconds
	}
	if seconds == 0 {
		return time.UTC, nil
	}
	return time.FixedZone("", seconds), nil
}

// atClock finds when the clocks of a zone show a time of a day: once as a rule, twice in the hour that is repeated, never in one that
// is left out. The zone of the clock wins, and the result is in the zone that it was read in.
func atClock(day time.Time, c clock, zone *time.Location) Moment {
	shown := time.Date(day.Year(), day.Month(), day.Day(), c.hour, c.minute, c.second, c.nano, time.UTC)
	if c.zone != nil {
		y, m, d := shown.Date()
		return Moment{At: time.Date(y, m, d, c.hour, c.minute, c.second, c.nano, c.zone)}
	}
	var found []time.Time
	var at time.Time
	// No clock is a day and more away from UTC, so that it has one of the offsets of before and after.
	for _, near := range []time.Duration{-28 * time.Hour, 28 * time.Hour} {
		_, offset := shown.Add(near).In(zone).Zone()
		at = shown.Add(-time.Duration(offset) * time.Second).In(zone)
		if _, then := at.Zone(); then == offset && !slices.ContainsFunc(found, at.Equal) {
			found = append(found, at)
		}
	}
	switch len(found) {
	case 0: // by the later offset it would be before the clocks are put forward
		_, skips := at.ZoneBounds()
		return Moment{At: skips.In(zone), Skipped: true}
	case 1:
		return Moment{At: found[0]}
	}
	return Moment{At: found[0], Again: found[1]}
}

// maxAway is how far a span may lead.
const maxAway = 10 * 366 * 24 * time.Hour

// away reads a span from now: 2h, 1h30m, 2 hours ago.
func (r Reader) away(s string) (Moment, error) {
	rest, ago := strings.CutSuffix(s, "ago")
	rest = strings.TrimSpace(rest)
	var total time.Duration
	for rest != "" {
		m := spanPattern.FindStringSubmatch(rest)
		if m == nil {
			return Moment{}, errNoMoment
		}
		n, err := strconv.ParseInt(m[1], 10, 32)
		unit := unitOf(m[2])
		if err != nil || unit == 0 || n > int64(math.MaxInt64/unit) || time.Duration(n)*unit > maxAway-total {
			return Moment{}, errNoMoment
		}
		total += time.Duration(n) * unit
		rest = rest[len(m[0]):]
	}
	if total == 0 {
		return Moment{}, errNoMoment
	}
	if ago || !r.Ahead {
		total = -total
	}
	return Moment{At: r.Now.Add(total).Truncate(time.Second)}, nil // deaths have no fractions
}

// unitOf is the length of a unit; 0 for none. A month is none: m is a minute.
func unitOf(word string) time.Duration {
	switch word {
	case "s", "sec", "secs", "second", "seconds":
		return time.Second
	case "m", "min", "mins", "minute", "minutes":
		return time.Minute
	case "h", "hr", "hrs", "hour", "hours":
		return time.Hour
	case "d", "day", "days":
		return 24 * time.Hour
	case "w", "week", "weeks":
		return 7 * 24 * time.Hour
	}
	return 0
}

// Last is the later of the two times at which the clocks showed it, where it is one of two.
func (m Moment) Last() time.Time {
	if m.Again.IsZero() {
		return m.At
	}
	return m.Again
}

// Doubt says why a moment is not clear, and how to write it so that it is; empty where it is.
func (m Moment) Doubt() string {
	zone := m.At.Location().String()
	switch {
	case m.Skipped:
		before := m.At.Add(-time.Nanosecond)
		_, was := before.Zone()
		_, is := m.At.Zone()
		from := m.At.In(time.FixedZone("", was))
		return fmt.Sprintf("The clocks of %s never showed it: they went from %s to %s on %s, at %s. Write that, or a time with its offset",
			zone, from.Format("15:04"), m.At.In(time.FixedZone("", is)).Format("15:04"), from.Format("2 Jan 2006"), Absolute(m.At))
	case !m.Again.IsZero():
		return fmt.Sprintf("The clocks of %s showed it twice on %s: write %s or %s", zone, m.At.Format("2 Jan 2006"), Absolute(m.At), Absolute(m.Again))
	}
	return ""
}

// Absolute writes a time with its offset, so that it means the same to everybody.
func Absolute(at time.Time) string {
	if _, offset := at.Zone(); offset%60 != 0 {
		at = at.UTC() // offsets of long ago have seconds, which cannot be written
	}
	return at.Format(time.RFC3339Nano)
}
