package trace

import (
	"context"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/secret"
)

// gone are the nodes of a broker that went away and never comes back.
func gone(t *testing.T) nodes {
	t.Helper()
	account := broker.Measure{Act: broker.Act{Username: "u", Password: secret.New("p")}, ManagementURLs: []string{"http://127.0.0.1:1"}}
	all, err := openNodes(broker.Config{Name: "main"}, account)
	must(t, err)
	t.Cleanup(all.close)
	return all
}

func TestAGuardWhoseBrokerIsGoneEnds(t *testing.T) {
	for name, c := range map[string]struct {
		note   func(t *testing.T, path string, ours intent)
		within time.Duration
	}{
		"when it has tried for long":                               {func(*testing.T, string, intent) {}, guardPatience},
		"soon, where the next start has switched off in its place": {func(t *testing.T, path string, _ intent) { must(t, removeIntent(path)) }, time.Minute},
		"soon, where a later trace has begun": {func(t *testing.T, path string, i intent) {
			i.Deadline = i.Deadline.Add(time.Minute)
			must(t, i.write(path))
		}, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "traces", "main.json")
			synctest.Test(t, func(t *testing.T) {
				began, all := time.Now(), gone(t)
				i := intent{Broker: "main", Vhost: "/", Began: began, Deadline: began.Add(time.Minute)}
				must(t, i.write(path))
				o := order{Intent: path, Broker: "main", Vhost: "/", Deadline: i.Deadline}
				time.AfterFunc(20*time.Second, func() { c.note(t, path, i) })
				err := o.switchOff(all)
				if took := time.Since(began); err == nil || took > c.within || took < 20*time.Second {
					t.Errorf("after %s: %v", took, err)
				}
			})
		})
	}
}

// TestTracingThatIsNotOffIsTriedOnForAsLongAsTheDashboardRuns: whoever begins another trace meanwhile would forget this one.
func TestTracingThatIsNotOffIsTriedOnForAsLongAsTheDashboardRuns(t *testing.T) {
	_, config := fake(t)
	tracer := open(t, config)
	synctest.Test(t, func(t *testing.T) {
		_, in := io.Pipe()
		s := &session{t: tracer, vhost: "/", found: found{dark: gone(t)}, guard: &child{in: in, ended: make(chan struct{})}}
		if told := s.switchOff(); !strings.Contains(told, "rabbitmqctl trace_off -p '/'") {
			t.Errorf("told %q", told)
		}
		time.Sleep(3 * guardPatience)
		if tracer.busy.Load() != 1 {
			t.Error("another trace may begin")
		}
		var f found
		if tracer.taken(&f); len(f.Problems) != 1 || f.Problems[0].Reason != dedup.TraceTaken || !strings.Contains(f.Problems[0].Text, "not seen off yet") {
			t.Errorf("told %+v", f.Problems)
		}
		tracer.end()
		synctest.Wait()
		if tracer.busy.Load() != 0 || tracer.owed.Load() != 0 {
			t.Error("the turn is kept for ever")
		}
	})
}

func TestWhatACrashLeftOnIsToldOfWhileItCannotBeSwitchedOff(t *testing.T) {
	_, config := fake(t)
	tracer := open(t, config)
	log := &lockedText{}
	tracer.log = slog.New(slog.NewTextHandler(log, nil))
	synctest.Test(t, func(t *testing.T) {
		must(t, intent{Broker: "main", Vhost: "/", Nodes: []string{"http://127.0.0.1:1"}, Began: time.Now()}.write(tracer.intentPath()))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cleared, some, err := tracer.Clear(ctx)
		if err != nil || !some || !cleared.Off.IsZero() || cleared.Err == "" {
			t.Errorf("%+v, %t, %v", cleared, some, err)
		}
		if n := strings.Count(log.String(), "is not off yet; it is tried on"); n != 1 {
			t.Errorf("told %d times:\n%s", n, log)
		}
	})
}
