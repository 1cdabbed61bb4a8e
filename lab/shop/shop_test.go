package shop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"dedup-dashboard/lab/servers"
	"dedup-dashboard/lab/servers/serverstest"
	"dedup-dashboard/lab/shop"
)

// busyConfig has the default shop's shape with more traffic and more faults, to see each fault within seconds.
func busyConfig(t *testing.T) shop.Config {
	t.Helper()
	config := shop.DefaultConfig()
	for _, setting := range []string{
		// Slower than the consumers are on a busy machine: a retry waits behind the queue, and in one that grows it never ends.
		"*.delay=0s", "*.rest=0s", "shipping.crash=0", "*.rate=15", "*.resend=0.06", "*.lost-ack=0.02", "*.failure=0.04", "*.reject=0.03", "*.work=6ms",
		"emails.poison=0.02", "inventory.crash=0.008", "inventory.reject-marked=0.01", "payments.failure=0.01",
		"*.inherited=false", "refunds.poison=0.02", "refunds.crash=0.005", "invoices.poison=0.03", "invoices.retry-delay=3s", "invoices.failure=0.1",
		"notifications.work=50ms", "notifications.message-ttl=800ms", "notifications.max-length=25",
		// The queue is full in a burst, and what is left of it gets too old in the rest.
		"notifications.rate=60", "notifications.burst=2s", "notifications.rest=2s",
	} {
		must(t, config.Set(setting))
	}
	return config
}

func TestTheLedgerIsTheTruthOfBrokerAndStoresAtRest(t *testing.T) {
	broker := shop.SharedBroker(t)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	ctx := t.Context()
	store := serverstest.Redis(t)

	config := busyConfig(t)
	running, err := shop.Start(ctx, config, broker, store, slog.New(slog.DiscardHandler))
	must(t, err)
	ledger := running.Ledger()
	defer func() {
		if t.Failed() {
			t.Logf("not seen: %s", unseen(ledger, config))
		}
	}()
	waitUntil(t, 8*time.Minute, "every pipeline has seen its faults", func() bool { return unseen(ledger, config) == "" })
	running.StopProducers()
	draining, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	must(t, running.Drain(draining))

	report := servedReport(t, ledger)
	for _, pipeline := range config.Pipelines {
		t.Run(pipeline.Name, func(t *testing.T) {
			truth := report.Pipelines[pipeline.Name]
			t.Logf("%+v", truth)
			checkSums(t, truth)
			checkQueues(t, broker, pipeline, truth)
			client := redis.NewClient(&redis.Options{Addr: store.Addr(), DB: pipeline.DB})
			defer client.Close()
			checkMarkers(t, client, pipeline, truth)
			checkReported(t, client, pipeline, truth)
		})
	}

	stopping, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	must(t, running.Stop(stopping))
	must(t, store.Stop(ctx))
}

// unseen names a fault of a pipeline that has not happened yet, and what has; it is empty once all have.
func unseen(ledger *shop.Ledger, config shop.Config) string {
	for _, p := range config.Pipelines {
		truth := ledger.Truth(p.Name)
		faults := map[string]bool{
			"300 messages": truth.Messages < 300, "a duplicate": truth.Duplicates == 0, "a lost ack": truth.LostAcks == 0, "a failure": truth.Failures == 0,
			"three loops":         p.Stuck > 0 && truth.Looping < 3,
			"a message given up":  p.Poison > 0 && p.Scheme == shop.TextStatus && truth.GaveUp == 0,
			"a crash":             p.Crash > 0 && truth.Crashes == 0,
			"a return from delay": p.RetryDelay > 0 && truth.Delay.Count() == 0,
			"a lost dead letter":  p.DeadLetterMissing && truth.Lost == 0,
			"an abandoned marker": p.RejectMarked > 0 && truth.Abandoned == 0,
		}
		for _, reason := range reasonsOf(p) {
			faults[reason] = truth.Deaths[reason] == 0
		}
		for name, missing := range faults {
			if missing {
				return fmt.Sprintf("%s of %s, of which %+v", name, p.Name, truth)
			}
		}
	}
	return ""
}

func servedReport(t *testing.T, ledger *shop.Ledger) shop.Report {
	t.Helper()
	recorder := httptest.NewRecorder()
	ledger.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/ledger", nil))
	var report shop.Report
	must(t, json.Unmarshal(recorder.Body.Bytes(), &report))
	return report
}

