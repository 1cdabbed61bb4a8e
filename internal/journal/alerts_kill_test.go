package journal_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/dispatch"
	"dedup-dashboard/internal/alerts/outbox"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/journal"
)

const (
	kills = 50
	// The child is this test in another process; these tell it its part.
	childDir, childURL, childBase = "JOURNAL_TEST_DIR", "JOURNAL_TEST_URL", "JOURNAL_TEST_BASE"
	// tickLength is so long that nothing flaps.
	tickLength = dispatch.FlapWindow + time.Minute
	// ahead is how many messages the child lets wait before it plans more.
	ahead = 24
)

var killChannels = []string{"ops", "pager"}

// TestEveryEdgeIsDeliveredAtLeastOnceAndAtMostTwiceHoweverOftenWeAreKilled runs a process that fires, escalates and resolves three alerts over
// and over, and kills it while it delivers. Each one is killed once both channels have taken a message of it: a message that was under way
// in two processes that were killed before either reached the receiver would be given up as unknown.
func TestEveryEdgeIsDeliveredAtLeastOnceAndAtMostTwiceHoweverOftenWeAreKilled(t *testing.T) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := deliverUntilKilled(dir, os.Getenv(childURL), os.Getenv(childBase)); err != nil {
			t.Fatal(err)
		}
		return
	}
	dir := t.TempDir()
	r := &receiver{got: map[string][]bool{}, open: map[net.Conn]chan struct{}{}}
	server := httptest.NewUnstartedServer(r)
	server.Config.ConnState = r.follow
	server.Start()
	defer server.Close()
	base := time.Now().Add(-365 * 24 * time.Hour).Truncate(time.Second)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for round := range kills {
		killOne(t, r, random, round, dir, server.URL, base)
	}
	edges := drain(t, r, dir)
	twice := 0
	for _, e := range edges {
		for _, channel := range killChannels {
			name := edgeName(channel, e.Judgement.Key, e.Kind, e.At)
			got := r.got[name]
			switch {
			case len(got) == 0 || len(got) > 2:
				t.Errorf("%s was delivered %d times", name, len(got))
			case len(got) == 2:
				twice++
				if got[0] || !got[1] {
					t.Errorf("%s was delivered twice, and it was not said of the second: %v", name, got)
				}
			}
		}
	}
	if len(r.got) != len(edges)*len(killChannels) {
		t.Errorf("%d edges were delivered and %d kept", len(r.got), len(edges)*len(killChannels))
	}
	t.Logf("%d edges to %d channels over %d kills; %d deliveries were repeated", len(edges), len(killChannels), kills, twice)
	if len(edges) < kills || twice == 0 {
		t.Error("nothing was under way when it was killed: the test proves nothing")
	}
}

func edgeName(channel string, k rule.Key, kind alerts.EdgeKind, at time.Time) string {
	return fmt.Sprintf("%s %s %s %d", channel, k, kind, at.UnixMilli())
}

// A receiver takes messages, and may keep one waiting until the process that sends it is dead.
type receiver struct {
	mu sync.Mutex
	// got says of each edge, by channel, which deliveries were marked as repeated.
	got map[string][]bool
	// round names the newest process.
	round string
	// heard are the channels that delivered something since the newest process was started, taken counts what they did.
	heard map[string]bool
	taken int
	// full is closed when as many were taken as wanted and every channel was heard; then answers wait for dead.
	wanted     int
	full, dead chan struct{}
	hold       bool
	// open are the connections that were accepted and not closed, each with what is closed with it.
	open map[net.Conn]chan struct{}
}

// follow notes which connections are open.
func (r *receiver) follow(conn net.Conn, state http.ConnState) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch state {
	case http.StateNew:
		r.open[conn] = make(chan struct{})
	case http.StateClosed:
		close(r.open[conn])
		delete(r.open, conn)
	}
}

