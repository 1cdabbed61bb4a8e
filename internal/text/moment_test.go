package text_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/text"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func TestTimesAreReadAsPeopleWriteThem(t *testing.T) {
	newYork := zone(t, "America/New_York")
	now := time.Date(2026, 11, 23, 12, 30, 15, 0, newYork) // 17:30:15 UTC
	for written, want := range map[string]string{
		"2026-11-23T12:07":              "2026-11-23T12:07:00-05:00",
		"2026-11-23 12:07":              "2026-11-23T12:07:00-05:00",
		"  2026-11-23   12:07:08.25 ":   "2026-11-23T12:07:08.25-05:00",
		"2026-11-23T12:07Z":             "2026-11-23T12:07:00Z",
		"2026-11-23 12:07 utc":          "2026-11-23T12:07:00Z",
		"2026-11-23T12:07:00+08:00":     "2026-11-23T12:07:00+08:00",
		"2026-11-23 12:07 -0330":        "2026-11-23T12:07:00-03:30",
		"2026-11-23":                    "2026-11-23T00:00:00-05:00",
		"2026-07-01":                    "2026-07-01T00:00:00-04:00",
		"12:07":                         "2026-11-23T12:07:00-05:00",
		"12:31":                         "2026-11-22T12:31:00-05:00", // the last one is of yesterday
		"9:05":                          "2026-11-23T09:05:00-05:00",
		"17:07Z":                        "2026-11-23T17:07:00Z",
		"today":                         "2026-11-23T00:00:00-05:00",
		"Yesterday":                     "2026-11-22T00:00:00-05:00",
		"yesterday 15:00":               "2026-11-22T15:00:00-05:00",
		"today 03:00 +01:00":            "2026-11-23T03:00:00+01:00",
		"now":                           "2026-11-23T12:30:15-05:00",
		"2h":                            "2026-11-23T10:30:15-05:00",
		"2 hours ago":                   "2026-11-23T10:30:15-05:00",
		"1h 30m":                        "2026-11-23T11:00:15-05:00",
		"90 min ago":                    "2026-11-23T11:00:15-05:00",
		"1 day":                         "2026-11-22T12:30:15-05:00",
		"1w":                            "2026-11-16T12:30:15-05:00",
		"0001-01-01T00:00:00Z":          "0001-01-01T00:00:00Z",
		"1800-01-01T00:00:00":           "1800-01-01T04:56:02Z", // local mean time has seconds that no offset can hold
		"2026-11-23\u00a012:07\u300005": "",
		"":                              "",
		"12":                            "",
		"25:00":                         "",
		"12:60":                         "",
		"12:07 EST":                     "", // three letters name several zones
		"2026-02-30":                    "",
		"11/23/2026":                    "",
		"23.11.2026":                    "",
		"2026-11-23T12:07 08:00":        "", // a plus that an address turned into a space
		"9999-12-31T23:59-05:00":        "",
		"0001-01-01T00:00+01:00":        "",
		"0h":                            "",
		"2 months":                      "",
		"99999999999h":                  "",
		"4000d":                         "",
		"-2h":                           "",
		"ago":                           "",
		"today tomorrow":                "",
		strings.Repeat(" 1h", 30):       "",
	} {
		got, err := text.Reader{Now: now}.Read(written)
		switch {
		case want == "" && err == nil:
			t.Errorf("%q is read as %s", written, text.Absolute(got.At))
		case want != "" && err != nil:
			t.Errorf("%q cannot be read", written)
		case want != "" && (text.Absolute(got.At) != want || got.Doubt() != ""):
			t.Errorf("%q is read as %s, want %s; doubt %q", written, text.Absolute(got.At), want, got.Doubt())
		}
	}
}

func TestATimeToComeIsTheNextOne(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 30, 0, 0, zone(t, "Asia/Shanghai"))
	for written, want := range map[string]string{
		"12:00":          "2026-11-24T12:00:00+08:00",
		"13:00":          "2026-11-23T13:00:00+08:00",
		"05:00Z":         "2026-11-23T05:00:00Z",
		"tomorrow 09:00": "2026-11-24T09:00:00+08:00",
		"2h":             "2026-11-23T14:30:00+08:00",
		"2h ago":         "2026-11-23T10:30:00+08:00",
	} {
		got, err := text.Reader{Now: now, Ahead: true}.Read(written)
		if err != nil || text.Absolute(got.At) != want {
			t.Errorf("%q is read as %s, %v; want %s", written, text.Absolute(got.At), err, want)
		}
	}
}

