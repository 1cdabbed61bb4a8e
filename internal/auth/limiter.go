package auth

import (
	"net/netip"
	"sync"
	"time"
)

// The growing delay between failed sign-ins. It never becomes a lock: it ends after its cap, and it does not stop an
// account's owner with a browser, or at an address, from which they signed in before.
const (
	freeFailures    = 5
	firstDelay      = time.Second
	accountDelayCap = 30 * time.Second
	addressDelayCap = 5 * time.Minute
	// forgetAfter is how long a quiet key is remembered.
	forgetAfter = time.Hour
	knownFor    = 30 * 24 * time.Hour
	// maxKeys bounds the memory of each table; the key that was quiet longest makes room.
	maxKeys = 10_000
)

// A limiter delays sign-ins by the address they come from and by the account they try. All names count alike, whether an
// account exists or not, so that the delay does not tell. Who signed in to the account before, with this browser or from this address, has
// a delay of their own: the failures of others, behind the same proxy or against the same account, do not keep them out.
type limiter struct {
	mu        sync.Mutex
	addresses map[string]*tally
	accounts  map[string]*tally
	// known holds account and address of earlier successes, until a restart. A browser's mark outlives that.
	known map[string]*tally
	// owners counts the failures of those who are known, by mark or by account and address.
	owners map[string]*tally
}

// A tally counts the failures of one key.
type tally struct {
	failures int
	blocked  time.Time // until when
	last     time.Time
}

func newLimiter() *limiter {
	return &limiter{addresses: map[string]*tally{}, accounts: map[string]*tally{}, known: map[string]*tally{}, owners: map[string]*tally{}}
}

// An attempt is one sign-in under way. It counts as failed until it is known to have succeeded, so that a burst of
// parallel guesses is not let through on one check.
type attempt struct {
	l                *limiter
	account, address string
	lanes            []lane
}

// A lane is one of the delays that an attempt is subject to.
type lane struct {
	table   map[string]*tally
	key     string
	longest time.Duration
	// shared is true where the failures of several accounts are counted: a success then takes back no more than its own attempt.
	shared bool
}

// begin admits an attempt, or returns a *TooSoon. The device is what is known of the browser; empty if it never signed in to the account.
func (l *limiter) begin(account string, from netip.Addr, device string) (*attempt, error) {
	now := time.Now()
	if !ValidName(account) {
		account = "" // no account has such a name; its length must not fill the memory
	}
	a := &attempt{l: l, account: account, address: network(from)}
	l.mu.Lock()
	defer l.mu.Unlock()
	a.lanes = l.lanes(a, device, now)
	wait := time.Duration(0)
	for _, x := range a.lanes {
		wait = max(wait, x.table[x.key].wait(now))
	}
	if wait > 0 {
		return nil, &TooSoon{RetryAfter: wait}
	}
	for _, x := range a.lanes {
		count(x.table, x.key, now, x.longest)
	}
	return a, nil
}

func (l *limiter) lanes(a *attempt, device string, now time.Time) []lane {
	if device != "" {
		return []lane{{table: l.owners, key: "device " + device, longest: accountDelayCap}}
	}
	if k := l.known[a.pair()]; k != nil && now.Sub(k.last) <= knownFor {
		return []lane{{table: l.owners, key: a.pair(), longest: accountDelayCap}}
	}
	return []lane{{table: l.addresses, key: a.address, longest: addressDelayCap, shared: true}, {table: l.accounts, key: a.account, longest: accountDelayCap}}
}

func (a *attempt) pair() string { return a.address + " " + a.account }

// failed leaves the attempt counted.
func (a *attempt) failed() {}

// cancel takes the attempt back: it was not judged.
func (a *attempt) cancel() {
	a.l.mu.Lock()
	defer a.l.mu.Unlock()
	for _, x := range a.lanes {
		x.table[x.key].forgive()
	}
}

// succeeded clears the account, or the delay of its owner, and remembers the address. The address keeps its other failures: one valid
// account must not buy endless guesses at others.
func (a *attempt) succeeded() {
	now := time.Now()
	a.l.mu.Lock()
	defer a.l.mu.Unlock()
	for _, x := range a.lanes {
		if x.shared {
			x.table[x.key].forgive()
		} else {
			delete(x.table, x.key)
		}
	}
	makeRoom(a.l.known, now, knownFor)
	a.l.known[a.pair()] = &tally{last: now}
}

func (t *tally) wait(now time.Time) time.Duration {
	if t == nil {
		return 0
	}
	return max(0, t.blocked.Sub(now))
}

func (t *tally) forgive() {
	if t == nil || t.failures == 0 {
		return
	}
	t.failures--
	t.blocked = time.Time{}
}

// count adds a failure to a key and sets its delay: none for the first five, then 1 s, doubling up to the cap.
func count(table map[string]*tally, key string, now time.Time, longest time.Duration) {
	t := table[key]
	if t == nil || now.Sub(t.last) > forgetAfter {
		makeRoom(table, now, forgetAfter)
		t = &tally{}
		table[key] = t
	}
	t.failures++
	t.last = now
	if over := t.failures - freeFailures; over > 0 {
		delay := longest
		if over < 20 {
			delay = min(longest, firstDelay<<(over-1))
		}
		t.blocked = now.Add(delay)
	}
}

// makeRoom drops what has been quiet for long, and if that is not enough the key that was quiet longest.
func makeRoom(table map[string]*tally, now time.Time, forget time.Duration) {
	if len(table) < maxKeys {
		return
	}
	oldest := ""
	for key, t := range table {
		if now.Sub(t.last) > forget {
			delete(table, key)
			continue
		}
		if oldest == "" || t.last.Before(table[oldest].last) {
			oldest = key
		}
	}
	if len(table) >= maxKeys {
		delete(table, oldest)
	}
}

// network returns what counts as one address: the address itself, and for IPv6 its /64, which one customer owns whole.
func network(a netip.Addr) string {
	a = a.Unmap().WithZone("")
	if a.Is6() {
		p, _ := a.Prefix(64)
		return p.String()
	}
	return a.String()
}
