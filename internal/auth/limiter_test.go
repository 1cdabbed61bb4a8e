package auth

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

func TestDelayGrowsAndNeverLocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter()
		var waits []time.Duration
		for i := range 40 {
			from := netip.AddrFrom4([4]byte{10, 0, byte(i), 1}) // from everywhere, against one account
			_, err := l.begin("ann", from, "")
			var soon *TooSoon
			if errors.As(err, &soon) {
				waits = append(waits, soon.RetryAfter)
				time.Sleep(soon.RetryAfter)
				if _, err = l.begin("ann", from, ""); err != nil {
					t.Fatalf("after its delay: %v", err)
				}
			}
		}
		for i, w := range waits {
			if i > 0 && w < waits[i-1] || w > accountDelayCap {
				t.Errorf("delays %v", waits)
				break
			}
		}
		if waits[0] != firstDelay || waits[len(waits)-1] != accountDelayCap {
			t.Errorf("delays %v", waits)
		}
	})
}

func TestTheOwnerComesInWhileOthersGuess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter()
		a, err := l.begin("ann", here, "")
		if err != nil {
			t.Fatal(err)
		}
		a.succeeded()
		for i := range 50 {
			_, _ = l.begin("ann", netip.AddrFrom4([4]byte{10, 0, byte(i), 1}), "")
		}
		if _, err := l.begin("ann", netip.MustParseAddr("10.9.9.9"), ""); err == nil {
			t.Error("guesses are not delayed")
		}
		if _, err := l.begin("ann", here, ""); err != nil {
			t.Errorf("the owner, from where she signed in before: %v", err)
		}
	})
}

func TestOneValidAccountBuysNoGuessesAtOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter()
		blocked := false
		for i := range 40 {
			if _, err := l.begin(fmt.Sprint("victim", i), here, ""); err != nil {
				blocked = true
				break
			}
			if own, err := l.begin("mallory", here, ""); err == nil {
				own.succeeded()
			} else {
				blocked = true
				break
			}
		}
		if !blocked {
			t.Error("signing in to one's own account resets the address")
		}
	})
}

func TestAddressesOfOneIPv6NetworkCountAsOne(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"2001:db8::1", "2001:db8::ffff:1", true}, {"2001:db8::1", "2001:db8:0:1::1", false},
		{"::ffff:192.0.2.1", "192.0.2.1", true}, {"192.0.2.1", "192.0.2.2", false}, {"fe80::1%eth0", "fe80::1", true},
	} {
		if same := network(netip.MustParseAddr(c.a)) == network(netip.MustParseAddr(c.b)); same != c.same {
			t.Errorf("%s and %s: %t", c.a, c.b, same)
		}
	}
	_ = network(netip.Addr{}) // a client without an address must not panic
}

func TestLimiterStaysBounded(t *testing.T) {
	l := newLimiter()
	for i := range maxKeys + 50 {
		a, err := l.begin(fmt.Sprint("u", i), netip.AddrFrom4([4]byte{byte(i >> 16), byte(i >> 8), byte(i), 1}), "")
		if err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			a.succeeded()
		}
		if _, err := l.begin("owner", here, fmt.Sprint("device", i)); err != nil {
			t.Fatal(err)
		}
	}
	for range maxKeys + 50 {
		makeRoom(l.known, time.Now(), time.Hour)
		l.known[rand.Text()] = &tally{last: time.Now()}
	}
	if len(l.accounts) > maxKeys || len(l.addresses) > maxKeys || len(l.known) > maxKeys || len(l.owners) > maxKeys {
		t.Errorf("%d accounts, %d addresses, %d known, %d owners", len(l.accounts), len(l.addresses), len(l.known), len(l.owners))
	}
}

// TestLimiterNeverAdmitsMoreThanItsDelays lets any mix of attempts come at any times: in no hour do more guesses at one
// account get through than the delays allow.
func TestLimiterNeverAdmitsMoreThanItsDelays(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		now := time.Unix(1_000_000, 0)
		table := map[string]*tally{}
		admitted := 0
		for range rapid.IntRange(1, 300).Draw(rt, "attempts") {
			now = now.Add(time.Duration(rapid.IntRange(0, 5000).Draw(rt, "ms")) * time.Millisecond)
			if table["k"].wait(now) == 0 {
				count(table, "k", now, accountDelayCap)
				admitted++
			}
		}
		elapsed := now.Sub(time.Unix(1_000_000, 0))
		// 5 free, then 1+2+4+8+16 s for five more, then one each 30 s.
		if most := freeFailures + 7 + int(elapsed/accountDelayCap); admitted > most {
			rt.Fatalf("%d admitted in %v, at most %d expected", admitted, elapsed, most)
		}
	})
}

func TestLongNamesDoNotFillTheMemory(t *testing.T) {
	l := newLimiter()
	for i := range 20 {
		_, _ = l.begin(strings.Repeat("x", 1<<20)+fmt.Sprint(i), netip.AddrFrom4([4]byte{10, 0, byte(i), 1}), "")
	}
	for name := range l.accounts {
		if len(name) > 64 {
			t.Fatalf("a name of %d bytes is kept", len(name))
		}
	}
}

func TestASuccessClearsItsAccountAndOfItsAddressItsOwnAttemptAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter()
		for _, account := range []string{"ann", "bob", "ann", "bob", "ann"} {
			if _, err := l.begin(account, here, ""); err != nil {
				t.Fatal(err)
			}
		}
		a, err := l.begin("ann", here, "")
		if err != nil {
			t.Fatal(err)
		}
		a.succeeded()
		if ann, bob, from := l.accounts["ann"], l.accounts["bob"], l.addresses[network(here)]; ann != nil || bob.failures != 2 || from.failures != 5 {
			t.Errorf("ann %+v, bob %+v, their address %+v", ann, bob, from)
		}
	})
}
