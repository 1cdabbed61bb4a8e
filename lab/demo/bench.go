package demo

import (
	"context"
	"fmt"
	"time"

	"dedup-dashboard/internal/admin/measuring"
	"dedup-dashboard/internal/dedup"
)

// A Bench measures pipelines of the demo: what it finds is made up, and a minute passes in Lasts.
type Bench struct {
	Lasts time.Duration
}

// WhyNot lets every pipeline with a store be measured, but one where measurements are off.
func (b *Bench) WhyNot(p dedup.Pipeline) string {
	switch {
	case p.Name == "points":
		return measuring.Off
	case p.Store == "":
		return "the pipeline has no store"
	}
	return ""
}

// Ready says that an operator must switch tracing on for one pipeline, and that another one is too fast.
func (b *Bench) Ready(_ context.Context, p dedup.Pipeline) dedup.TraceReadiness {
	switch p.Name {
	case "inventory":
		return dedup.TraceReadiness{Problems: []dedup.TraceProblem{{Reason: dedup.TraceTooFast,
			Text: "3,100 messages a second, more than the 2,000 at which a trace may begin", Remedy: "try again when there is less traffic"}}}
	case "payments":
		return dedup.TraceReadiness{Switch: dedup.TraceByOperator, On: []string{"rabbitmqctl trace_on -p '/'"}, Off: []string{"rabbitmqctl trace_off -p '/'"}}
	}
	return dedup.TraceReadiness{Switch: dedup.TraceByUs}
}

// Measure takes Lasts, or until it is stopped.
func (b *Bench) Measure(ctx context.Context, p dedup.Pipeline, m *dedup.Measurement, progress func(time.Time, int64)) error {
	ready := b.Ready(ctx, p)
	if ready.Switch == dedup.TraceByOperator {
		<-ctx.Done()
		return &dedup.Error{Kind: dedup.Conflict, Public: "nobody switched tracing on"}
	}
	begin := time.Now()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	share := 0.0
	for share < 1 && ctx.Err() == nil {
		share = min(1, float64(time.Since(begin))/float64(b.Lasts))
		progress(time.Now().Add(-time.Duration(share*float64(m.Length))), int64(share*12_500))
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	m.Result = MeasuredResult(time.Now())
	m.Live = &dedup.Calibration{Method: dedup.MethodLive, Window: m.Length, Low: 0.0285, Value: 0.0301, High: 0.0317, Off: 0.0007, Held: true}
	return nil
}

// MeasuredResult is a measurement with something of everything in it, hostile strings among them.
func MeasuredResult(now time.Time) *dedup.SessionResult {
	r := &dedup.SessionResult{Began: now.Add(-time.Minute), Ended: now, Traced: 12_502, Counted: 12_502, Messages: 12_376, Duplicates: 364, Band: 6.2, Sent: 240, Redelivered: 124,
		InFlight: 12, Swallowed: 3, Failures: 111, Retries: 126, RepeatedIDs: 351, Events: true,
		Latency: dedup.SessionLatency{N: 12_012, Mean: 0.0251, P50: 0.0232, P95: 0.0451, P99: 0.0833, Resolution: 0.001,
			Bounds: []float64{0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30}, Counts: []int64{0, 0, 12, 310, 4510, 6700, 420, 52, 8, 0, 0, 0, 0, 0, 0}},
		Origins: []dedup.Origin{{Exchange: "shop", RoutingKey: "orders.created", AppID: "checkout", UserID: "web", Copies: 480, Duplicates: 236},
			{Exchange: "shop", RoutingKey: "orders.created", AppID: "nightly-resend", UserID: "cron", Copies: 131, Duplicates: 126},
			{RoutingKey: "orders", AppID: "<b>by hand</b>\u202e", Copies: 4, Duplicates: 2}}}
	for i := range 30 {
		p := dedup.RepeatedID{ID: fmt.Sprintf("order:%d", 88_003+7*i), Deliveries: 2, Duplicates: 1, First: now.Add(-time.Duration(i) * time.Second), Gap: time.Duration(i*i) * 37 * time.Millisecond,
			Done: time.Duration(i*i) * 31 * time.Millisecond, Origins: []dedup.Origin{{Exchange: "shop", RoutingKey: "orders.created", AppID: "checkout", Copies: 1},
				{Exchange: "shop", RoutingKey: "orders.created", AppID: "nightly-resend", Headers: map[string]string{"x-attempt": "2", "x-source": "cron"}, Copies: 1, Duplicates: 1}}}
		if i%3 == 1 {
			p.Redelivered, p.Origins = 1, []dedup.Origin{{Exchange: "shop", RoutingKey: "orders.created", AppID: "checkout", Copies: 2, Duplicates: 1}}
		}
		r.Repeated = append(r.Repeated, p)
	}
	r.Repeated[0].ID, r.Repeated[0].Deliveries, r.Repeated[0].Duplicates = "<script>alert(1)</script>\u202e-a-very-long-id-of-a-message-that-nobody-would-call-short", 9, 8
	return r
}

// Measured are the pipelines of the demo.
func Measured() []dedup.Pipeline {
	var all []dedup.Pipeline
	for _, p := range Scene("mixed", time.Now()).Pipelines {
		all = append(all, p.Pipeline)
	}
	return all
}