func TestTimesThatClocksShowTwiceOrNever(t *testing.T) {
	for _, c := range []struct{ zone, written, at, again, doubt string }{
		{"America/New_York", "2026-11-01 01:30", "2026-11-01T01:30:00-04:00", "2026-11-01T01:30:00-05:00",
			"showed it twice on 1 Nov 2026: write 2026-11-01T01:30:00-04:00 or 2026-11-01T01:30:00-05:00"},
		{"America/New_York", "2026-11-01 01:30-05:00", "2026-11-01T01:30:00-05:00", "", ""},
		{"America/New_York", "2026-11-01 02:00", "2026-11-01T02:00:00-05:00", "", ""},
		{"America/New_York", "2026-03-08 02:30", "2026-03-08T03:00:00-04:00", "", "they went from 02:00 to 03:00 on 8 Mar 2026, at 2026-03-08T03:00:00-04:00"},
		{"America/New_York", "2026-03-08 03:00", "2026-03-08T03:00:00-04:00", "", ""},
		{"Europe/Berlin", "2026-10-25 02:00", "2026-10-25T02:00:00+02:00", "2026-10-25T02:00:00+01:00", "showed it twice on 25 Oct 2026"},
		{"Australia/Lord_Howe", "2026-04-05 01:45", "2026-04-05T01:45:00+11:00", "2026-04-05T01:45:00+10:30", "twice"}, // by half an hour
		{"Asia/Shanghai", "2026-03-08 02:30", "2026-03-08T02:30:00+08:00", "", ""},
		{"Africa/Cairo", "2026-04-24", "2026-04-24T01:00:00+03:00", "", ""}, // midnight is skipped, and the day begins all the same
		{"America/Havana", "2026-11-01", "2026-11-01T00:00:00-04:00", "", ""},
		{"Pacific/Apia", "2011-12-30", "2011-12-31T00:00:00+14:00", "", ""}, // a day that never was
		{"UTC", "2026-03-08 02:30", "2026-03-08T02:30:00Z", "", ""},
	} {
		got, err := text.Reader{Now: time.Date(2026, 11, 23, 12, 0, 0, 0, zone(t, c.zone))}.Read(c.written)
		if err != nil {
			t.Errorf("%s in %s: %v", c.written, c.zone, err)
			continue
		}
		again := ""
		if !got.Again.IsZero() {
			again = text.Absolute(got.Again)
		}
		if text.Absolute(got.At) != c.at || again != c.again || !strings.Contains(got.Doubt(), c.doubt) || (c.doubt == "") != (got.Doubt() == "") {
			t.Errorf("%s in %s: %s, again %q, doubt %q", c.written, c.zone, text.Absolute(got.At), again, got.Doubt())
		}
	}
}

// TestClocksAgreeWithWhatWasWritten holds every reading of a time of a day against what the clocks of its zone show then.
func TestClocksAgreeWithWhatWasWritten(t *testing.T) {
	zones := []string{"UTC", "America/New_York", "Europe/Berlin", "Asia/Shanghai", "Asia/Kathmandu", "Australia/Lord_Howe", "Africa/Cairo", "America/Havana", "Pacific/Apia", "Africa/Casablanca"}
	const layout = "2006-01-02 15:04:05"
	rapid.Check(t, func(rt *rapid.T) {
		z := zone(t, rapid.SampledFrom(zones).Draw(rt, "zone"))
		day := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, rapid.IntRange(0, 365*40).Draw(rt, "day"))
		written := day.Add(time.Duration(rapid.IntRange(0, 86399).Draw(rt, "second")) * time.Second).Format(layout)
		got, err := text.Reader{Now: time.Date(2026, 11, 23, 12, 0, 0, 0, z)}.Read(written)
		if err != nil {
			rt.Fatal(err)
		}
		if !got.Skipped && got.At.In(z).Format(layout) != written {
			rt.Fatalf("%s in %s is read as %s", written, z, got.At)
		}
		if !got.Again.IsZero() && (got.Again.In(z).Format(layout) != written || !got.Again.After(got.At)) {
			rt.Fatalf("%s in %s comes again at %s", written, z, got.Again)
		}
		if got.Skipped && !(got.At.Add(-time.Nanosecond).In(z).Format(layout) < written && written < got.At.In(z).Format(layout)) {
			rt.Fatalf("%s in %s is not skipped at %s", written, z, got.At)
		}
	})
}

// FuzzReader holds that no text breaks the reader, and that what it read means the same when it is written down and read elsewhere.
func FuzzReader(f *testing.F) {
	for _, s := range []string{"2026-11-23 12:07", "yesterday 15:00", "2h30m ago", "1800-01-01", "15:00+08:00", "2026-11-01T01:30", "9999-12-31T23:59Z", "now", "1 hours ago ago"} {
		f.Add(s, int64(1_795_000_000), false)
		f.Add(s, int64(-60_000_000_000), true)
	}
	newYork, kathmandu := zone(f, "America/New_York"), zone(f, "Asia/Kathmandu")
	f.Fuzz(func(t *testing.T, s string, unix int64, ahead bool) {
		now := time.Unix(unix%250_000_000_000, 0).In(newYork)
		m, err := text.Reader{Now: now, Ahead: ahead}.Read(s)
		if err != nil {
			return
		}
		for _, at := range []time.Time{m.At, m.Again} {
			if at.IsZero() {
				continue
			}
			again, err := text.Reader{Now: now.AddDate(1, 0, 0).In(kathmandu)}.Read(text.Absolute(at))
			if err != nil || !again.At.Equal(at) || again.Doubt() != "" {
				t.Fatalf("%q is read as %s, and that as %s, %v", s, text.Absolute(at), again.At, err)
			}
		}
		_ = m.Doubt()
	})
}