// hearOut returns when all was taken that a dead process had sent: what comes from the next one comes after it. Its connections were
// accepted before that of the last request here.
func (r *receiver) hearOut(t *testing.T, url string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	r.mu.Lock()
	open := slices.Collect(maps.Values(r.open))
	r.mu.Unlock()
	for _, closed := range open {
		<-closed
	}
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var n alerts.Notification
	if err := json.NewDecoder(req.Body).Decode(&n); err != nil {
		http.Error(w, "", http.StatusBadRequest)
		return
	}
	r.take(n, req.URL.Query().Get("round"))
	r.mu.Lock()
	full, dead, hold := r.full, r.dead, r.hold
	r.mu.Unlock()
	if !hold {
		return
	}
	select {
	case <-full:
		<-dead
	default:
	}
}

// take notes a message. One that comes late, of a process that is dead already, counts as delivered and says nothing of the newest process.
func (r *receiver) take(n alerts.Notification, round string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range n.Alerts {
		name := edgeName(n.Channel, a.Key, a.Edge, n.At)
		r.got[name] = append(r.got[name], n.Repeated)
	}
	if round != r.round {
		return
	}
	r.heard[n.Channel] = true
	r.taken++
	if r.taken >= r.wanted && len(r.heard) == len(killChannels) {
		select {
		case <-r.full:
		default:
			close(r.full)
		}
	}
}

// killOne starts a process and kills it after a random number of deliveries: while one of them waits for its answer, or a moment later.
func killOne(t *testing.T, r *receiver, random *rand.Rand, round int, dir, url string, base time.Time) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	full, dead := make(chan struct{}), make(chan struct{})
	r.mu.Lock()
	r.round = strconv.Itoa(round)
	r.heard, r.taken, r.wanted, r.hold = map[string]bool{}, 0, 1+random.IntN(30), random.IntN(2) == 0
	r.full, r.dead = full, dead
	hold := r.hold
	r.mu.Unlock()
	defer func() {
		close(dead)
		r.hearOut(t, url)
	}()
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestEveryEdgeIsDeliveredAtLeastOnceAndAtMostTwiceHoweverOftenWeAreKilled$")
	cmd.Env = append(os.Environ(), childDir+"="+dir, childURL+"="+url+"?round="+strconv.Itoa(round), childBase+"="+strconv.FormatInt(base.UnixMilli(), 10))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-full:
	case err := <-ended:
		t.Fatalf("the child ended by itself: %v\n%s", err, out.String())
	case <-time.After(time.Minute):
		_ = cmd.Process.Kill()
		<-ended
		t.Fatalf("the child delivers nothing\n%s", out.String())
	}
	if !hold {
		<-time.After(time.Duration(random.IntN(20_000)) * time.Microsecond)
	}
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := <-ended; !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the child ended by itself: %v\n%s", err, out.String())
	}
}

