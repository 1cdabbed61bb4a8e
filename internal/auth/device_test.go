package auth

import (
	"bytes"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dedup-dashboard/internal/secret"
)

// besieged returns a service on which somebody guesses at an account from an address, as from behind the same proxy, and the mark that
// the browser of its owner got before the last restart.
func besieged(t *testing.T) (s *Service, mark string) {
	t.Helper()
	hash, err := HashPassword(password)
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Users: []UserConfig{{Name: "Ann", Role: "viewer", PasswordHash: secret.New(hash)}, {Name: "bob", Role: "viewer", PasswordHash: secret.New(hash)}}}
	key := bytes.Repeat([]byte{7}, 32)
	before := newService(t, cfg, &fakeUsers{})
	before.RememberDevices(key)
	mark = before.Device("Ann")
	s = newService(t, cfg, &fakeUsers{})
	s.RememberDevices(key)
	s.hasher.verify = func(_, pw string) bool { return pw == password }
	return s, mark
}

func guess(t *testing.T, s *Service, times int) {
	t.Helper()
	for range times {
		for _, name := range []string{"ann", "bob", "nobody"} {
			_, _ = s.Login(t.Context(), name, "a guess", here, "")
		}
		time.Sleep(time.Second)
	}
}

func TestTheOwnerComesInBehindTheSameProxyAndAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, mark := besieged(t)
		guess(t, s, 600)
		var soon *TooSoon
		if _, err := s.Login(t.Context(), "ann", password, here, ""); !errors.As(err, &soon) {
			t.Errorf("guesses are not delayed: %v", err)
		}
		if _, err := s.Login(t.Context(), "ANN", password, here, mark); err != nil {
			t.Errorf("the owner, with the browser that she signed in with before: %v", err)
		}
		if _, err := s.Login(t.Context(), "bob", password, here, mark); !errors.As(err, &soon) {
			t.Errorf("her mark opens the door for guesses at another account: %v", err)
		}
	})
}

func TestTheOwnerWhoIsKnownAtAnAddressIsNotDelayedForOthersThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := besieged(t)
		if _, err := s.Login(t.Context(), "ann", password, here, ""); err != nil {
			t.Fatal(err)
		}
		for range 600 {
			_, _ = s.Login(t.Context(), "nobody", "a guess", here, "")
			time.Sleep(time.Second)
		}
		if _, err := s.Login(t.Context(), "ann", password, here, ""); err != nil {
			t.Errorf("others who share the address keep her out: %v", err)
		}
	})
}

func TestABrowserThatIsKnownGetsNoMoreGuessesThanAnAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, mark := besieged(t)
		admitted := 0
		for i := range 3600 {
			if _, err := s.Login(t.Context(), "ann", "a guess", netip.AddrFrom4([4]byte{10, byte(i >> 8), byte(i), 1}), mark); errors.Is(err, ErrWrong) {
				admitted++
			}
			time.Sleep(time.Second)
		}
		if most := freeFailures + 7 + 3600/30; admitted == 0 || admitted > most {
			t.Errorf("%d guesses in an hour, at most %d expected", admitted, most)
		}
	})
}

func TestOnlyAMarkOfTheAccountAndOfThisInstallationCounts(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	d, other := devices{key: bytes.Repeat([]byte{7}, 32)}, devices{key: bytes.Repeat([]byte{8}, 32)}
	mark := d.mark("ann", now)
	changed := []byte(mark)
	changed[3] ^= 1
	for name, c := range map[string]struct {
		mark, account string
		at            time.Time
		known         bool
	}{
		"the mark":                   {mark, "ann", now, true},
		"a day before it is too old": {mark, "ann", now.Add(DeviceLife - 24*time.Hour), true},
		"too old":                    {mark, "ann", now.Add(DeviceLife + time.Second), false},
		"of the future":              {mark, "ann", now.Add(-2 * time.Hour), false},
		"of another account":         {mark, "bob", now, false},
		"of no account":              {mark, "", now, false},
		"of another installation":    {other.mark("ann", now), "ann", now, false},
		"changed":                    {string(changed), "ann", now, false},
		"cut off":                    {mark[:20], "ann", now, false},
		"longer":                     {mark + "A", "ann", now, false},
		"a megabyte":                 {strings.Repeat("A", 1<<20), "ann", now, false},
		"not base64":                 {strings.Repeat("!", len(mark)), "ann", now, false},
		"none":                       {"", "ann", now, false},
	} {
		if got := d.known(c.mark, c.account, c.at) != ""; got != c.known {
			t.Errorf("%s: %t", name, got)
		}
	}
	if d.known(mark, "ann", now) == d.known(d.mark("ann", now), "ann", now) {
		t.Error("two browsers share one delay")
	}
}
