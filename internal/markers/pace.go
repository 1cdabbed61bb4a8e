package markers

import (
	"context"
	"fmt"
	"time"
)

const (
	// probeEvery is how often the walk asks the store whether it slows others down.
	probeEvery = time.Second
	// slowBy is how far above its usual round trip a PING may be before the walk backs off.
	slowBy = 5 * time.Millisecond
	// longScan is the mean time of a SCAN call from which fewer keys are asked for at once.
	longScan = 2 * time.Millisecond
	// leastCount is the smallest number of keys that one SCAN examines, however slow the store is.
	leastCount = 50
)

// pace keeps a walk within its share of the server's time and its ceilings. It is used by one goroutine.
type pace struct {
	rules Sweep
	// idle is the part of a round trip in which the server does nothing for us: the network and our own end.
	idle time.Duration
	// factor is the part of the rest that the server works for us, by its own account; 1 until it gave one.
	factor float64
	waited time.Duration
	count  int
	// What was used since the last pause.
	busy    time.Duration
	since   time.Time
	keys    int
	bytes   int
	penalty time.Duration
	slow    string
}

func newPace(rules Sweep) *pace {
	return &pace{rules: rules, count: rules.Count, factor: 1, since: time.Now()}
}

// spent accounts for one round trip. At least a quarter of it counts, whatever the network takes.
func (p *pace) spent(roundTrip time.Duration, keys, bytes int) {
	waited := max(roundTrip-p.idle, roundTrip/4)
	p.waited += waited
	p.busy += time.Duration(p.factor * float64(waited))
	p.keys += keys
	p.bytes += bytes
}

// served compares our round trips since the last call with what the server says it spent on our sort of commands, so
// that a slow network or a busy machine of ours does not slow the walk down. The account is doubled for reading commands
// and writing answers, which it leaves out; what others spend on such commands counts as ours.
func (p *pace) served(now, before work) {
	if p.waited > 0 && now.time > before.time {
		p.factor = min(1, max(0.1, 2*float64(now.time-before.time)/float64(p.waited)))
	}
	p.waited = 0
	if calls := now.scans - before.scans; calls > 0 && (now.scanTime-before.scanTime)/time.Duration(calls) > longScan {
		p.shrink()
	}
}

// probed takes in the round trip of a PING: the walk examines fewer keys at once and rests while the store is slow,
// whoever is the cause.
func (p *pace) probed(ping, least time.Duration) {
	p.idle = least
	if ping-least <= slowBy {
		p.slow = ""
		p.count = min(p.rules.Count, p.count+p.count/4+1)
		return
	}
	p.slow = fmt.Sprintf("the store answers PING in %s, usually in %s: walking slower", ping.Round(time.Millisecond), least.Round(10*time.Microsecond))
	p.penalty = 500 * time.Millisecond
	p.shrink()
}

func (p *pace) shrink() { p.count = max(min(leastCount, p.rules.Count), p.count/2) }

// owed returns the pause that is due and why.
func (p *pace) owed(now time.Time) (time.Duration, string) {
	if p.rules.Duty >= 1 && p.rules.MaxKeysPerSecond == 0 && p.rules.MaxBytesPerSecond == 0 {
		return 0, ""
	}
	pause := time.Duration(float64(p.busy) * (1/float64(p.rules.Duty) - 1))
	why := fmt.Sprintf("pausing to stay within %s of the store's time", p.rules.Duty)
	worked := now.Sub(p.since)
	if wait := per(p.keys, p.rules.MaxKeysPerSecond) - worked; wait > pause {
		pause, why = wait, fmt.Sprintf("at the ceiling of %d keys/s", p.rules.MaxKeysPerSecond)
	}
	if wait := per(p.bytes, p.rules.MaxBytesPerSecond) - worked; wait > pause {
		pause, why = wait, fmt.Sprintf("at the ceiling of %d bytes/s", p.rules.MaxBytesPerSecond)
	}
	if p.slow != "" {
		why = p.slow
	}
	return pause + p.penalty, why
}

func per(n, perSecond int) time.Duration {
	if perSecond == 0 {
		return 0
	}
	return time.Duration(n) * time.Second / time.Duration(perSecond)
}

// rest pauses for what is owed. Pauses below a millisecond are saved up: timers are not that fine.
func (p *pace) rest(ctx context.Context) error {
	pause, _ := p.owed(time.Now())
	if pause < time.Millisecond {
		return ctx.Err()
	}
	if err := sleep(ctx, pause); err != nil {
		return err
	}
	p.busy, p.keys, p.bytes, p.penalty, p.since = 0, 0, 0, 0, time.Now()
	return nil
}

// sleep waits for d or the end of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
