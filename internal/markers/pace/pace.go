package pace

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

const (
	// ProbeEvery is how often the walk asks the store whether it slows others down.
	ProbeEvery = time.Second
	// slowBy is how far above its usual round trip a PING may be before the walk backs off.
	slowBy = 5 * time.Millisecond
	// longScan is the mean time of a SCAN call from which fewer keys are asked for at once.
	longScan = 2 * time.Millisecond
	// leastCount is the smallest number of keys that one SCAN examines, however slow the store is.
	leastCount = 50
	// mostBusy is the most of one round trip that counts as the server's work for us. What takes longer waited for
	// something else, a pause or a long command of others, and must not stop the walk for a minute once that is over.
	mostBusy = time.Second
)

// Pace keeps a walk within its share of the server's time and its ceilings. It is used by one goroutine.
type Pace struct {
	Rules Sweep
	// Idle is the part of a round trip in which the server does nothing for us: the network and our own end.
	Idle time.Duration
	// factor is the part of the rest that the server works for us, by its own account; 1 until it gave one.
	factor float64
	waited time.Duration
	Count  int
	// What was used since the last pause.
	busy    time.Duration
	since   time.Time
	keys    int
	Bytes   int
	penalty time.Duration
	slow    string
}

// New returns the pace of a walk that keeps to the rules.
func New(rules Sweep) *Pace {
	return &Pace{Rules: rules, Count: rules.Count, factor: 1, since: time.Now()}
}

// Spent accounts for one round trip. At least a quarter of it counts, whatever the network takes.
func (p *Pace) Spent(roundTrip time.Duration, keys, bytes int) {
	waited := min(max(roundTrip-p.Idle, roundTrip/4), mostBusy)
	p.waited += waited
	p.busy += time.Duration(p.factor * float64(waited))
	p.keys += keys
	p.Bytes += bytes
}

// Served compares our round trips since the last call with what the server says it spent on our sort of commands, so
// that a slow network or a busy machine of ours does not slow the walk down. The account is doubled for reading commands
// and writing answers, which it leaves out; what others spend on such commands counts as ours.
func (p *Pace) Served(now, before Work) {
	if p.waited > 0 && now.Time > before.Time {
		p.factor = min(1, max(0.1, 2*float64(now.Time-before.Time)/float64(p.waited)))
	}
	p.waited = 0
	if calls := now.Scans - before.Scans; calls > 0 && (now.ScanTime-before.ScanTime)/time.Duration(calls) > longScan {
		p.shrink()
	}
}

// Probed takes in the round trip of a PING: the walk examines fewer keys at once and rests while the store is slow,
// whoever is the cause.
func (p *Pace) Probed(ping, least time.Duration) {
	p.Idle = least
	if ping-least <= slowBy {
		p.slow = ""
		p.Count = min(p.Rules.Count, p.Count+p.Count/4+1)
		return
	}
	p.slow = fmt.Sprintf("the store answers PING in %s, usually in %s: walking slower", ping.Round(time.Millisecond), least.Round(10*time.Microsecond))
	p.penalty = 500 * time.Millisecond
	p.shrink()
}

func (p *Pace) shrink() { p.Count = max(min(leastCount, p.Rules.Count), p.Count/2) }

// Owed returns the pause that is due and why.
func (p *Pace) Owed(now time.Time) (time.Duration, string) {
	if p.Rules.Duty >= 1 && p.Rules.MaxKeysPerSecond == 0 && p.Rules.MaxBytesPerSecond == 0 {
		return 0, ""
	}
	pause := time.Duration(float64(p.busy) * (1/float64(p.Rules.Duty) - 1))
	why := fmt.Sprintf("pausing to stay within %s of the store's time", p.Rules.Duty)
	worked := now.Sub(p.since)
	if wait := per(p.keys, p.Rules.MaxKeysPerSecond) - worked; wait > pause {
		pause, why = wait, fmt.Sprintf("at the ceiling of %d keys/s", p.Rules.MaxKeysPerSecond)
	}
	if wait := per(p.Bytes, p.Rules.MaxBytesPerSecond) - worked; wait > pause {
		pause, why = wait, fmt.Sprintf("at the ceiling of %d bytes/s", p.Rules.MaxBytesPerSecond)
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

// Rest pauses for what is owed. Pauses below a millisecond are saved up: timers are not that fine.
func (p *Pace) Rest(ctx context.Context) error {
	pause, _ := p.Owed(time.Now())
	if pause < time.Millisecond {
		return ctx.Err()
	}
	if err := Sleep(ctx, pause); err != nil {
		return err
	}
	p.busy, p.keys, p.Bytes, p.penalty, p.since = 0, 0, 0, 0, time.Now()
	return nil
}

// Sleep waits for d or the end of ctx.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Sweep bounds what the walk over the store costs it.
type Sweep struct {
	// Duty is the share of the server's time that the walk may take. At 100% the walk never pauses.
	Duty Share `yaml:"duty"`
	// MaxKeysPerSecond and MaxBytesPerSecond are ceilings; zero means none.
	MaxKeysPerSecond  int `yaml:"max_keys_per_second"`
	MaxBytesPerSecond int `yaml:"max_bytes_per_second"`
	// Count is the most that one SCAN call may examine.
	Count int `yaml:"count"`
	// Every is the least time from the start of one pass to the start of the next.
	Every time.Duration `yaml:"every"`
}

// Share is a ratio 0..1, written with a percent sign: 5%.
type Share float64

// UnmarshalText reads a share such as 5% or 0.5%. What is none becomes NaN, which Validate refuses with its path: an error
// here would end the reading of the file before its other problems are found.
func (s *Share) UnmarshalText(text []byte) error {
	number, ok := strings.CutSuffix(string(text), "%")
	value, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if !ok || err != nil {
		value = math.NaN()
	}
	*s = Share(value / 100)
	return nil
}

// MarshalText writes a share as a percentage.
func (s Share) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// String writes a share as a percentage.
func (s Share) String() string { return strconv.FormatFloat(float64(s)*100, 'g', 4, 64) + "%" }

// Work is what a server says that it spent on commands such as ours, since it began to count.
type Work struct {
	Time     time.Duration
	ScanTime time.Duration
	Scans    int64
}
