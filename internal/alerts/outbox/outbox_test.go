package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dedup-dashboard/internal/alerts"
)

func TestMessagesAreDeliveredInTheirOrderOnceEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, ops := &shelf{}, &post{}
		for i := range 3 {
			s.put(fmt.Sprint("m", i), "ops")
		}
		o := openOffice(t, s, map[string]Sender{"ops": ops}, nil)
		letPass(time.Hour)
		if got := sentIDs(ops.sendings()); got != "m0 m1 m2" {
			t.Error(got)
		}
		if state, outcomes := s.row("m2"); state != "sent" || len(outcomes) != 1 {
			t.Error(state, outcomes)
		}
		if stats, err := o.Stats(t.Context()); err != nil || len(stats) != 1 || stats[0].Channel != "ops" {
			t.Error(stats, err)
		}
	})
}

func TestAWokenWorkerLooksAtOnceAndOneThatIsNotWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, ops := &shelf{}, &post{}
		o := openOffice(t, s, map[string]Sender{"ops": ops}, nil)
		letPass(10*time.Second + time.Millisecond)
		s.put("woken", "ops")
		o.Wake()
		o.Wake()
		synctest.Wait()
		if got := sentIDs(ops.sendings()); got != "woken" {
			t.Errorf("%q were delivered", got)
		}
		s.put("found", "ops")
		letPass(time.Second)
		if got := sentIDs(ops.sendings()); got != "woken found" {
			t.Errorf("%q were delivered", got)
		}
	})
}

func TestAFailureIsTriedAgainAfterWaitsThatDouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{}
		ops := &post{answer: func(context.Context, alerts.Notification) error { return &alerts.DeliveryError{Public: "503"} }}
		s.put("m", "ops")
		openOffice(t, s, map[string]Sender{"ops": ops}, nil)
		letPass(time.Hour)
		var waits []string
		got := ops.sendings()
		for i := 1; i < len(got); i++ {
			waits = append(waits, got[i].at.Sub(got[i-1].at).Round(time.Second).String())
		}
		if text := strings.Join(waits[:11], " "); text != "1s 2s 4s 8s 16s 32s 1m4s 2m8s 4m16s 5m0s 5m0s" {
			t.Error(text)
		}
	})
}

func TestTheBackoffIsShortenedByHalfAtMost(t *testing.T) {
	for failures, want := range map[int]time.Duration{0: time.Second, 1: time.Second, 4: 8 * time.Second, 9: 256 * time.Second, 10: lastRetry, 10_000: lastRetry} {
		for _, jitter := range []float64{0, 0.5, 1} {
			w := worker{cfg: &Config{Jitter: func() float64 { return jitter }}}
			if got := w.backoff(failures); got != want/2+time.Duration(jitter*float64(want/2)) {
				t.Errorf("%d failures, jitter %g: %s", failures, jitter, got)
			}
		}
	}
}

func TestTheWaitThatAReceiverAsksForIsKeptForTheWholeChannelUpToAnHour(t *testing.T) {
	for name, c := range map[string]struct{ asked, want time.Duration }{
		"ten minutes":     {10 * time.Minute, 10 * time.Minute},
		"too long":        {30 * time.Hour, time.Hour},
		"less than usual": {time.Millisecond, time.Second},
		"negative":        {-time.Hour, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &shelf{}
				ops := &post{}
				ops.answer = func(context.Context, alerts.Notification) error {
					if len(ops.sendings()) > 1 {
						return nil
					}
					return &alerts.DeliveryError{Public: "429", RetryAfter: c.asked}
				}
				s.put("m", "ops")
				s.put("next", "ops")
				o := openOffice(t, s, map[string]Sender{"ops": ops}, nil)
				start := time.Now()
				for len(ops.sendings()) < 3 {
					letPass(time.Second)
					o.Wake() // which shortens no wait after a failure
				}
				if got := ops.sendings(); got[1].at.Sub(start).Truncate(100*time.Millisecond) != c.want {
					t.Errorf("waited for %s", got[1].at.Sub(start))
				}
			})
		})
	}
}

