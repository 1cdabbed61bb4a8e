package main

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dedup-dashboard/lab/servers"
	"dedup-dashboard/lab/shop"
)

// The longer run than that of make test:
//
//	go test -v -timeout 20m ./lab/drill/escalate -run HoweverOften -kills 50
var kills = flag.Int("kills", 10, "how often the dashboard is killed while it tells of edges")

const (
	// rulesPerKill is how many alerts fire and resolve between two kills, in the mean.
	rulesPerKill = 4
	// pace is how long the alerts take that fire and resolve for one kill.
	pace = 2 * time.Second
	// A process lives for up to happeningsMost happenings, fewer than those of the alerts between two kills: each fires and resolves, which
	// comes and is answered.
	happeningsMost = 3 * rulesPerKill
	// answersMost is how many answers of the program there are at most between a happening and the kill.
	answersMost = 40
)

// TestEveryEdgeIsToldOnceOrTwiceHoweverOftenTheProgramIsKilled lets alerts of the whole program fire and resolve at staggered times, kills it at
// random moments, and compares what the receiver took with the edges of the history.
func TestEveryEdgeIsToldOnceOrTwiceHoweverOftenTheProgramIsKilled(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	r := &moody{random: rand.New(rand.NewPCG(seed, 1)), took: map[string][]delivery{}}
	server, broker := httptest.NewServer(r), httptest.NewServer(http.HandlerFunc(r.refuse))
	defer server.Close()
	defer broker.Close()
	p, err := buildProgram(t.Context(), t.TempDir())
	must(t, err)
	t.Cleanup(p.kill)
	rules, over := staggered(random, time.Now().Add(2*time.Second), *kills)
	must(t, p.configure(deadSources(t, broker.URL)+alerting(server.URL, rules)))

	caught := 0
	for range *kills {
		must(t, p.start())
		live(t, p, r, random)
		must(t, p.ended())
		if r.busy() {
			caught++
		}
		p.kill()
	}
	must(t, p.start())
	edges := drained(t, p, r, over)
	r.check(t, edges)
	t.Logf("%d edges over %d kills, %d of which came while a notification was under way; %d edges were told twice, %d deliveries were refused",
		len(edges), *kills, caught, r.twice(), r.refused)
	if len(edges) < *kills || caught == 0 {
		t.Error("nothing was under way when the program was killed: the test proves nothing")
	}
}

// live waits for a random moment in the life of a process: that of one of the first happenings, and then after some answers of the program,
// each of which takes a part of a millisecond. So the kill comes before, within and behind a round, an evaluation and its transaction, and
// before and after a message is taken, answered, and known to be delivered.
func live(t *testing.T, p *program, r *moody, random *rand.Rand) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	select {
	case <-r.after(1 + random.IntN(happeningsMost)):
	case <-p.process.Done():
	case <-ctx.Done():
		t.Fatal("too little happened in all the time that a busy machine has")
	}
	for range random.IntN(answersMost) {
		_, _ = p.read(ctx, "/healthz") // none comes before it listens
	}
}

// deadSources is a broker that refuses, and a store that does not answer.
func deadSources(t *testing.T, broker string) string {
	t.Helper()
	port, err := servers.FreePort()
	must(t, err)
	return fmt.Sprintf(`
brokers: [{name: main, management_url: %q, username: watcher, password: secret}]
stores: [{name: orders, preset: redis-text-status, redis: {url: "redis://127.0.0.1:%d/0"}}]
pipelines: [{name: orders, queues: [orders], store: orders}]
`, broker, port)
}

// staggered returns rules of which each fires once and resolves some seconds later, and when all is over.
func staggered(random *rand.Rand, from time.Time, kills int) (rules []string, over time.Time) {
	n := rulesPerKill * kills
	span := pace * time.Duration(kills)
	for i := range n {
		fires := from.Add(span * time.Duration(i) / time.Duration(n))
		ends := fires.Add(interval + time.Duration(random.Int64N(int64(2*interval))))
		rules = append(rules, fmt.Sprintf(`    - {name: alert_%03d, kind: dashboard, expr: "(time() >= bool %.3f) * (time() < bool %.3f)", `+
			`limits: {warning: 1}, for: 0s, keep_firing_for: 0s}`, i, float64(fires.UnixMilli())/1000, float64(ends.UnixMilli())/1000))
		if ends.After(over) {
			over = ends
		}
	}
	return rules, over
}

func alerting(url string, rules []string) string {
	return fmt.Sprintf("alerts:\n  channels: [{name: receiver, type: webhook, url: %q}]\n", url) +
		"  group: {by: [rule], wait: 0s, interval: 0s, repeat: 0s, digest_at: 0}\n  rules:\n" + strings.Join(rules, "\n") + "\n"
}

