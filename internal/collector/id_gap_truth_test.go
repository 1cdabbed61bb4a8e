package collector_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/collector/window"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/markerstest"
	"dedup-dashboard/lab/schemes"
)

// gapTables are the tables of the schemes by driver, as their consumers use them.
var gapTables = map[string]map[string]string{
	"D1": {
		"mysql": `CREATE TABLE message_dedup (id BIGINT AUTO_INCREMENT PRIMARY KEY, message_id VARCHAR(64) NOT NULL UNIQUE, business_key VARCHAR(128),
			status TINYINT DEFAULT 0, created_at DATETIME DEFAULT CURRENT_TIMESTAMP, updated_at DATETIME DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP)`,
		"postgres": `CREATE TABLE message_dedup (id BIGSERIAL PRIMARY KEY, message_id VARCHAR(64) NOT NULL UNIQUE, business_key VARCHAR(128),
			status SMALLINT DEFAULT 0, created_at TIMESTAMP DEFAULT now(), updated_at TIMESTAMP DEFAULT now())`,
	},
	"D2": {
		"mysql": `CREATE TABLE message_process_log (message_id VARCHAR(64) PRIMARY KEY, business_key VARCHAR(128) NOT NULL, process_status TINYINT NOT NULL,
			process_time TIMESTAMP DEFAULT CURRENT_TIMESTAMP, expire_time TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP)`,
		"postgres": `CREATE TABLE message_process_log (message_id VARCHAR(64) PRIMARY KEY, business_key VARCHAR(128) NOT NULL, process_status SMALLINT NOT NULL,
			process_time TIMESTAMPTZ DEFAULT now(), expire_time TIMESTAMPTZ NOT NULL)`,
	},
	"D3": {
		"mysql": `CREATE TABLE consumed_messages (id BIGINT AUTO_INCREMENT PRIMARY KEY, message_id VARCHAR(64) NOT NULL UNIQUE, biz_id VARCHAR(64),
			status VARCHAR(16) NOT NULL, create_time DATETIME(3) NOT NULL)`,
		"postgres": `CREATE TABLE consumed_messages (id BIGSERIAL PRIMARY KEY, message_id VARCHAR(64) NOT NULL UNIQUE, biz_id VARCHAR(64),
			status VARCHAR(16) NOT NULL, create_time TIMESTAMP(3) NOT NULL)`,
	},
}

// A gapCase is a workload: of a hundred thousand messages so many are sent twice, lose their ack, fail, or meet a crash.
type gapCase struct {
	scheme                          string
	resent, ackLost, failed, killed int
	// deletes: a failure deletes the row, and its message comes again.
	deletes bool
	// exact: the figure must be the truth; measured: it must be labelled so, where scheme and server are proven.
	exact   bool
	refused string
	// cased: every other message has the id of the one before in the other case, and the id column ignores case.
	cased bool
}

const gapMessages = 1500

// gapTruth is what the consumers themselves counted.
type gapTruth struct {
	mu                                  sync.Mutex
	acked, failures                     int
	hits                                map[string]int
	done                                map[string]bool
	duplicates, swallowed               int
	random                              *rand.Rand
	failing, killing, resending, losing map[string]bool
	// longest is the longest time that a delivery took.
	longest time.Duration
}

func newGapTruth(c gapCase) *gapTruth {
	g := &gapTruth{hits: map[string]int{}, done: map[string]bool{}, random: rand.New(rand.NewPCG(7, 11)),
		failing: map[string]bool{}, killing: map[string]bool{}, resending: map[string]bool{}, losing: map[string]bool{}}
	for i := range gapMessages {
		id := c.id(i)
		g.failing[id], g.killing[id] = g.random.IntN(100_000) < c.failed, g.random.IntN(100_000) < c.killed
		g.resending[id], g.losing[id] = g.random.IntN(100_000) < c.resent, g.random.IntN(100_000) < c.ackLost
	}
	return g
}

// id is that of the i-th message.
func (c gapCase) id(i int) string {
	id := fmt.Sprintf("order-%05d", i)
	if c.cased {
		id = fmt.Sprintf("order-%05d", i/2)
	}
	if c.cased && i%2 == 1 {
		id = strings.ToUpper(id)
	}
	return id
}

