package truth

import (
	"fmt"
	"strings"
	"time"
)

// Cases returns the table of cases in the order in which they are printed: a grid, then single troubles. A companion follows the case that
// it disturbs.
func Cases() []Case { return append(grid(), troubles()...) }

// Why no more than a bound can be known of a case's rate.
const (
	marksBefore = "what crashed and what was done leave the same marker"
	sharesStore = "two queues keep their markers under one prefix"
	failsUnseen = "an insert that failed and was not acked may have met a row, or not"
)

// bounds says of which schemes no more than a bound can be known.
func bounds(s Scheme) string {
	if s == R6 {
		return marksBefore
	}
	return ""
}

// grid pairs every scheme with each of four properties, and each two of these in every way: a server of its own or one with others who
// use the same commands, consumers that live or die, a prefetch of 1 or 50, an even pace or bursts.
func grid() []Case {
	var all []Case
	for i, scheme := range []Scheme{R1, R3, R5, R6, D1MariaDB, D2MariaDB, D3Postgres, D3Deletes} {
		for _, flip := range []bool{false, true} {
			bit := func(n int) bool { return i>>n&1 == 1 != flip }
			c := Case{Scheme: scheme, SharesServer: bit(0), Bound: bounds(scheme),
				Knobs: Knobs{Resend: 0.03, Fail: 0.01, FailTimes: 1, Prefetch: 1, Channels: 10, Work: LogNormal, Median: 45 * time.Millisecond,
					Bursts: bit(0) != bit(1) != bit(2)}}
			if bit(1) {
				c.Knobs.LostAck, c.Knobs.Crash = 0.003, 0.001
				if scheme == D3Deletes {
					c.Bound = failsUnseen
				}
			}
			if bit(1) && (scheme == R1 || scheme == R3) { // else what crashed would loop for the 5 minutes that a claim lives
				c.Knobs.ClaimTTL = 10 * time.Second
			}
			if bit(2) {
				c.Knobs.Prefetch, c.Knobs.Channels = 50, 5
			}
			c.Name = c.gridName()
			all = append(all, c)
		}
	}
	return all
}

// gridName says what the case is made of.
func (c Case) gridName() string {
	scheme, _, deletes := strings.Cut(string(c.Scheme), ", ")
	scheme = strings.ToLower(strings.Fields(scheme)[0])
	if deletes {
		scheme += "x"
	}
	pick := func(is bool, yes, no string) string {
		if is {
			return yes
		}
		return no
	}
	return fmt.Sprintf("%s-%s-%s-%d-%s", scheme, pick(c.SharesServer, "shared", "own"), pick(c.Knobs.LostAck > 0, "dying", "living"), c.Knobs.Prefetch,
		pick(c.Knobs.Bursts, "bursts", "steady"))
}

// troubles are cases of one trouble each.
func troubles() []Case {
	const ms = time.Millisecond
	return []Case{
		{Name: "r3-resends", Scheme: R3,
			Knobs: Knobs{Resend: 0.05, Prefetch: 10, Channels: 14, Work: Constant, Median: 80 * ms}},
		{Name: "r3-loop", Scheme: R3,
			Knobs: Knobs{Resend: 0.015, Endless: 1, Prefetch: 1, Channels: 6, Work: Constant, Median: 10 * ms}},
		{Name: "r3-gives-up", Scheme: R3,
			Knobs: Knobs{Resend: 0.02, AlwaysFail: 0.01, Prefetch: 10, Channels: 10, Work: LogNormal, Median: 45 * ms}},
		{Name: "r3-reported", Scheme: R3, Reports: true,
			Knobs: Knobs{Resend: 0.03, LostAck: 0.003, Fail: 0.01, FailTimes: 1, Prefetch: 10, Channels: 10, Work: LogNormal, Median: 45 * ms}},
		{Name: "r1-no-id", Scheme: R1,
			Knobs: Knobs{Resend: 0.03, NoID: true, Prefetch: 50, Channels: 14, Work: Constant, Median: 80 * ms}},
		{Name: "r3-pair", Scheme: R3, Bound: sharesStore,
			Knobs: Knobs{Resend: 0.03, Prefetch: 10, Channels: 10, Work: LogNormal, Median: 45 * ms}},
		{Name: "r3-pair-other", Scheme: R3, StoreOf: "r3-pair",
			Knobs: Knobs{Resend: 0.01, Prefetch: 10, Channels: 14, Work: Constant, Median: 80 * ms}},
	}
}

// killed are cases in which a consumer dies each second, when 20 messages come in one. They run where they are asked for by name: RabbitMQ 4 counts their
// acks, older versions lose them with the channels.
func killed() []Case {
	var all []Case
	for _, scheme := range []Scheme{R1, R3, D1MariaDB, D3Postgres} {
		c := Case{Scheme: scheme, Knobs: Knobs{Resend: 0.03, LostAck: 0.025, Crash: 0.025, Prefetch: 10, Channels: 10, Work: LogNormal, Median: 45 * time.Millisecond}}
		if scheme == R1 || scheme == R3 {
			c.Knobs.ClaimTTL = 10 * time.Second
		}
		c.Name = strings.ToLower(strings.Fields(string(scheme))[0]) + "-killed"
		all = append(all, c)
	}
	return all
}
