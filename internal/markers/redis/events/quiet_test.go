package events

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// TestAQuietPipelineOnABusyServerIsCounted: others write a thousand times a second, a marker changes every 10 s, and the
// account may not read the setting.
func TestAQuietPipelineOnABusyServerIsCounted(t *testing.T) {
	for name, c := range map[string]struct {
		version string
		// setAt is the reading before which CONFIG SET runs; 0 for never.
		setAt     int
		epoch     int64
		listening int
	}{
		"it is": {"7.0.15", 0, 1, 20},
		"until the setting may have been changed": {"7.0.15", 15, 2, 14},
		"not where CONFIG SET is not counted":     {"6.2.0", 0, 2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := sessionOf(t, bookDay.Add(time.Hour))
			s.info = infoCommand(wireValue{items: []wireValue{{text: "version"}, {text: c.version}}})
			s.flagsDenied = true
			listening, now := 0, bookDay.Add(time.Hour)
			for i := range 21 {
				now = now.Add(time.Second)
				if i == 1 || i == 11 {
					hear(t, s, "expire", now)
				}
				if i == 0 {
					s.received, s.book.events = 0, 0
				}
				settings := 1
				if c.setAt > 0 && i >= c.setAt {
					settings = 2
				}
				text := fmt.Sprintf("run_id:x\r\nrole:master\r\ntotal_commands_processed:%d\r\ncmdstat_info:calls=%d,usec=1\r\ncmdstat_set:calls=%d,usec=1\r\ncmdstat_config|set:calls=%d,usec=1\r\n",
					1001*(i+1), i+1, 1000*i, settings)
				if err := s.sync(wireValue{kind: '$', text: text}, now); err != nil {
					t.Fatal(err)
				}
				if s.l.Figures().Listening {
					listening++
				}
			}
			if s.l.epoch != c.epoch || listening != c.listening {
				t.Errorf("epoch %d, %d of 21 readings counted; want %d and %d", s.l.epoch, listening, c.epoch, c.listening)
			}
		})
	}
}

func TestAGapIsLoggedOncePerReasonAndMinute(t *testing.T) {
	var out bytes.Buffer
	l := &Listener{log: slog.New(slog.NewTextHandler(&out, nil))}
	for i := range 120 {
		l.gap("one", bookDay.Add(time.Duration(i)*time.Second))
	}
	if n := strings.Count(out.String(), "because=one"); n != 2 {
		t.Errorf("%d lines in two minutes", n)
	}
	for i := range 2 * mostGaps {
		l.gap(fmt.Sprint("other ", i), bookDay)
	}
	if len(l.gaps) > mostGaps {
		t.Errorf("%d reasons are kept", len(l.gaps))
	}
}