// drained waits until everything is over and told, and returns the edges of the history.
func drained(t *testing.T, p *program, r *moody, over time.Time) []occasion {
	t.Helper()
	var edges []occasion
	must(t, p.awaitAnswer(t.Context(), time.Until(over)+patience, "every edge to be told", func() (err error) {
		if now := time.Now(); now.Before(over) {
			return fmt.Errorf("the last alert ends in %s", over.Sub(now))
		}
		if edges, err = p.history(t.Context()); err != nil {
			return err
		}
		if left := append(unresolved(edges), r.untold(edges)...); len(left) > 0 {
			return fmt.Errorf("not over, or not told: %v", left)
		}
		// What was told already may wait to be told again.
		waiting, err := p.waiting(t.Context())
		if err == nil && waiting > 0 {
			err = fmt.Errorf("%d messages wait", waiting)
		}
		return err
	}))
	return edges
}

// unresolved returns those of the alerts of staggered that fired and did not resolve.
func unresolved(edges []occasion) []string {
	firing := map[string]bool{}
	for _, e := range edges {
		if strings.HasPrefix(e.Key, "alert_") {
			firing[e.Key] = !firing[e.Key]
		}
	}
	maps.DeleteFunc(firing, func(_ string, fires bool) bool { return !fires })
	return slices.Sorted(maps.Keys(firing))
}

// A delivery is one that a moody receiver took.
type delivery struct {
	id       string
	repeated bool
}

// A moody receiver refuses some notifications at once, and takes its time to answer others.
type moody struct {
	mu     sync.Mutex
	random *rand.Rand
	// took are the deliveries of each edge, by its name.
	took    map[string][]delivery
	refused int
	// under is how many are under way: not answered yet.
	under int
	// reached is closed when as much has happened as is still to happen.
	still   int
	reached chan struct{}
}

// after is closed once so much has happened from now on: the broker is asked, a message comes, or one is answered.
func (r *moody) after(happenings int) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.still, r.reached = happenings, make(chan struct{})
	return r.reached
}

func (r *moody) happens() {
	if r.still--; r.still == 0 {
		close(r.reached)
	}
}

// refuse is the broker: it answers nobody.
func (r *moody) refuse(w http.ResponseWriter, _ *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.happens()
	http.Error(w, "no", http.StatusServiceUnavailable)
}

// ServeHTTP takes a notification when it has read it, whether or not somebody still waits for the answer.
func (r *moody) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	n := shop.Notification{ID: req.Header.Get("Idempotency-Key"), Message: body}
	told, bad := occasions(n)
	if err := cmp.Or(err, bad); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer, wait := r.take(n, told)
	defer r.left()
	select {
	case <-time.After(wait):
	case <-req.Context().Done(): // whoever sent it is dead
	}
	w.WriteHeader(answer)
}

func (r *moody) take(n shop.Notification, told []occasion) (answer int, wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.under++
	r.happens()
	switch mood := r.random.Float64(); {
	case mood < 0.05:
		r.refused++
		return http.StatusInternalServerError, 0
	case mood < 0.5:
		wait = time.Duration(r.random.IntN(800)) * time.Millisecond
	}
	for _, o := range told {
		r.took[o.name()] = append(r.took[o.name()], delivery{n.ID, repeated(n)})
	}
	return http.StatusOK, wait
}

func (r *moody) left() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.under--
	r.happens()
}

// repeated tells whether a notification says that it may have been delivered before.
func repeated(n shop.Notification) bool {
	var m message
	return json.Unmarshal(n.Message, &m) == nil && len(m.Alerts) > 0 && m.Alerts[0].Annotations["repeated"] == "true"
}

func (r *moody) busy() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.under > 0
}

func (r *moody) untold(edges []occasion) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var left []string
	for _, e := range edges {
		if len(r.took[e.name()]) == 0 {
			left = append(left, e.name())
		}
	}
	return left
}

func (r *moody) twice() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, took := range r.took {
		n += len(took) - 1
	}
	return n
}

// check holds what was taken against the edges: each once, or twice where the second time says so.
func (r *moody) check(t *testing.T, edges []occasion) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	known := map[string]bool{}
	for _, e := range edges {
		if known[e.name()] {
			t.Errorf("the history has %s twice", e.name())
		}
		known[e.name()] = true
		onceOrTwice(t, e, r.took[e.name()])
		if e.Edge == "fired" {
			known[r.checkRepeats(t, e.Key)] = true
		}
	}
	for name := range r.took {
		// The program tells of itself too, and may have begun to since the history was read.
		if !known[name] && strings.HasPrefix(name, "alert_") {
			t.Errorf("%s was told, and the history has no such edge", name)
		}
	}
}

// checkRepeats returns the name of the repeats of an alert. What was under way at two kills is not sent a third time: that the alert still
// fires is, by a message of its own, which may be cut off like any other.
func (r *moody) checkRepeats(t *testing.T, key string) string {
	t.Helper()
	again := occasion{Key: key}
	messages := map[string][]delivery{}
	for _, d := range r.took[again.name()] {
		messages[d.id] = append(messages[d.id], d)
	}
	for _, took := range messages {
		onceOrTwice(t, again, took)
	}
	return again.name()
}

func onceOrTwice(t *testing.T, o occasion, took []delivery) {
	t.Helper()
	switch {
	case len(took) == 1:
	case len(took) != 2:
		t.Errorf("%s was told %d times", o.name(), len(took))
	case took[0].id != took[1].id || !took[1].repeated:
		t.Errorf("%s was told twice, and the second time did not say so: %+v", o.name(), took)
	}
}
