package exports_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/exports"
	"dedup-dashboard/internal/secret"
)

// consumerMetrics is an endpoint of a consumer whose answer can be changed.
type consumerMetrics struct {
	*httptest.Server
	text atomic.Value
}

func newConsumerMetrics(t *testing.T, text string) *consumerMetrics {
	t.Helper()
	c := &consumerMetrics{}
	c.text.Store(text)
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if text := c.text.Load().(string); text != "" {
			io.WriteString(w, text)
			return
		}
		http.Error(w, "away", http.StatusServiceUnavailable)
	}))
	t.Cleanup(c.Close)
	return c
}

// outcomes writes an exposition with two outcomes of the pipeline orders, and some of another that must not count.
func outcomes(processed, duplicates int) string {
	return fmt.Sprintf(`# HELP dedup_outcomes_total What became of deliveries.
# TYPE dedup_outcomes_total counter
dedup_outcomes_total{pipeline="orders",outcome="processed"} %d
dedup_outcomes_total{pipeline="orders",outcome="duplicate_done"} %d
dedup_outcomes_total{pipeline="orders",outcome="of our own"} 77
dedup_outcomes_total{pipeline="payments",outcome="processed"} 1e6
go_goroutines 12
`, processed, duplicates)
}

func openReader(t *testing.T, cfg exports.Config, at ...*consumerMetrics) *exports.Reader {
	t.Helper()
	for _, c := range at {
		cfg.URLs = append(cfg.URLs, c.URL+"/metrics")
	}
	if cfg.Labels == nil {
		cfg.Labels = map[string]string{"pipeline": "orders"}
	}
	s, err := exports.Open("Prometheus of orders", cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return exports.Patient(s)
}

func mustReport(t *testing.T, s *exports.Reader) dedup.Reported {
	t.Helper()
	r, err := s.Reported(t.Context(), "orders")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func wantOutcomes(t *testing.T, r dedup.Reported, processed, duplicates int64) {
	t.Helper()
	if !r.Present || len(r.Outcomes) != 2 || r.Outcomes["processed"] != processed || r.Outcomes["duplicate_done"] != duplicates {
		t.Errorf("present %v, outcomes %v; want %d processed and %d duplicates", r.Present, r.Outcomes, processed, duplicates)
	}
}

func TestOutcomesOfSeveralProcessesAreAddedUpFromTheFirstReadingOn(t *testing.T) {
	one, two := newConsumerMetrics(t, outcomes(1000, 20)), newConsumerMetrics(t, outcomes(500, 5))
	s := openReader(t, exports.Config{}, one, two)
	wantOutcomes(t, mustReport(t, s), 0, 0)
	one.text.Store(outcomes(1100, 22))
	two.text.Store(outcomes(550, 5))
	wantOutcomes(t, mustReport(t, s), 150, 2)
}

func TestAProcessThatBeginsAnewLosesNothingOfWhatItCounted(t *testing.T) {
	one, two := newConsumerMetrics(t, outcomes(1000, 20)), newConsumerMetrics(t, outcomes(10, 0))
	s := openReader(t, exports.Config{}, one, two)
	mustReport(t, s)
	one.text.Store(outcomes(1100, 30))
	mustReport(t, s)
	one.text.Store(outcomes(7, 1)) // since its start
	two.text.Store(outcomes(12, 0))
	wantOutcomes(t, mustReport(t, s), 109, 11)
}

// begun adds the time at which a process began, in Unix seconds.
func begun(at time.Time, text string) string {
	return fmt.Sprintf("%s# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds %d\n", text, at.Unix())
}

func TestSeveralProcessesBehindOneAddressAreRefused(t *testing.T) {
	const words = "several processes answer in turn at this address"
	now := time.Now()
	for _, tt := range []struct {
		name    string
		answers []string
		refused int // the first answer that is refused
	}{
		{"each tells when it began", []string{begun(now.Add(-time.Hour), outcomes(1000, 10)), begun(now.Add(-2*time.Hour), outcomes(1100, 9))}, 1},
		{"each tells, and the second began later, yet before the first was read", []string{begun(now.Add(-2*time.Hour), outcomes(1000, 10)), begun(now.Add(-time.Hour), outcomes(900, 9))}, 1},
		{"none tells, and counters fall again", []string{outcomes(1000, 10), outcomes(900, 9), outcomes(1001, 10), outcomes(901, 9)}, 3},
		{"one process whose counters fall though it did not begin anew", []string{begun(now.Add(-time.Hour), outcomes(1000, 10)), begun(now.Add(-time.Hour), outcomes(900, 10))}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			one := newConsumerMetrics(t, "")
			s := openReader(t, exports.Config{}, one)
			for i, answer := range tt.answers {
				one.text.Store(answer)
				_, err := s.Reported(t.Context(), "orders")
				if (err != nil) != (i == tt.refused) || err != nil && !strings.Contains(err.Error(), words) {
					t.Fatalf("answer %d: %v", i, err)
				}
			}
		})
	}
}

func TestAProcessThatBeganAnewAndHasCountedNothingYetIsNoLoss(t *testing.T) {
	one := newConsumerMetrics(t, begun(time.Now().Add(-time.Hour), outcomes(1000, 10)))
	s := openReader(t, exports.Config{}, one)
	mustReport(t, s)
	one.text.Store(begun(time.Now(), outcomes(1003, 10)))
	wantOutcomes(t, mustReport(t, s), 1003, 10) // it counted more than the one before had
	one.text.Store(begun(time.Now().Add(10*time.Second), "go_goroutines 3\n"))
	wantOutcomes(t, mustReport(t, s), 1003, 10)
	one.text.Store(begun(time.Now().Add(10*time.Second), outcomes(2, 1)))
	wantOutcomes(t, mustReport(t, s), 1005, 11)
}

func TestAnAnswerThatIsTooLongIsNotCutInTheMiddleOfANumber(t *testing.T) {
	one := newConsumerMetrics(t, outcomes(1, 0))
	s := openReader(t, exports.Config{}, one)
	mustReport(t, s)
	const limit = 16 << 20
	head, tail := outcomes(1, 0), `dedup_outcomes_total{pipeline="orders",outcome="failed"} 1234567890`
	filler := limit - len(head) - len(tail) + 4 // so that the end is four digits before that of the number
	line := "#" + strings.Repeat("x", 1022) + "\n"
	one.text.Store(head + strings.Repeat(line, filler/len(line)-1) + "#" + strings.Repeat("x", filler%len(line)+len(line)-2) + "\n" + tail + "\n")
	if r, err := s.Reported(t.Context(), "orders"); err == nil || !strings.Contains(err.Error(), "more than 16 MiB") {
		t.Errorf("reported %v, %v", r.Outcomes, err)
	}
}

func TestWhatAnEndpointSaysIsNeverRepeatedRaw(t *testing.T) {
	one := newConsumerMetrics(t, "dedup_outcomes_total{pipeline=\"\x1b[31m"+strings.Repeat("y", 4000)+"\" 12\n")
	s := openReader(t, exports.Config{}, one)
	if _, err := s.Reported(t.Context(), "orders"); err == nil || strings.Contains(dedup.PublicText(err), "\x1b") || len(dedup.PublicText(err)) > 400 {
		t.Errorf("error %q", dedup.PublicText(err))
	}
}

func TestAnOutcomeThatIsCountedForTheFirstTimeWasBornAtZero(t *testing.T) {
	one := newConsumerMetrics(t, "dedup_outcomes_total{pipeline=\"orders\",outcome=\"processed\"} 4\n")
	s := openReader(t, exports.Config{}, one)
	mustReport(t, s)
	one.text.Store(outcomes(4, 3))
	wantOutcomes(t, mustReport(t, s), 0, 3)
}

func TestACounterThatCannotBeReadFailsTheReadingInWords(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"a process that does not answer", "", "it answers 503 Service Unavailable"},
		{"a metric that was renamed", strings.ReplaceAll(outcomes(1, 1), "dedup_outcomes_total", "outcomes"), "it has no metric dedup_outcomes_total any more; see whether it was renamed"},
		{"labels that were renamed", strings.ReplaceAll(outcomes(1, 1), "pipeline=", "queue="), "see whether it was renamed"},
		{"text that is none of Prometheus", "dedup_outcomes_total{pipeline=\"orders\" 12\n", "not in the text format of Prometheus"},
		{"a line without an end", "dedup_outcomes_total{pipeline=\"" + strings.Repeat("x", 1<<20), "cannot be read"},
		{"endless series", strings.Repeat("dedup_outcomes_total{pipeline=\"orders\",outcome=\"processed\"} 1\n", 20_000), "narrow them by labels"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			one, two := newConsumerMetrics(t, outcomes(1, 0)), newConsumerMetrics(t, outcomes(1, 0))
			s := openReader(t, exports.Config{}, one, two)
			mustReport(t, s)
			two.text.Store(tt.text)
			_, err := s.Reported(t.Context(), "orders")
			if err == nil || !strings.Contains(err.Error(), tt.want) || dedup.KindOf(err) != dedup.Unavailable {
				t.Fatalf("error %v; want %q", err, tt.want)
			}
			two.text.Store(outcomes(5, 2))
			wantOutcomes(t, mustReport(t, s), 4, 2)
		})
	}
}