// work fails or dies as it was drawn; where a failure comes again, only once.
func (g *gapTruth) work(_ context.Context, id string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.killing[id]:
		return schemes.ErrDied
	case g.failing[id]:
		g.failures++
		delete(g.failing, id)
		return errors.New("the card was declined")
	}
	g.done[id] = true
	return nil
}

// settle takes note of one delivery, and says how often the message comes again.
func (g *gapTruth) settle(id string, how schemes.Settlement, ran bool, took time.Duration, err error) (again int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.longest = max(g.longest, took)
	if errors.Is(err, schemes.ErrDied) {
		return 1
	}
	if how == schemes.Acked {
		g.acked++
		if !ran {
			g.hits[id]++
		}
	}
	if how == schemes.Requeued {
		again++
	}
	if g.losing[id] && how == schemes.Acked {
		delete(g.losing, id)
		again++
	}
	return again
}

// count tells duplicates from swallowed deliveries once all is over.
func (g *gapTruth) count() {
	for id, n := range g.hits {
		if g.done[id] {
			g.duplicates += n
		} else {
			g.swallowed += n
		}
	}
}

// deliver runs the deliveries over eight consumers, until no message comes again.
func (g *gapTruth) deliver(t *testing.T, id func(int) string, consumer schemes.Consumer) {
	t.Helper()
	deliveries := make(chan string, 4*gapMessages)
	var open, consumers sync.WaitGroup
	send := func(id string) { open.Add(1); deliveries <- id }
	for i := range gapMessages {
		send(id(i))
		if back := id(max(0, i-20)); g.resending[back] && i >= 20 {
			send(back)
		}
	}
	// The last deliveries are duplicates: at the end of the table they leave no trace but burned ids.
	for i := range 30 {
		send(id(i))
	}
	for range 8 {
		consumers.Go(func() {
			for id := range deliveries {
				began := time.Now()
				how, ran, err := consumer.Handle(t.Context(), id)
				took := time.Since(began)
				if err != nil && !errors.Is(err, schemes.ErrDied) {
					t.Error(err)
				}
				for range g.settle(id, how, ran, took, err) {
					send(id)
				}
				open.Done()
			}
		})
	}
	open.Wait()
	close(deliveries)
	consumers.Wait()
	g.count()
}

// deleting is a consumer of D3 that deletes the row of a failure and returns its message.
type deleting struct {
	schemes.D3
}

func (d deleting) Handle(ctx context.Context, id string) (schemes.Settlement, bool, error) {
	how, ran, err := d.D3.Handle(ctx, id)
	if how != schemes.Rejected {
		return how, ran, err
	}
	place := "?"
	if d.Postgres {
		place = "$1"
	}
	_, err = d.DB.ExecContext(ctx, "DELETE FROM consumed_messages WHERE message_id = "+place, id)
	return schemes.Requeued, ran, err
}

func (c gapCase) consumer(db *markerstest.Database, work schemes.Work) schemes.Consumer {
	on := schemes.Table{DB: db.Admin, Postgres: db.Driver == "postgres"}
	switch {
	case c.scheme == "D1":
		return schemes.D1{Table: on, Work: work}
	case c.scheme == "D2":
		return schemes.D2{Table: on, Work: work}
	case c.deletes:
		return deleting{schemes.D3{Table: on, Work: work}}
	}
	return schemes.D3{Table: on, Work: work}
}

// table is that of the scheme; MySQL's ignores case by itself.
func (c gapCase) table(driver string) []string {
	table := gapTables[c.scheme][driver]
	if !c.cased || driver == "mysql" {
		return []string{table}
	}
	return []string{"CREATE EXTENSION IF NOT EXISTS citext", strings.Replace(table, "message_id VARCHAR(64)", "message_id CITEXT", 1)}
}

