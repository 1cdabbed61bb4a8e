package shop_test

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/lab/servers"
	"dedup-dashboard/lab/servers/serverstest"
)

// outageInterval is the dashboard's interval in this test.
const outageInterval = 2 * time.Second

// patience is how long a busy machine may take for anything.
const patience = 3 * time.Minute

// outageToken opens the API; the dashboard only gets its value from the environment.
const outageToken = "an-api-token-that-is-long-enough-for-256-bits-of-noise"

// outage is the real dashboard in a process of its own, over a real broker and two real stores.
type outage struct {
	t         *testing.T
	broker    *servers.RabbitMQ
	stores    map[string]*servers.Redis
	program   string
	config    string
	listen    string
	dashboard *servers.Process
	pages     []time.Duration
}

// TestOutages stops and starts each server behind the dashboard, and kills the dashboard itself: what cannot be read turns
// unknown with the reason, the rest stays, everything recovers by itself, and the charts still show the time before.
func TestOutages(t *testing.T) {
	o := newOutage(t)
	o.start()
	o.feed("alpha", 9850, 150)
	o.feed("beta", 1000, 0)
	o.awaitTier("alpha", "warning")
	o.awaitTier("beta", "normal")
	o.await("150 duplicates of 10,000 messages are a medium risk", func() (bool, string) {
		p := o.pipeline("alpha")
		return p.Risk == "medium" && strings.Contains(p.Why, "1.50 %"), fmt.Sprintf("risk %q, why %q", p.Risk, p.Why)
	})

	o.stopAndAwaitUnknown("the store of alpha", o.stores["alpha"].Stop, "refused the connection", "alpha")
	o.awaitTier("beta", "normal") // its store runs
	must(t, o.stores["alpha"].Restart(t.Context()))
	o.awaitTier("alpha", "warning")

	o.stopAndAwaitUnknown("the broker", o.broker.Stop, "connection refused", "alpha", "beta")
	must(t, o.broker.Restart(t.Context()))
	o.awaitTier("alpha", "warning")
	o.awaitTier("beta", "normal")

	before := time.Now()
	charted := o.chartedBefore("alpha", before)
	o.dashboard.Kill()
	<-o.dashboard.Done()
	o.start()
	if n := o.chartedBefore("alpha", before); charted == 0 || n < charted {
		t.Errorf("after kill -9 and a restart the chart holds %d values from before, want the %d that it held then", n, charted)
	}
	slices.Sort(o.pages)
	t.Logf("overview answered %d times: median %v, slowest %v", len(o.pages), o.pages[len(o.pages)/2], o.pages[len(o.pages)-1])
}