func TestWhatNobodyReportsYetIsNotZero(t *testing.T) {
	s := openReader(t, exports.Config{}, newConsumerMetrics(t, "go_goroutines 12\n"))
	if r := mustReport(t, s); r.Present || len(r.Outcomes) > 0 || r.Ack.Buckets != nil {
		t.Errorf("it reports %+v", r)
	}
}

func TestHistogramsWithOurBucketsAreLatencies(t *testing.T) {
	const text = `# TYPE ack histogram
ack_bucket{pipeline="orders",le="0.005"} %[1]d
ack_bucket{pipeline="orders",le="0.01"} %[1]d
ack_bucket{pipeline="orders",le="0.025"} %[1]d
ack_bucket{pipeline="orders",le="0.05"} %[1]d
ack_bucket{pipeline="orders",le="0.1"} %[1]d
ack_bucket{pipeline="orders",le="0.25"} %[2]d
ack_bucket{pipeline="orders",le="0.5"} %[2]d
ack_bucket{pipeline="orders",le="1"} %[2]d
ack_bucket{pipeline="orders",le="2.5"} %[2]d
ack_bucket{pipeline="orders",le="5"} %[2]d
ack_bucket{pipeline="orders",le="10"} %[2]d
ack_bucket{pipeline="orders",le="+Inf"} %[2]d
ack_sum{pipeline="orders"} %[3]g
ack_count{pipeline="orders"} %[2]d
# TYPE work histogram
work_bucket{pipeline="orders",le="1"} 5
work_bucket{pipeline="orders",le="+Inf"} 5
work_sum{pipeline="orders"} 1
work_count{pipeline="orders"} 5
`
	one := newConsumerMetrics(t, fmt.Sprintf(text, 10, 12, 0.5))
	s := openReader(t, exports.Config{AckMetric: "ack", WorkMetric: "work"}, one)
	mustReport(t, s)
	one.text.Store(fmt.Sprintf(text, 14, 19, 1.25))
	r := mustReport(t, s)
	if len(r.Ack.Buckets) != len(dedup.LatencyBounds()) || r.Ack.Buckets[0] != 4 || r.Ack.Buckets[5] != 3 || r.Ack.Sum != 750_000 {
		t.Errorf("ack latencies %+v", r.Ack)
	}
	if r.Work.Buckets != nil {
		t.Errorf("a histogram with other buckets was taken: %+v", r.Work)
	}
}