func TestAPermanentErrorIsTriedOnceAndToldAndTheNextMessageFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{}
		ops := &post{answer: func(_ context.Context, n alerts.Notification) error {
			if n.ID == "wrong" {
				return fmt.Errorf("webhook: %w", &alerts.DeliveryError{Public: "The receiver answers 400; see its log.", Permanent: true})
			}
			return nil
		}}
		s.put("wrong", "ops")
		s.put("right", "ops")
		o := openOffice(t, s, map[string]Sender{"ops": ops}, nil)
		letPass(time.Hour)
		if got := sentIDs(ops.sendings()); got != "wrong right" {
			t.Error(got)
		}
		if state, outcomes := s.row("wrong"); state != "failed" || outcomes[0].Error != "The receiver answers 400; see its log." {
			t.Error(state, outcomes)
		}
		if strings.Join(o.failed, ", ") != "wrong: The receiver answers 400; see its log." {
			t.Error(o.failed)
		}
	})
}

func TestAPermanentErrorOfAMessageIsNotHeldAgainstItsChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{}
		ops := &post{answer: func(_ context.Context, n alerts.Notification) error {
			return &alerts.DeliveryError{Public: "no", Permanent: n.ID != "busy"}
		}}
		for _, id := range []string{"wrong", "wrong too", "busy"} {
			s.put(id, "ops")
		}
		openOffice(t, s, map[string]Sender{"ops": ops}, nil)
		letPass(firstRetry)
		if got := sentIDs(ops.sendings()); got != "wrong wrong too busy busy" {
			t.Error(got)
		}
	})
}

func TestAMessageIsGivenUpAfterADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{}
		ops := &post{answer: func(context.Context, alerts.Notification) error { return &alerts.DeliveryError{Public: "503"} }}
		s.put("m", "ops")
		start := time.Now()
		o := openOffice(t, s, map[string]Sender{"ops": ops}, nil)
		letPass(48 * time.Hour)
		state, outcomes := s.row("m")
		if last := outcomes[len(outcomes)-1]; state != "failed" || last.At.Sub(start) < 24*time.Hour || last.At.Sub(start) > 24*time.Hour+lastRetry || !strings.Contains(last.Error, "503") {
			t.Errorf("%s after %s: %+v", state, last.At.Sub(start), last)
		}
		if len(o.failed) != 1 {
			t.Error(o.failed)
		}
	})
}

func TestASlowChannelHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, quick := &shelf{}, &post{}
		slow := &post{answer: func(ctx context.Context, _ alerts.Notification) error {
			<-ctx.Done()
			return ctx.Err()
		}}
		for i := range 10 {
			s.put(fmt.Sprint("s", i), "slow")
			s.put(fmt.Sprint("q", i), "quick")
		}
		openOffice(t, s, map[string]Sender{"slow": slow, "quick": quick}, nil)
		synctest.Wait()
		if n := len(quick.sendings()); n != 10 {
			t.Errorf("%d of 10 were delivered", n)
		}
		letPass(15 * time.Second)
		if _, outcomes := s.row("s0"); len(outcomes) != 1 || outcomes[0].Error != "The channel did not answer within 15s." || outcomes[0].Result != DeliveryRetry {
			t.Errorf("%+v", outcomes)
		}
	})
}

func TestAMessageThatNobodyTakesLetsTheOthersPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{}
		ops := &post{answer: func(_ context.Context, n alerts.Notification) error {
			if n.ID == "poison" {
				return &alerts.DeliveryError{Public: "500"}
			}
			return nil
		}}
		s.put("poison", "ops")
		s.put("m", "ops")
		openOffice(t, s, map[string]Sender{"ops": ops}, nil)
		letPass(2 * time.Second)
		if state, _ := s.row("m"); state != "sent" {
			t.Error(state)
		}
	})
}

func TestTheTextOfAnUnknownErrorIsNotShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		s := &shelf{}
		ops := &post{answer: func(_ context.Context, n alerts.Notification) error {
			if n.ID == "panic" {
				panic("https://hooks.example/secret")
			}
			return errors.New("dial https://hooks.example/secret")
		}}
		s.put("m", "ops")
		s.put("panic", "ops")
		o := openOffice(t, s, map[string]Sender{"ops": ops}, slog.New(slog.NewTextHandler(&log, nil)))
		letPass(25 * time.Hour)
		o.stop()
		for _, id := range []string{"m", "panic"} {
			state, outcomes := s.row(id)
			if text := fmt.Sprint(outcomes, o.failed, log.String()); state != "failed" || strings.Contains(text, "secret") {
				t.Errorf("%s: %s", state, text)
			}
		}
	})
}

