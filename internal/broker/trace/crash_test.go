package trace

import (
	"net/http"
	"os"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/servers"
)

var (
	noPermissions  = servers.Permissions{Configure: "^$", Write: "^$", Read: "^$"}
	everyQueueDies = servers.Policy{Pattern: "^(other|amq.gen-.*)$", ApplyTo: "queues", Definition: map[string]any{"dead-letter-exchange": "", "dead-letter-routing-key": "grave", "message-ttl": 1}}
)

func guardGone(t *testing.T, s *site) {
	s.vhost(t, "guard", "q")
	tracer := s.tracer(t, s.config())
	guards := make(chan *child, 1)
	tracer.guarded = func(c *child) { guards <- c }
	began, result := traced(t.Context(), t, tracer, request("guard", time.Minute, "q"))
	guard := <-guards
	awaitBegun(t, began)
	must(t, guard.cmd.Process.Kill())
	trace, err := result()
	if err != nil || trace.Stopped != "the process that would switch tracing off after a crash has ended" || s.isTraced(t, "guard") {
		t.Errorf("%+v, %v", trace, err)
	}
	s.clean(t)
}

// crash leaves what a process leaves that was killed while it traced: the note on disk, and tracing on.
func (s *site) crash(t *testing.T, tracer *Tracer, vhost string) intent {
	t.Helper()
	found := tracer.look(t.Context(), vhost, []string{"q"})
	if !found.OK() {
		t.Fatalf("%+v", found.Problems)
	}
	i := newIntent("main", found.vhost, found.dark, time.Now().Add(-time.Minute), time.Now().Add(time.Minute))
	must(t, i.write(tracer.intentPath()))
	must(t, found.dark.on(t.Context(), vhost))
	return i
}

func clearedAtStart(t *testing.T, s *site) {
	s.vhost(t, "cut off", "q")
	tracer := s.tracer(t, s.config())
	if cleared, some, err := tracer.Clear(t.Context()); some || err != nil {
		t.Errorf("cleared %+v, %v where nothing was", cleared, err)
	}
	i := s.crash(t, tracer, "cut off")
	cleared, some, err := tracer.Clear(t.Context())
	if err != nil || !some || cleared.Vhost != "cut off" || cleared.Broker != "main" || !cleared.Began.Equal(i.Began) || cleared.Off.IsZero() || cleared.Err != "" {
		t.Errorf("%+v, %t, %v", cleared, some, err)
	}
	if s.isTraced(t, "cut off") {
		t.Error("it is still traced")
	}
	s.clean(t)
	forbidden := s.config()
	forbidden.Measurements = "off"
	s.crash(t, tracer, "cut off")
	off := s.tracer(t, forbidden)
	if cleared, some, err = off.Clear(t.Context()); err != nil || !some || cleared.Err == "" || !cleared.Off.IsZero() {
		t.Errorf("without an account: %+v, %t, %v", cleared, some, err)
	}
	if _, some, err = tracer.Clear(t.Context()); err != nil || !some || s.isTraced(t, "cut off") {
		t.Errorf("what was left is not cleared: %t, %v", some, err)
	}
	must(t, os.MkdirAll(tracer.options.DataDir+"/traces", 0o700))
	must(t, os.WriteFile(tracer.intentPath(), []byte("{broken"), 0o600))
	if _, _, err := tracer.Clear(t.Context()); err == nil {
		t.Error("a note that cannot be read was passed over")
	}
	must(t, os.Remove(tracer.intentPath()))
}

func toldAfterGuard(t *testing.T, s *site) {
	s.vhost(t, "told", "q")
	tracer := s.tracer(t, s.config())
	i := s.crash(t, tracer, "told")
	i.Off = time.Now()
	must(t, i.write(tracer.intentPath()))
	cleared, some, err := tracer.Clear(t.Context())
	if err != nil || !some || !cleared.Off.Equal(i.Off) || !s.isTraced(t, "told") { // on since, by somebody else
		t.Errorf("%+v, %t, %v", cleared, some, err)
	}
	s.clean(t)
	must(t, s.rabbit.API(t.Context(), http.MethodDelete, "/api/vhosts/told", nil, nil))
}

func vhostGone(t *testing.T, s *site) {
	s.vhost(t, "deleted", "q")
	began, result := traced(t.Context(), t, s.tracer(t, s.config()), request("deleted", time.Minute, "q"))
	awaitBegun(t, began)
	must(t, s.rabbit.API(t.Context(), http.MethodDelete, "/api/vhosts/deleted", nil, nil))
	trace, err := result()
	if err != nil || trace.Stopped == "" {
		t.Errorf("%+v, %v", trace, err)
	}
	var all []struct{ Name string }
	must(t, s.rabbit.API(t.Context(), http.MethodGet, "/api/vhosts", nil, &all))
	for _, v := range all {
		if v.Name == "deleted" {
			t.Error("the vhost was made anew")
		}
	}
	s.clean(t)
}

// restarted: after a restart of the broker nothing is traced, for tracing does not outlive the node.
func restarted(t *testing.T, s *site) {
	s.vhost(t, "again", "q")
	tracer := s.tracer(t, s.config())
	began, result := traced(t.Context(), t, tracer, request("again", dedup.MaxTrace, "q"))
	awaitBegun(t, began)
	must(t, s.rabbit.Restart(t.Context()))
	trace, err := result()
	if err != nil || trace.Stopped == "" {
		t.Errorf("%+v, %v", trace, err)
	}
	eventually(t, "another trace can begin", func() bool { return tracer.Ready(t.Context(), "again", []string{"q"}).OK() })
	if s.isTraced(t, "again") {
		t.Error("it is still traced")
	}
	s.clean(t)
}