func (c gapCase) config(db *markerstest.Database, settle time.Duration) markers.Config {
	cfg, _ := markers.Preset(map[string]string{"D1": "sql-status-code", "D2": "sql-status-code", "D3": "sql-status-name"}[c.scheme])
	cfg.Name, cfg.SQL, cfg.InsertSettle = "shop", markers.SQL{Driver: db.Driver, DSN: secret.New(db.AdminDSN())}, settle
	if c.scheme == "D2" {
		cfg.Table, cfg.Transactional = "message_process_log", true
		cfg.Columns = markers.Columns{ID: markers.ColumnList{"message_id"}, Status: "process_status", Created: "process_time", Expires: "expire_time"}
	}
	if c.deletes {
		cfg.OnFail = "delete"
	}
	return markerstest.Unthrottled(cfg)
}

// A gapTrial is one run of a workload: what the consumers counted, and what was read of the store meanwhile.
type gapTrial struct {
	truth    *gapTruth
	scheme   dedup.Scheme
	readings []*dedup.InsertStats
	// stats are the newest, with a pass over what the consumers left.
	stats dedup.StoreStats
}

// trial runs the workload on tables of its own. What can be counted is deliveries that take no longer than rows are given to settle, on a
// server that answers: on a machine that is too busy for that it is run anew, with more time.
func (c gapCase) trial(t *testing.T, servers *markerstest.SQLServers, driver string) *gapTrial {
	t.Helper()
	for _, settle := range []time.Duration{time.Second, 10 * time.Second, time.Minute} {
		db := servers.Database(t, driver)
		db.Exec(t, c.table(driver)...)
		store := markerstest.OpenStore(t, c.config(db, settle))
		trial := &gapTrial{truth: newGapTruth(c), scheme: store.Scheme()}
		trial.read(t, store, settle, func() { trial.truth.deliver(t, c.id, c.consumer(db, trial.truth.work)) })
		pass, err := store.Pass(t.Context())
		if trial.stats.Pass = &pass; err != nil {
			t.Fatal(err)
		}
		if c.refused != "" || trial.truth.longest < settle && trial.answered() {
			return trial
		}
		t.Logf("counted anew: a delivery took %s, the rows were given %s, the server answered: %t", trial.truth.longest, settle, trial.answered())
	}
	t.Fatal("the servers are too slow to count anything")
	return nil
}

// answered reports whether no count was given up because the server did not answer several readings in a row.
func (g *gapTrial) answered() bool {
	return !slices.ContainsFunc(g.readings, func(s *dedup.InsertStats) bool { return strings.HasPrefix(s.Why, "ids cannot be counted") })
}

// read watches the store as the collector does, while the consumers work and until all they did is counted. A reading that the server
// does not answer in time is left out.
func (g *gapTrial) read(t *testing.T, store markers.Store, settle time.Duration, work func()) {
	t.Helper()
	var failed error
	once := func() bool {
		var stats dedup.StoreStats
		if stats, failed = store.Stats(t.Context()); failed != nil || stats.Inserts == nil {
			return false
		}
		g.stats = stats
		g.readings = append(g.readings, stats.Inserts)
		return true
	}
	markerstest.WaitUntil(t, "the store is read", once)
	if g.readings[0].Why != "" {
		work()
		return
	}
	over := make(chan struct{})
	go func() { defer close(over); work() }()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	began, ended := time.Now(), time.Time{}
	for ended.IsZero() || !g.readings[len(g.readings)-1].At.After(ended) {
		select {
		case <-over:
			ended, over = time.Now(), nil
		case <-tick.C:
		}
		if once(); time.Since(began) > settle+8*time.Minute || !ended.IsZero() && time.Since(ended) > settle+2*time.Minute {
			t.Fatalf("not all was counted: %+v, %v", *g.readings[len(g.readings)-1], failed)
		}
	}
}

// figures are those of an hour, of queues that were empty when it began.
func (g *gapTrial) figures() dedup.WindowFigures {
	meter := sample.NewLossMeter()
	p := &window.Pipeline{Store: &window.Store{}}
	p.Traffic.Own, p.Traffic.Loss = (&sample.ClosureBook{}).Follow("/", nil), &meter
	for _, s := range g.readings {
		p.Store.Inserts.Add(s)
	}
	if len(g.readings) > 0 {
		at := g.readings[0].At
		p.Traffic.Frames = sample.Frames{{Began: at, Ended: at, DepthFrom: at}}
	}
	return p.Figures(window.View{Now: time.Now(), Scheme: g.scheme, Stats: g.stats}, &window.Gains{Window: time.Hour})
}