func checkSums(t *testing.T, truth shop.Truth) {
	t.Helper()
	if in, out := truth.Published+truth.Resent+truth.Requeued, truth.Messages+truth.DeadLetters+truth.Lost+truth.Queued; in != out {
		t.Errorf("published + resent + requeued = %d, acked + dead-lettered + lost + queued = %d", in, out)
	}
	var deaths int64
	for _, n := range truth.Deaths {
		deaths += n
	}
	if deaths != truth.DeadLetters {
		t.Errorf("%d dead letters by reason, %d in all", deaths, truth.DeadLetters)
	}
	if sum := truth.Processed + truth.Duplicates + truth.InFlightAcked + truth.GaveUp; truth.Messages != sum {
		t.Errorf("messages = %d, processed + duplicates + in-flight acked + given up = %d", truth.Messages, sum)
	}
	if truth.Ack.Count() != truth.Messages {
		t.Errorf("%d ack latencies for %d messages", truth.Ack.Count(), truth.Messages)
	}
	if want := truth.Processed + truth.Failures; truth.Work.Count() != want {
		t.Errorf("%d work times for %d settled attempts", truth.Work.Count(), want)
	}
	if truth.DoubleEffects != 0 || truth.SettledAgain != 0 || truth.StoreErrors != 0 || truth.Unconfirmed != 0 {
		t.Errorf("with healthy servers want no double effects, second settlements, store errors or lost confirms: %+v", truth)
	}
}

// checkQueues compares the depths of source and dead-letter queue, and the reasons in the latter, with the ledger. A looping
// message is held by a consumer or ready.
func checkQueues(t *testing.T, broker *servers.RabbitMQ, pipeline shop.PipelineConfig, truth shop.Truth) {
	t.Helper()
	waitUntil(t, time.Minute, "the depths of "+pipeline.Name+" equal the ledger", func() bool {
		return depth(t, broker, pipeline.DeadLetterQueue()) == truth.Buried() && depth(t, broker, pipeline.Name) == truth.Queued
	})
	want := maps.Clone(truth.Deaths)
	if truth.Republished > 0 {
		want[""] = truth.Republished
	}
	if diff := cmp.Diff(want, buried(t, broker, pipeline.DeadLetterQueue())); diff != "" {
		t.Errorf("reasons in the dead-letter queue (-ledger +broker):\n%s", diff)
	}
	if pipeline.DeadLetterMissing && (truth.Lost == 0 || truth.DeadLetters > 0) {
		t.Errorf("without a dead-letter exchange %d were lost and %d dead-lettered", truth.Lost, truth.DeadLetters)
	}
	if pipeline.RetryDelay > 0 {
		checkDelay(t, truth)
	}
	if pipeline.Stuck > 0 && truth.Queued != int64(pipeline.Stuck) {
		t.Errorf("%d messages queued, want the %d that loop", truth.Queued, pipeline.Stuck)
	}
}

func depth(t *testing.T, broker *servers.RabbitMQ, queue string) int64 {
	t.Helper()
	var totals []struct {
		Name     string `json:"name"`
		Messages int64  `json:"messages"`
	}
	must(t, broker.API(t.Context(), http.MethodGet, "/api/queues/%2F?disable_stats=true&enable_queue_totals=true", nil, &totals))
	for _, entry := range totals {
		if entry.Name == queue {
			return entry.Messages
		}
	}
	t.Fatalf("queue %s is not listed", queue)
	return 0
}

var jsonSuccess = regexp.MustCompile(`^\{"status": "success", "result": \{"id": "[a-z]+-1-[0-9]{7}", "note": "(\\u[0-9a-f]{4}){4}"\}, "time": [0-9]{10}\.[0-9]{1,6}\}$`)

var timestamped = regexp.MustCompile(`^[0-9]{13}$`)

func checkMarkers(t *testing.T, client *redis.Client, pipeline shop.PipelineConfig, truth shop.Truth) {
	t.Helper()
	var done, processing, endless, givenUp int64
	keys, err := client.Keys(t.Context(), "*").Result()
	must(t, err)
	for _, key := range keys {
		if strings.HasPrefix(key, "dedupstats:") {
			continue
		}
		value, err := client.Get(t.Context(), key).Result()
		must(t, err)
		ttl, err := client.PTTL(t.Context(), key).Result()
		must(t, err)
		switch {
		case pipeline.Scheme == shop.Timestamp && timestamped.MatchString(value):
			done++
		case strings.HasPrefix(key, "retry:"):
			// A further copy of a message that was given up fails once more, and is given up too.
			count, err := strconv.ParseInt(value, 10, 64)
			must(t, err)
			givenUp += max(0, count-4)
		case value == "processing":
			processing++
			if ttl == -1 {
				endless++
			} else if ttl > 300*time.Second {
				t.Errorf("%s expires in %s, want at most 300 s", key, ttl)
			}
		case value == "done" && pipeline.Scheme == shop.TextStatus,
			pipeline.Scheme == shop.JSONStatus && jsonSuccess.MatchString(value) && json.Valid([]byte(value)):
			done++
			if ttl > 24*time.Hour || ttl < 23*time.Hour {
				t.Errorf("%s expires in %s, want about 24 h", key, ttl)
			}
		default:
			t.Errorf("%s holds %q", key, value)
		}
	}
	if endless != int64(pipeline.Stuck) {
		t.Errorf("%d markers in processing without expiry, want %d", endless, pipeline.Stuck)
	}
	if givenUp != truth.GaveUp {
		t.Errorf("retry counters tell of %d messages given up, want %d", givenUp, truth.GaveUp)
	}
	// Work whose ack was lost is done although it was not counted as processed: its redelivery is a duplicate.
	want := truth.Processed + truth.LostAcks
	if pipeline.Scheme == shop.Timestamp {
		want += truth.Abandoned // its marker looks like one of work that was done
	}
	if done != want {
		t.Errorf("%d markers are done, want processed + lost acks = %d", done, want)
	}
}

