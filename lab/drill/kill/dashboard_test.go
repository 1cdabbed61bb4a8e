package kill

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"dedup-dashboard/lab/servers"
	"dedup-dashboard/lab/servers/serverstest"
)

// apiToken opens the API; the dashboard only gets its value from the environment.
const (
	apiToken      = "an-api-token-that-is-long-enough-for-256-bits-of-noise"
	tokenVariable = "DEDUP_KILL_TOKEN"
)

// A dashboard is a victim that is the real program, asked over its API.
type dashboard struct {
	site    *site
	program string
	config  string
	data    string
	listen  string
	process *servers.Process
	// rate is how many messages its jobs move per second.
	rate float64
	// job is the one that was begun last.
	job string
}

func newDashboard(s *site) *dashboard {
	t := s.t
	t.Helper()
	dir := t.TempDir()
	program, err := servers.BuildDashboard(t.Context(), dir)
	must(t, err)
	d := &dashboard{site: s, program: program, config: filepath.Join(dir, "dashboard.yaml"), data: filepath.Join(dir, "data"), rate: *rate}
	store := serverstest.Redis(t)
	port, err := servers.FreePort()
	must(t, err)
	d.listen = fmt.Sprintf("127.0.0.1:%d", port)
	must(t, os.WriteFile(d.config, []byte(d.yaml(store.URL())), 0o600))
	return d
}

// in returns the dashboard for a subtest of its site.
func (d *dashboard) in(s *site) *dashboard {
	inner := *d
	inner.site = s
	return &inner
}

func (d *dashboard) yaml(store string) string {
	return fmt.Sprintf(`
server: {listen: %q, data_dir: %q}
collector: {interval: 2s}
brokers:
  - {name: main, management_url: %q, username: %s, password: %s, act: {amqp_url: "amqp://%s/", username: %s, password: %s}}
stores:
  - {name: shop, preset: redis-text-status, redis: {url: %q}}
pipelines:
  - {name: shop, queues: [%s], store: shop}
auth:
  tokens: [{name: test, role: admin, token: {env: %s}}]
`, d.listen, d.data, d.site.broker.ManagementURL(), watcher, watchPassword, d.site.broker.AMQPAddr(), mover, movingPassword,
		store, strings.Join(sourceQueues(), ", "), tokenVariable)
}