// drain delivers what is left and returns all edges.
func drain(t *testing.T, r *receiver, dir string) []alerts.Transition {
	t.Helper()
	db, err := journal.Open(t.Context(), dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	senders := map[string]outbox.Sender{}
	for _, channel := range killChannels {
		senders[channel] = sendFunc(func(_ context.Context, n alerts.Notification) error {
			r.take(n, "drain")
			return nil
		})
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	box := outbox.New(outbox.Config{Store: db.Alerts(), Reader: db.Alerts(), Senders: senders, Log: slog.New(slog.DiscardHandler)})
	var running sync.WaitGroup
	running.Go(func() { box.Run(ctx) })
	for waiting := int64(1); waiting > 0; {
		b, err := db.Alerts().Backlog(ctx)
		if err != nil {
			t.Fatal(err)
		}
		waiting = b.Waiting
	}
	cancel()
	running.Wait()
	edges, err := db.Alerts().EdgesSince(t.Context(), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return edges
}

type sendFunc func(ctx context.Context, n alerts.Notification) error

func (f sendFunc) Send(ctx context.Context, n alerts.Notification) error { return f(ctx, n) }

// deliverUntilKilled goes on where the process before was killed, as the dashboard does: with the states, the log of what was sent and the
// outbox that it finds.
func deliverUntilKilled(dir, url, base string) error {
	begin, err := strconv.ParseInt(base, 10, 64)
	if err != nil {
		return err
	}
	ctx := context.Background()
	db, err := journal.Open(ctx, dir, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	a := db.Alerts()
	d := dispatch.New(dispatch.Config{Channels: killChannels, GroupBy: []string{"pipeline"}})
	log, err := a.SentLog(ctx)
	if err != nil {
		return err
	}
	last, err := a.History(ctx, rule.Key{}, 1, time.Now())
	if err != nil {
		return err
	}
	d.Restore(log)
	d.Recall(last)
	at := time.UnixMilli(begin)
	if len(last) > 0 {
		at = last[0].At
	}
	b, err := a.Backlog(ctx)
	if err != nil {
		return err
	}
	// room is how many messages may still be put into the outbox.
	room := make(chan struct{}, ahead+int(b.Waiting))
	for range ahead - int(b.Waiting) {
		room <- struct{}{}
	}
	senders := map[string]outbox.Sender{}
	for _, channel := range killChannels {
		senders[channel] = sendFunc(func(ctx context.Context, n alerts.Notification) error {
			err := post(ctx, url, n)
			if err == nil {
				room <- struct{}{}
			}
			return err
		})
	}
	box := outbox.New(outbox.Config{Store: a, Reader: a, Senders: senders, Log: slog.New(slog.DiscardHandler)})
	go box.Run(ctx)
	for {
		at = at.Add(tickLength)
		tick, err := nextTick(ctx, a, d, at)
		if err != nil {
			return err
		}
		for range tick.Due {
			<-room
		}
		if err := a.CommitTick(ctx, tick); err != nil {
			return err
		}
		box.Wake()
	}
}

func post(ctx context.Context, url string, n alerts.Notification) error {
	body, err := json.Marshal(n)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// nextTick leads each of three alerts on by one edge: fired, escalated, resolved.
func nextTick(ctx context.Context, a *journal.Alerts, d *dispatch.Dispatcher, at time.Time) (alerts.Tick, error) {
	known, err := a.LoadAlerts(ctx)
	if err != nil {
		return alerts.Tick{}, err
	}
	tick := alerts.Tick{At: at}
	for i := range 3 {
		k := rule.Key{Rule: "duplicate_rate", Kind: rule.OfPipeline, Subject: fmt.Sprint("p", i)}
		one := alerts.Alert{Key: k, State: alerts.State{Tier: dedup.Normal}}
		if j := slices.IndexFunc(known, func(a alerts.Alert) bool { return a.Key == k }); j >= 0 {
			one = known[j]
		}
		e := alerts.Edge{From: one.State.Tier, At: at}
		switch e.From {
		case dedup.Normal:
			e.Kind, e.To, one.State.Phase, one.State.FiredAt = alerts.EdgeFired, dedup.Warning, alerts.PhaseFiring, at
		case dedup.Warning:
			e.Kind, e.To = alerts.EdgeEscalated, dedup.Severe
		default:
			e.Kind, e.To, one.State.Phase, one.State.FiredAt = alerts.EdgeResolved, dedup.Normal, alerts.PhaseNormal, time.Time{}
		}
		one.State.Tier, one.State.Since = e.To, at
		one.Last = rule.Judgement{Key: k, At: at, Labels: map[string]string{"pipeline": k.Subject}}
		tick.Alerts = append(tick.Alerts, one)
		tick.Edges = append(tick.Edges, alerts.Transition{Edge: e, Judgement: one.Last})
	}
	tick.Due = d.Plan(at, tick.Alerts, tick.Edges, nil)
	tick.Sent = d.Sent()
	return tick, nil
}