func checkReported(t *testing.T, client *redis.Client, pipeline shop.PipelineConfig, truth shop.Truth) {
	t.Helper()
	got, err := client.HGetAll(t.Context(), "dedupstats:"+pipeline.Name).Result()
	must(t, err)
	if !pipeline.Report {
		if len(got) > 0 {
			t.Errorf("a pipeline that reports nothing has %v", got)
		}
		return
	}
	want := make(map[string]string)
	add := func(name string, n int64) {
		if n > 0 {
			want[name] = strconv.FormatInt(n, 10)
		}
	}
	add("processed", truth.Processed)
	add("duplicate_done", truth.Duplicates)
	add("duplicate_in_flight", truth.InFlight+truth.InFlightAcked)
	add("failed", truth.Failures)
	for i, bound := range []string{"0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1", "2.5", "5", "10", "inf"} {
		add("ack_le_"+bound, truth.Ack.Buckets[i])
		add("work_le_"+bound, truth.Work.Buckets[i])
	}
	add("ack_sum_us", truth.Ack.SumMicros)
	add("work_sum_us", truth.Work.SumMicros)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("dedupstats differ from the ledger (-ledger +hash):\n%s", diff)
	}
}

func TestTheShopRecoversFromServersThatRestart(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	ctx := t.Context()
	broker := serverstest.RabbitMQ(t, servers.RabbitMQOptions{})
	store := serverstest.Redis(t, "--appendonly", "yes")
	config := shop.DefaultConfig()
	config.Pipelines = config.Pipelines[:1]
	running, err := shop.Start(ctx, config, broker, store, slog.New(slog.DiscardHandler))
	must(t, err)
	moves := func(what string) {
		t.Helper()
		before := running.Ledger().Truth("orders").Processed
		waitUntil(t, 3*time.Minute, "messages move "+what, func() bool { return running.Ledger().Truth("orders").Processed > before+20 })
	}
	moves("at first")
	must(t, store.Stop(ctx))
	waitUntil(t, 3*time.Minute, "the consumers feel the loss of the store", func() bool { return running.Ledger().Truth("orders").StoreErrors > 0 })
	must(t, store.Restart(ctx))
	moves("after the store is back")
	must(t, broker.Restart(ctx))
	moves("after the broker is back")
	stopping, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	must(t, running.Stop(stopping))
	must(t, broker.Stop(ctx))
	must(t, store.Stop(ctx))
}

func TestAKnobIsTurnedByNameOrRefusedWithTheReason(t *testing.T) {
	config := shop.DefaultConfig()
	must(t, config.Set("orders.resend=0.5"))
	must(t, config.Set("*.work=3ms"))
	must(t, config.Set("orders.max-processing=8s"))
	must(t, config.Set("orders.inherited=true"))
	must(t, config.Set("orders.message-ttl=4s"))
	orders, _ := config.Pipeline("orders")
	if orders.Resend != 0.5 || orders.Work != 3*time.Millisecond || orders.MaxProcessing != 8*time.Second ||
		!orders.Inherited || orders.MessageTTL != 4*time.Second {
		t.Errorf("orders = %+v", orders)
	}
	for _, bad := range []string{"", "orders", "orders.resend", "orders.resend=2", "orders.resend=NaN", "orders.nothing=1",
		"nobody.resend=0.1", "orders.work=soon", "orders.stuck=-1", "orders.max-processing=0s", "orders.inherited=perhaps",
		"orders.max-length=-1", "orders.retry-delay=11m"} {
		if err := config.Set(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		} else if !strings.Contains(err.Error(), strconv.Quote(bad)) {
			t.Errorf("%q: the error does not show it: %v", bad, err)
		}
	}
}

func TestOnlyTheNamedPipelinesAreOpened(t *testing.T) {
	config := shop.DefaultConfig()
	for _, bad := range []string{"", "orders,nobody", "orders,orders"} {
		if err := config.Only(bad); err == nil || len(config.Pipelines) != 9 {
			t.Errorf("%q: %v, %d pipelines", bad, err, len(config.Pipelines))
		}
	}
	must(t, config.Only("shipping,orders"))
	if names := config.Pipelines; len(names) != 2 || names[0].Name != "shipping" || names[1].Name != "orders" {
		t.Errorf("pipelines = %+v", config.Pipelines)
	}
}

func waitUntil(t *testing.T, limit time.Duration, what string, holds func() bool) {
	t.Helper()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(limit)
	for !holds() {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("after %s it does not hold that %s", limit, what)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