func newOutage(t *testing.T) *outage {
	t.Helper()
	serverstest.Needed(t)
	dir := t.TempDir()
	o := &outage{t: t, stores: map[string]*servers.Redis{}, config: filepath.Join(dir, "dashboard.yaml")}
	var err error
	o.program, err = servers.BuildDashboard(t.Context(), dir)
	must(t, err)
	o.broker = serverstest.RabbitMQ(t, servers.RabbitMQOptions{Dir: filepath.Join(dir, "broker")})
	for _, name := range []string{"alpha", "beta"} {
		// The counters outlive the restart of the store, as they do in production.
		o.stores[name] = serverstest.Redis(t, "--appendonly", "yes")
		o.declare(name, map[string]any{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"})
	}
	o.declare("dead", map[string]any{})
	port, err := servers.FreePort()
	must(t, err)
	o.listen = fmt.Sprintf("127.0.0.1:%d", port)
	must(t, os.WriteFile(o.config, []byte(o.yaml(filepath.Join(dir, "data"))), 0o600))
	t.Setenv("OUTAGE_TOKEN", outageToken)
	return o
}

func (o *outage) declare(queue string, arguments map[string]any) {
	o.t.Helper()
	must(o.t, o.broker.API(o.t.Context(), http.MethodPut, "/api/queues/%2F/"+queue, map[string]any{"durable": true, "arguments": arguments}, nil))
}

func (o *outage) yaml(data string) string {
	user, password := o.broker.Admin()
	return fmt.Sprintf(`
server: {listen: %q, data_dir: %q}
collector: {interval: %s}
brokers:
  - {name: main, management_url: %q, username: %q, password: %q}
stores:
  - {name: alpha, preset: redis-text-status, redis: {url: %q}}
  - {name: beta, preset: redis-text-status, redis: {url: %q}}
pipelines:
  - {name: alpha, queues: [alpha], store: alpha}
  - {name: beta, queues: [beta], store: beta}
auth:
  tokens: [{name: test, role: viewer, token: {env: OUTAGE_TOKEN}}]
`, o.listen, data, outageInterval, o.broker.ManagementURL(), user, password, o.stores["alpha"].URL(), o.stores["beta"].URL())
}

// start starts the dashboard and waits until it has tried every source, so that counters are seen from their birth.
func (o *outage) start() {
	o.t.Helper()
	cmd := exec.Command(o.program, "serve", "-config", o.config)
	log, err := os.OpenFile(o.config+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	must(o.t, err)
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	o.dashboard, err = servers.StartProcess(cmd)
	must(o.t, err)
	o.t.Cleanup(o.dashboard.Kill)
	o.awaitReady()
}

func (o *outage) awaitReady() {
	o.t.Helper()
	o.await("readiness", func() (bool, string) {
		status, body := o.get("/readyz")
		return status == http.StatusOK, body
	})
}

// feed writes what consumers of a pipeline would have reported.
func (o *outage) feed(pipeline string, processed, duplicates int) {
	o.t.Helper()
	options, err := redis.ParseURL(o.stores[pipeline].URL())
	must(o.t, err)
	client := redis.NewClient(options)
	defer client.Close()
	must(o.t, client.HSet(o.t.Context(), "dedupstats:"+pipeline, "processed", processed, "duplicate_done", duplicates).Err())
}

// stopAndAwaitUnknown stops a server and expects its pipelines to turn unknown with the reason in two rounds of the dashboard, besides
// the one that was under way.
func (o *outage) stopAndAwaitUnknown(what string, stop func(context.Context) error, reason string, pipelines ...string) {
	o.t.Helper()
	must(o.t, stop(o.t.Context()))
	stopped, last := time.Now(), o.pipeline(pipelines[0]).Round+3
	for _, name := range pipelines {
		o.await(name+" unknown without "+what, func() (bool, string) {
			p := o.pipeline(name)
			unknown := p.Tier == "unknown" && strings.Contains(p.Why, reason)
			if !unknown && p.Round >= last {
				o.t.Fatalf("in round %d %s is still %s: %s", p.Round, name, p.Tier, p.Why)
			}
			return unknown, p.Tier + ": " + p.Why
		})
	}
	o.t.Logf("without %s: unknown after %v", what, time.Since(stopped).Round(100*time.Millisecond))
}

func (o *outage) awaitTier(name, tier string) {
	o.t.Helper()
	o.await(name+" "+tier, func() (bool, string) {
		p := o.pipeline(name)
		return p.Tier == tier, p.Tier + ": " + p.Why
	})
}

type shown struct {
	Round uint64 `json:"round"`
	Name  string `json:"name"`
	Tier  string `json:"tier"`
	Risk  string `json:"risk"`
	Why   string `json:"why"`
}

func (o *outage) pipeline(name string) shown {
	o.t.Helper()
	began := time.Now()
	if status, _ := o.get("/"); status != http.StatusOK {
		o.t.Errorf("the overview answers %d", status)
	}
	o.pages = append(o.pages, time.Since(began))
	status, body := o.get("/api/v1/pipelines/" + name)
	var p shown
	if err := json.Unmarshal([]byte(body), &p); err != nil || status != http.StatusOK {
		o.t.Fatalf("pipeline %s: status %d, %v: %.300s", name, status, err, body)
	}
	return p
}

// chartedBefore counts the values of the duplicate rate before a time.
func (o *outage) chartedBefore(name string, before time.Time) int {
	o.t.Helper()
	// The same range both times, so that both have the same points: those of a range that ends now move with it.
	period := url.Values{"from": {before.Add(-15 * time.Minute).UTC().Format(time.RFC3339)}, "to": {before.UTC().Format(time.RFC3339)}}
	status, body := o.get("/pipelines/" + name + "/chart.csv?chart=duplicates&" + period.Encode())
	rows, err := csv.NewReader(strings.NewReader(body)).ReadAll()
	if err != nil || status != http.StatusOK {
		o.t.Fatalf("chart: status %d, %v: %.300s", status, err, body)
	}
	n := 0
	for _, row := range rows[1:] {
		at, err := time.Parse(time.RFC3339, row[0])
		if err != nil {
			o.t.Fatalf("chart: %v in row %q", err, row)
		}
		if at.Before(before) && row[1] != "" {
			n++
		}
	}
	return n
}

func (o *outage) get(path string) (int, string) {
	o.t.Helper()
	request, err := http.NewRequestWithContext(o.t.Context(), http.MethodGet, "http://"+o.listen+path, nil)
	must(o.t, err)
	request.Header.Set("Authorization", "Bearer "+outageToken)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(body)
}

// await waits until the condition holds; last is what it saw.
func (o *outage) await(what string, condition func() (ok bool, last string)) {
	o.t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, last := condition()
		if ok {
			return
		}
		select {
		case <-deadline:
			log, _ := os.ReadFile(o.config + ".log")
			o.t.Fatalf("not within %v: %s; last: %s\nlog:\n%s", patience, what, last, log)
		case <-tick.C:
		}
	}
}
