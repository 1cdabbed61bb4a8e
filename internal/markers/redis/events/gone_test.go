package events

import (
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/redis/client"
	"dedup-dashboard/internal/markers/redis/layout"
)

// sessionOf returns a session of the scheme of two steps that has heard of one claim and waits for an answer about it.
func sessionOf(t *testing.T, asked time.Time) *session {
	t.Helper()
	cfg, _ := markers.Preset("redis-text-status")
	cfg.TTL.Done = 0 // what is left of a life does not tell the state, so that values are read
	l, err := layout.New(cfg, layout.Text)
	if err != nil {
		t.Fatal(err)
	}
	rdb := redis.NewClient(&redis.Options{}) // it tells its database, and connects to nothing
	t.Cleanup(func() { _ = rdb.Close() })
	s := &session{l: NewListener(l, rdb, slog.New(slog.DiscardHandler), client.Explainer{}), prefix: "__keyspace@0__:", asking: true}
	s.book = s.l.begin(bookDay, 0)
	hear(t, s, "set", asked.Add(-birthAfter))
	ask(t, s, asked)
	return s
}

func hear(t *testing.T, s *session, event string, at time.Time) {
	t.Helper()
	push := wireValue{kind: '>', items: []wireValue{{text: "pmessage"}, {text: "__keyspace@0__:msg:*"}, {text: "__keyspace@0__:msg:a"}, {text: event}}}
	if err := s.take(push, at); err != nil {
		t.Fatal(err)
	}
}

func ask(t *testing.T, s *session, at time.Time) {
	t.Helper()
	if _, err := s.questions(at); err != nil {
		t.Fatal(err)
	}
}

func TestAMarkerThatIsGoneIsAGapOnlyIfNoNotificationOfItComes(t *testing.T) {
	asked := bookDay.Add(time.Hour)
	const life, value = "life", "value"
	type answer struct{ what, text string }
	for name, c := range map[string]struct {
		// steps are answers and names of events.
		steps   []any
		epoch   int64
		expired int64
		open    int64
	}{
		"the notification comes before the answer, as up to Redis 7.0":   {[]any{"expired", answer{life, "-2"}}, 1, 1, 0},
		"the notification comes behind the answer, as from Redis 7.2 on": {[]any{answer{life, "-2"}, "expired", answer{life, "-2"}}, 1, 1, 0},
		"it is claimed anew behind the answer":                           {[]any{answer{life, "-2"}, "expired", "set", answer{life, "300000"}}, 1, 1, 1},
		"no notification comes":                                          {[]any{answer{life, "-2"}, answer{life, "-2"}}, 2, 0, 0},
		"its value is empty":                                             {[]any{answer{life, "-1"}, answer{value, ""}, answer{life, "-1"}}, 1, 0, 1},
		"it expires when its value is read":                              {[]any{answer{life, "9"}, answer{value, ""}, "expired", answer{life, "-2"}}, 1, 1, 0},
		"it expires when its empty value is told from none":              {[]any{answer{life, "9"}, answer{value, ""}, answer{life, "-2"}, "expired", answer{life, "-2"}}, 1, 1, 0},
		"it went away unheard when its value is read":                    {[]any{answer{life, "9"}, answer{value, ""}, answer{life, "-2"}, answer{life, "-2"}}, 2, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s, now := sessionOf(t, asked), asked
			for _, step := range c.steps {
				now = now.Add(sessionTick)
				a, answered := step.(answer)
				if !answered {
					hear(t, s, step.(string), now)
					continue
				}
				kind := byte(':')
				if a.what == value {
					kind = '$'
				}
				if err := s.take(wireValue{kind: kind, text: a.text}, now); err != nil {
					t.Fatal(step, err)
				}
				ask(t, s, now)
			}
			f := s.book.figures()
			if s.l.epoch != c.epoch || f.Expired != c.expired || f.InFlight != c.open {
				t.Errorf("epoch %d with %d expired and %d open, want %d, %d and %d", s.l.epoch, f.Expired, f.InFlight, c.epoch, c.expired, c.open)
			}
			if len(s.owed) > 0 {
				t.Errorf("%d questions are not answered", len(s.owed))
			}
		})
	}
}
