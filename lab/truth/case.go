// Package truth runs real consumers of every scheme with exact troubles beside the dashboard's observing half, and holds every
// figure that it shows against what the consumers themselves counted.
package truth

import (
	"fmt"
	"slices"
	"time"
)

// A Scheme is the row name of a dedup scheme, with its database where there are two.
type Scheme string

// The schemes that have consumers here.
const (
	R1         Scheme = "R1"
	R3         Scheme = "R3"
	R5         Scheme = "R5"
	R6         Scheme = "R6"
	D1MariaDB  Scheme = "D1 MariaDB"
	D2MariaDB  Scheme = "D2 MariaDB"
	D3Postgres Scheme = "D3 PostgreSQL"
	// D3Deletes is D3 whose failures delete their row and return their message.
	D3Deletes Scheme = "D3 PostgreSQL, failures delete"
)

// Shape is a distribution of work times.
type Shape string

// The shapes of work times.
const (
	Constant  Shape = "constant"
	LogNormal Shape = "log-normal"
	// Bimodal is Median, and slowWork for a share of slowShare.
	Bimodal Shape = "bimodal"
)

// The slow part of bimodal work: large enough for the 95th percentile to lie well inside it.
const (
	slowWork  = 600 * time.Millisecond
	slowShare = 0.08
)

// spread is the sigma of log-normal work.
const spread = 0.6

// Knobs are the troubles of one case. Shares are of the messages, 0..1; which messages they strike is a pure function of the seed
// and the message's id.
type Knobs struct {
	// Resend is the share that the producer sends a second time.
	Resend float64
	// LostAck is the share whose channel is closed after the work was done and marked, before its ack.
	LostAck float64
	// Fail is the share whose first FailTimes attempts fail; AlwaysFail that of which every attempt fails.
	Fail       float64
	FailTimes  int
	AlwaysFail float64
	// Crash is the share whose consumer dies in the middle of the first attempt.
	Crash float64
	// Endless is the number of messages whose first consumer dies before it gives its marker an expiry: they loop for ever.
	Endless int
	// NoID leaves the message id out, so that consumers take md5(body).
	NoID bool
	// Prefetch is that of each channel, Channels how many there are, each working on one message at a time.
	Prefetch int
	Channels int
	// Bursts publishes what is due in each burstEvery within its first burstShare.
	Bursts bool
	// Work and Median give the work times.
	Work   Shape
	Median time.Duration
	// ClaimTTL is the life of a processing marker; zero means the 300 s of the schemes.
	ClaimTTL time.Duration
}

// A Case is one scheme with one set of troubles, on a queue and a pipeline of its own.
type Case struct {
	Name   string
	Scheme Scheme
	Knobs  Knobs
	// Bound says why no more than a bound can be known of the case's rate from outside; empty where a good figure must be told.
	Bound string
	// Reports makes the consumers count their outcomes in the store, as docs/consumers.md asks.
	Reports bool
	// SharesServer puts the store on a Redis server that others use too, with the same commands.
	SharesServer bool
	// StoreOf names the case in whose store this one keeps its markers; empty for a store of its own. Such a case is only there
	// to disturb the other: it must not be wrong, and does not count otherwise.
	StoreOf string
}

// Companion is true for a case that is only there to disturb another one.
func (c Case) Companion() bool { return c.StoreOf != "" }

// The shape of a burst.
const (
	burstEvery = 10 * time.Second
	burstShare = 0.2
)

// requeues says whether the scheme returns failed messages, so that they are tried again.
func (c Case) requeues() bool { return c.Scheme != D1MariaDB && c.Scheme != D3Postgres }

// swallowsCrashed says whether the scheme leaves a message undone for ever whose consumer died in the middle of the work.
func (c Case) swallowsCrashed() bool {
	switch c.Scheme {
	case R6, D1MariaDB, D3Postgres, D3Deletes:
		return true
	}
	return false
}

// retryLimit is the number of failures from which on R3 gives a message up.
const retryLimit = 5

// Select returns the cases with these names, and those whose stores they share; all when there are no names.
func Select(names []string) ([]Case, error) {
	if len(names) == 0 {
		return Cases(), nil
	}
	var chosen []Case
	for _, c := range append(Cases(), killed()...) {
		if slices.Contains(names, c.Name) || c.Companion() && slices.Contains(names, c.StoreOf) {
			chosen = append(chosen, c)
		}
	}
	for _, n := range names {
		if !slices.ContainsFunc(chosen, func(c Case) bool { return c.Name == n }) {
			return nil, fmt.Errorf("there is no case %q", n)
		}
	}
	return chosen, nil
}