func TestWhatWasUnderWayWhenWeWereStoppedIsSentOnceMoreAsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{}
		ops := &post{answer: func(ctx context.Context, _ alerts.Notification) error {
			<-ctx.Done()
			return ctx.Err()
		}}
		s.put("m", "ops")
		o := openOffice(t, s, map[string]Sender{"ops": ops}, nil)
		letPass(time.Second)
		start := time.Now()
		o.stop()
		if took := time.Since(start); took != sendGrace {
			t.Errorf("stopped after %s", took)
		}
		if state, outcomes := s.row("m"); state != "sending" || len(outcomes) != 0 {
			t.Fatal(state, outcomes)
		}
		ops.answer = nil
		openOffice(t, s, map[string]Sender{"ops": ops}, nil)
		letPass(time.Second)
		if got := ops.sendings(); len(got) != 2 || got[0].n.Repeated || !got[1].n.Repeated {
			t.Errorf("%+v", got)
		}
	})
}

func TestADeliveryThatEndsWithinTheGraceIsNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{}
		ops := &post{answer: func(context.Context, alerts.Notification) error {
			time.Sleep(2 * time.Second)
			return nil
		}}
		s.put("m", "ops")
		o := openOffice(t, s, map[string]Sender{"ops": ops}, nil)
		letPass(time.Second)
		o.stop()
		if state, _ := s.row("m"); state != "sent" {
			t.Error(state)
		}
	})
}

func TestAStoreThatFailsHoldsDeliveryUpWithoutRepeatingAny(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{failing: true}
		var log strings.Builder
		ops := &post{}
		s.put("early", "ops")
		o := openOffice(t, s, map[string]Sender{"ops": ops}, slog.New(slog.NewTextHandler(&log, nil)))
		letPass(time.Minute)
		if got := sentIDs(ops.sendings()); got != "" {
			t.Errorf("%s was sent before what was under way was settled", got)
		}
		s.fail(false)
		letPass(10 * time.Second)
		ops.answer = func(context.Context, alerts.Notification) error {
			s.fail(true) // after it was claimed
			return nil
		}
		s.put("m", "ops")
		letPass(time.Hour)
		ops.answer = nil
		s.fail(false)
		letPass(time.Minute)
		if got := sentIDs(ops.sendings()); got != "early m" {
			t.Error(got)
		}
		if state, _ := s.row("m"); state != "sent" {
			t.Error(state)
		}
		o.stop()
		if n := strings.Count(log.String(), "cannot be used"); n != 1 {
			t.Errorf("told %d times in an hour: %s", n, log.String())
		}
	})
}

// A patientPost says how long it may take.
type patientPost struct {
	post
	patience time.Duration
}

func (p *patientPost) Patience() time.Duration { return p.patience }

func TestASenderThatSaysHowLongItMayTakeIsGivenThatLong(t *testing.T) {
	takes := func(d time.Duration) func(context.Context, alerts.Notification) error {
		return func(ctx context.Context, _ alerts.Notification) error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(d):
				return nil
			}
		}
	}
	for name, c := range map[string]struct {
		patience, takes time.Duration
		want            string
	}{
		"within its time":             {70 * time.Second, time.Minute, ""},
		"longer than it said":         {70 * time.Second, time.Hour, "The channel did not answer within 1m10s."},
		"longer than anything should": {time.Hour, 30 * time.Minute, "The channel did not answer within 5m0s."},
		"a sender that does not say":  {0, time.Minute, "The channel did not answer within 15s."},
		"less than usual":             {time.Second, 2 * time.Second, "The channel did not answer within 1s."},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &shelf{}
				s.put("m", "ops")
				openOffice(t, s, map[string]Sender{"ops": &patientPost{post{answer: takes(c.takes)}, c.patience}}, nil)
				letPass(6 * time.Minute)
				if _, outcomes := s.row("m"); len(outcomes) == 0 || outcomes[0].Error != c.want {
					t.Errorf("%+v", outcomes)
				}
			})
		})
	}
}

func TestWhatHadNotLeftUsWhenWeWereStoppedIsNotTakenForRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{}
		ops := &post{answer: func(ctx context.Context, _ alerts.Notification) error {
			<-ctx.Done()
			return &alerts.DeliveryError{Public: "it waited for its turn", Unsent: true}
		}}
		s.put("m", "ops")
		o := openOffice(t, s, map[string]Sender{"ops": ops}, nil)
		letPass(time.Second)
		o.stop()
		if state, outcomes := s.row("m"); state != "due" || len(outcomes) != 1 || outcomes[0].Result != DeliveryRetry {
			t.Errorf("%s %+v", state, outcomes)
		}
	})
}