func TestTheIDGapAgainstWhatTheConsumersCounted(t *testing.T) {
	var sqlServers markerstest.SQLServers
	t.Cleanup(func() {
		if err := sqlServers.Stop(); err != nil {
			t.Error(err)
		}
	})
	cases := map[string]gapCase{
		"D1 with resends and lost acks":             {scheme: "D1", resent: 3000, ackLost: 2000, exact: true},
		"D1 with failures that are acked":           {scheme: "D1", resent: 3000, ackLost: 2000, failed: 1000},
		"D1 with crashes in mid-work":               {scheme: "D1", resent: 3000, failed: 500, killed: 400},
		"D3 with resends":                           {scheme: "D3", resent: 6000, ackLost: 1000, exact: true},
		"D3 with failed rows that stay":             {scheme: "D3", resent: 3000, failed: 800, killed: 200},
		"D3 with failed rows that are deleted":      {scheme: "D3", resent: 300, failed: 400, deletes: true},
		"D2, whose id no server gives":              {scheme: "D2", resent: 3000, refused: "columns.auto_increment"},
		"D1 with ids that differ in case alone":     {scheme: "D1", resent: 3000, ackLost: 2000, cased: true},
		"D1 where nothing but the first comes, too": {scheme: "D1", exact: true},
	}
	for name, c := range cases {
		for _, driver := range markerstest.Drivers() {
			t.Run(name+" on "+driver, func(t *testing.T) {
				g := c.trial(t, &sqlServers, driver)
				f := g.figures()
				rate := f.Estimates[slices.IndexFunc(f.Estimates, func(e dedup.Estimate) bool { return e.Method == dedup.MethodIDGap })].Rate
				if c.refused != "" {
					if rate.Known() || !strings.Contains(rate.Why, c.refused) {
						t.Errorf("not refused: %+v", rate)
					}
					return
				}
				c.judge(t, g.truth, rate, f, g.stats.Health.Version)
			})
		}
	}
}

func (c gapCase) judge(t *testing.T, g *gapTruth, rate dedup.Figure, f dedup.WindowFigures, server string) {
	t.Helper()
	duplicates, swallowed, lost := f.Duplicates, f.Swallowed, f.Lost
	truth := float64(g.duplicates) / float64(g.acked)
	t.Logf("%s: truth %.3f %% (%d of %d, %d swallowed), figure [%.3f, %.3f] %% %s, swallowed up to %.1f", server, 100*truth, g.duplicates, g.acked,
		g.swallowed, 100*rate.Low, 100*rate.High, rate.Quality, swallowed.High)
	if truth < rate.Low-1e-9 || truth > rate.High+1e-9 {
		t.Errorf("the interval [%g, %g] does not hold the truth %g: %+v", rate.Low, rate.High, truth, rate)
	}
	if c.exact && (rate.Low != truth || rate.High != truth || duplicates.Value != float64(g.duplicates)) {
		t.Errorf("%g duplicates at a rate of %g, want %d at %g", duplicates.Value, rate.Value, g.duplicates, truth)
	}
	if c.exact && rate.Quality != dedup.Measured {
		t.Errorf("quality %s on %s", rate.Quality, server)
	}
	if c.deletes && (rate.Quality == dedup.Measured || !strings.Contains(rate.Why, "at most")) {
		t.Errorf("an upper bound is shown as %+v", rate)
	}
	if !c.deletes && math.IsNaN(swallowed.High) || !c.deletes && float64(g.swallowed) > swallowed.High {
		t.Errorf("%d were swallowed, shown up to %g", g.swallowed, swallowed.High)
	}
	if c.scheme == "D1" && (!lost.Known() || lost.Value != float64(g.failures)) {
		t.Errorf("%d failures were acked, shown as lost: %+v", g.failures, lost)
	}
}