func TestAnAddressIsNeverRepeatedWithItsQuery(t *testing.T) {
	one := newConsumerMetrics(t, "")
	s, err := exports.Open("Prometheus of orders", exports.Config{URLs: []string{one.URL + "/metrics?token=hunter2"}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Reported(t.Context(), "orders")
	one.Close()
	_, gone := s.Reported(t.Context(), "orders")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, late := s.Reported(ended, "orders")
	for _, err := range []error{err, gone, late} {
		if err == nil || strings.Contains(fmt.Sprint(err), "hunter2") {
			t.Errorf("error %v", err)
		}
	}
}

func TestAPlaceNamesTheServerAndNoSecret(t *testing.T) {
	of := func(cfg exports.Config) string {
		cfg.Recipe = "otel"
		r, err := exports.Open("Prometheus of orders", cfg)
		if err != nil {
			t.Fatal(err)
		}
		return r.Place()
	}
	for name, tt := range map[string]struct{ place, sameServer, another string }{
		"endpoints": {of(exports.Config{URLs: []string{"http://a:9100/metrics?token=hush"}}), of(exports.Config{URLs: []string{"http://a:9100/metrics?token=other"}}), of(exports.Config{URLs: []string{"http://b:9100/metrics"}})},
		"a name":    {of(exports.Config{DNS: "http://a:9100/metrics?token=hush"}), of(exports.Config{DNS: "http://a:9100/metrics?token=other"}), of(exports.Config{DNS: "http://b:9100/metrics"})},
		"a server":  {of(exports.Config{QueryURL: "http://a:9090"}), of(exports.Config{QueryURL: "http://a:9090", Token: secret.New("hush")}), of(exports.Config{QueryURL: "http://b:9090"})},
	} {
		if tt.place == "" || strings.Contains(tt.place, "hush") || tt.place != tt.sameServer || tt.place == tt.another {
			t.Errorf("%s: the place is %q, that of the same server %q, that of another one %q", name, tt.place, tt.sameServer, tt.another)
		}
	}
}