// start starts the program and waits for nothing.
func (d *dashboard) start() {
	t := d.site.t
	t.Helper()
	log, err := os.OpenFile(d.config+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	must(t, err)
	defer log.Close()
	cmd := exec.Command(d.program, "serve", "-config", d.config)
	cmd.Env = append(os.Environ(), tokenVariable+"="+apiToken)
	cmd.Stdout, cmd.Stderr = log, log
	d.process, err = servers.StartProcess(cmd)
	must(t, err)
	t.Cleanup(d.kill)
}

func (d *dashboard) kill() { kill(d.process) }

// begin starts the program if it does not run, and a job that requeues all dead letters.
func (d *dashboard) begin() {
	t := d.site.t
	t.Helper()
	if d.process == nil || ended(d.process) {
		d.start()
	}
	d.awaitReady()
	d.job = d.requeueAll()
}

func (d *dashboard) awaitReady() {
	d.site.t.Helper()
	d.awaitAnswer("the program to be ready", func() (bool, string) {
		status, body := d.ask(http.MethodGet, "/readyz", nil)
		return status == http.StatusOK, body
	})
}

// requeueAll plans to requeue the whole dead-letter queue, carries the plan out, and returns the job.
func (d *dashboard) requeueAll() string {
	d.site.t.Helper()
	var plan struct {
		ID      string
		Ready   int
		Confirm string
		Guards  []struct {
			Text     string
			Blocking bool
		}
	}
	d.awaitAnswer("a plan", func() (bool, string) {
		status, body := d.ask(http.MethodPost, "/api/v1/moves/plan", map[string]any{
			"do": "requeue", "pipeline": "shop", "queue": deadQueue, "whole": true, "rate_per_second": d.rate,
		})
		return status == http.StatusCreated && json.Unmarshal([]byte(body), &plan) == nil, body
	})
	for _, guard := range plan.Guards {
		if guard.Blocking {
			d.site.t.Fatalf("the plan is refused: %s", guard.Text)
		}
	}
	status, body := d.ask(http.MethodPost, "/api/v1/moves/"+plan.ID+"/start", map[string]any{"reason": "the cause is fixed", "confirm": plan.Confirm})
	var started struct{ Job string }
	if err := json.Unmarshal([]byte(body), &started); err != nil || status != http.StatusAccepted {
		d.site.t.Fatalf("start the job: status %d, %v: %.500s", status, err, body)
	}
	return started.Job
}

// A job is what the API tells of one.
type job struct {
	ID      string
	State   string
	Final   bool
	Why     string
	Resumed int
	Counts  struct{ Moved, Unknown int }
}

// told returns the job as the API tells of it; false while the program does not answer.
func (d *dashboard) told() (job, bool) {
	d.site.t.Helper()
	var j job
	status, body := d.ask(http.MethodGet, "/api/v1/jobs/"+d.job, nil)
	switch {
	case status == 0 || status == http.StatusServiceUnavailable: // it is starting
		return j, false
	case status != http.StatusOK || json.Unmarshal([]byte(body), &j) != nil:
		d.fail("job %s: status %d: %.500s", d.job, status, body)
	}
	return j, true
}

func (d *dashboard) finished() bool {
	d.site.t.Helper()
	j, ok := d.told()
	if ok && j.Final && j.State != "done" {
		d.fail("the job ended as %s: %s", j.State, j.Why)
	}
	return ok && j.Final
}

// jobs returns the ids of all jobs.
func (d *dashboard) jobs() []string {
	d.site.t.Helper()
	var list struct{ Jobs []job }
	status, body := d.ask(http.MethodGet, "/api/v1/jobs", nil)
	if err := json.Unmarshal([]byte(body), &list); err != nil || status != http.StatusOK {
		d.fail("list the jobs: status %d, %v: %.500s", status, err, body)
	}
	var ids []string
	for _, j := range list.Jobs {
		ids = append(ids, j.ID)
	}
	return ids
}

// ask returns the answer of the API; status 0 and the error while there is none.
func (d *dashboard) ask(method, path string, body any) (int, string) {
	t := d.site.t
	t.Helper()
	var content bytes.Buffer
	if body != nil {
		must(t, json.NewEncoder(&content).Encode(body))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, "http://"+d.listen+path, &content)
	must(t, err)
	request.Header.Set("Authorization", "Bearer "+apiToken)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(text)
}

// awaitAnswer waits until the program answers as it should; the condition returns what it said last.
func (d *dashboard) awaitAnswer(what string, condition func() (ok bool, last string)) {
	d.site.t.Helper()
	var last string
	deadline := time.Now().Add(3 * time.Minute)
	d.site.await(4*time.Minute, what, func() bool {
		var ok bool
		if ok, last = condition(); !ok && (ended(d.process) || time.Now().After(deadline)) {
			d.fail("waited for %s; last answer: %.1000s", what, last)
		}
		return ok
	})
}

// fail ends the test with the log of the program.
func (d *dashboard) fail(format string, args ...any) {
	d.site.t.Helper()
	d.site.t.Fatalf("%s\n%s", fmt.Sprintf(format, args...), d.explain())
}

// explain returns what the program says of its job, and the end of its log.
func (d *dashboard) explain() string {
	log, _ := os.ReadFile(d.config + ".log")
	_, told := d.ask(http.MethodGet, "/api/v1/jobs/"+d.job, nil)
	return fmt.Sprintf("job: %.2000s\nlog:\n%s", told, log[max(0, len(log)-10_000):])
}
