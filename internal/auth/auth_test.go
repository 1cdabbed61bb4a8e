package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/crypto/bcrypt"
	"pgregory.net/rapid"

	"dedup-dashboard/internal/secret"
)

const password = "correct horse battery"

var here = netip.MustParseAddr("192.0.2.1")

// fakeUsers are accounts in memory.
type fakeUsers struct {
	users map[string]User
	err   error
}

func (f *fakeUsers) User(_ context.Context, name string) (User, bool, error) {
	u, ok := f.users[name]
	return u, ok, f.err
}

func (f *fakeUsers) Users(context.Context) ([]User, error) {
	var all []User
	for _, u := range f.users {
		all = append(all, u)
	}
	return all, f.err
}

func newService(t *testing.T, cfg Config, stored *fakeUsers) *Service {
	t.Helper()
	s, err := New(cfg, stored)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestHashesAreArgon2idWithTheDocumentedCostAndNeverEqual(t *testing.T) {
	a, err := HashPassword(password)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := HashPassword(password)
	if !strings.HasPrefix(a, "$argon2id$v=19$m=19456,t=2,p=1$") || a == b {
		t.Errorf("%s and %s", a, b)
	}
	if !verify(a, password) || verify(a, password+"x") || verify(a, "") {
		t.Error("verify is wrong")
	}
}

func TestHashesOfOtherSystemsAreAccepted(t *testing.T) {
	// A well-known vector: the password is password and the salt somesalt, at 64 MiB and two passes.
	const reference = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"
	if !verify(reference, "password") || verify(reference, "passwore") {
		t.Error("a hash of the reference implementation is not verified")
	}
	bc, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	if !verify(string(bc), password) || verify(string(bc), "other password") {
		t.Error("bcrypt is not verified")
	}
	long := strings.Repeat("a", 72)
	bc, _ = bcrypt.GenerateFromPassword([]byte(long), bcrypt.MinCost)
	if verify(string(bc), long+"anything") {
		t.Error("bcrypt ignores what follows 72 bytes")
	}
}

func TestHashesThatCannotBeUsedAreNamed(t *testing.T) {
	good, _ := HashPassword(password)
	for name, hash := range map[string]string{
		"empty": "", "plain": password, "too much memory": strings.Replace(good, "m=19456", "m=9999999", 1),
		"no passes": strings.Replace(good, "t=2", "t=0", 1), "too many passes": strings.Replace(good, "t=2", "t=99", 1),
		"no lanes": strings.Replace(good, "p=1", "p=0", 1), "too little memory": strings.Replace(good, "m=19456", "m=4", 1),
		"another variant": strings.Replace(good, "argon2id", "argon2i", 1), "cut off": good[:60], "half bcrypt": "$2a$10$abc",
	} {
		if checkHash(hash) == nil || verify(hash, password) {
			t.Errorf("%s: accepted", name)
		}
	}
}

func FuzzVerifyNeverPanics(f *testing.F) {
	f.Add("$argon2id$v=19$m=8,t=1,p=1$c29tZXNhbHQ$AAAAAAAAAAAAAAAAAAAAAA", "x")
	f.Add("$2a$04$abcdefghijklmnopqrstuv", "x")
	f.Fuzz(func(t *testing.T, hash, pw string) {
		if h, err := parseArgon(hash); err == nil && h.memory > 1024 {
			return // too slow to repeat
		}
		if isBcrypt(hash) {
			return
		}
		_ = verify(hash, pw)
	})
}

func TestPasswordsNeedTwelveCharactersAndNothingElse(t *testing.T) {
	for pw, ok := range map[string]bool{
		"elevenchars": false, "twelve chars": true, "aaaaaaaaaaaa": true, "密码密码密码密码密码密码": true, "密码密码密码": false,
		strings.Repeat("a", 1025): false, "": false,
	} {
		if err := CheckPassword(pw, "ann"); (err == nil) != ok {
			t.Errorf("%q: %v", pw, err)
		}
	}
	if CheckPassword("administrator", "Administrator") == nil {
		t.Error("the name is accepted as password")
	}
}

func TestConfigProblemsAreAllTold(t *testing.T) {
	good, _ := HashPassword(password)
	err := Config{
		Users: []UserConfig{
			{Name: "ann", Role: "boss", PasswordHash: secret.New(good)}, {Name: "Ann", Role: "viewer", PasswordHash: secret.New(good)},
			{Name: "b<b>", Role: "viewer", PasswordHash: secret.New("hunter2hunter2")},
		},
		Tokens: []TokenConfig{
			{Name: "short", Role: "viewer", Token: secret.New("abc")}, {Name: "none", Role: "viewer"},
			{Name: "both", Role: "viewer", Token: secret.New(strings.Repeat("a", 64)), SHA256: strings.Repeat("a", 64)},
			{Name: "sum", Role: "viewer", SHA256: "xyz"},
		},
	}.Validate()
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{
		`users[0].role: "boss"`, `users[1].name: "Ann" appears twice`, `users[2].name`, `users[2].password_hash`,
		`tokens[0].token: shorter`, `tokens[1].token: missing`, `tokens[2].token: give either`, `tokens[3].token: sha256`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not told", want)
		}
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Error("a secret is told")
	}
}

func TestLoginKnowsUsersOfTheConfigurationAndOfTheStore(t *testing.T) {
	hash, _ := HashPassword(password)
	s := newService(t, Config{Users: []UserConfig{{Name: "Ann", Role: "viewer", PasswordHash: secret.New(hash)}}},
		&fakeUsers{users: map[string]User{"bob": {Name: "Bob", Role: Admin, PasswordHash: hash}}})
	for name, want := range map[string]Role{"ann": Viewer, " ANN ": Viewer, "bob": Admin} {
		if p, err := s.Login(t.Context(), name, password, here); err != nil || p.Role != want || p.Method != "session" {
			t.Errorf("%s: %+v %v", name, p, err)
		}
	}
	for _, c := range [][2]string{{"ann", "wrong"}, {"carl", password}, {"", ""}, {"ann\x00", password}} {
		if p, err := s.Login(t.Context(), c[0], c[1], netip.MustParseAddr("192.0.2.9")); !errors.Is(err, ErrWrong) || p.Role != Nobody {
			t.Errorf("%q: %+v %v", c, p, err)
		}
	}
}

// TestUnknownNamesTakeTheSamePath counts hashes instead of time: the same work is done whether a name exists or not.
func TestUnknownNamesTakeTheSamePath(t *testing.T) {
	hash, _ := HashPassword(password)
	s := newService(t, Config{}, &fakeUsers{users: map[string]User{"bob": {Name: "bob", Role: Viewer, PasswordHash: hash}}})
	var checked []string
	s.hasher.verify = func(hash, _ string) bool {
		checked = append(checked, hash)
		return true // even a password that fits the dummy must not let anybody in
	}
	if _, err := s.Login(t.Context(), "bob", "wrong password", here); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"nobody", "not a name!", ""} {
		if _, err := s.Login(t.Context(), name, "wrong password", here); !errors.Is(err, ErrWrong) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if want := []string{hash, s.hasher.dummy, s.hasher.dummy, s.hasher.dummy}; !slices.Equal(checked, want) {
		t.Errorf("checked %q, expected one hash each: %q", checked, want)
	}
	d, err := parseArgon(s.hasher.dummy)
	if err != nil || d.memory != argonMemory || d.time != argonTime {
		t.Errorf("the dummy hash costs something else: %+v %v", d, err)
	}
}

func TestAtMostTwoHashesRunAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hasher{slots: make(chan struct{}, 2)}
		var mu sync.Mutex
		running, most := 0, 0
		for range 10 {
			go func() {
				_ = h.do(t.Context(), func() {
					mu.Lock()
					running++
					most = max(most, running)
					mu.Unlock()
					time.Sleep(time.Second)
					mu.Lock()
					running--
					mu.Unlock()
				})
			}()
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := h.do(ctx, func() {}); !errors.Is(err, ErrBusy) {
			t.Errorf("no slot: %v", err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if most != 2 {
			t.Errorf("%d at once", most)
		}
	})
}

func TestDelayGrowsAndNeverLocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter()
		var waits []time.Duration
		for i := range 40 {
			from := netip.AddrFrom4([4]byte{10, 0, byte(i), 1}) // from everywhere, against one account
			_, err := l.begin("ann", from)
			var soon *TooSoon
			if errors.As(err, &soon) {
				waits = append(waits, soon.RetryAfter)
				time.Sleep(soon.RetryAfter)
				if _, err = l.begin("ann", from); err != nil {
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
		a, err := l.begin("ann", here)
		if err != nil {
			t.Fatal(err)
		}
		a.succeeded()
		for i := range 50 {
			_, _ = l.begin("ann", netip.AddrFrom4([4]byte{10, 0, byte(i), 1}))
		}
		if _, err := l.begin("ann", netip.MustParseAddr("10.9.9.9")); err == nil {
			t.Error("guesses are not delayed")
		}
		if _, err := l.begin("ann", here); err != nil {
			t.Errorf("the owner, from where she signed in before: %v", err)
		}
	})
}

func TestOneValidAccountBuysNoGuessesAtOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter()
		blocked := false
		for i := range 40 {
			if _, err := l.begin(fmt.Sprint("victim", i), here); err != nil {
				blocked = true
				break
			}
			if own, err := l.begin("mallory", here); err == nil {
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
		a, err := l.begin(fmt.Sprint("u", i), netip.AddrFrom4([4]byte{byte(i >> 16), byte(i >> 8), byte(i), 1}))
		if err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			a.succeeded()
		}
	}
	for range maxKeys + 50 {
		makeRoom(l.known, time.Now(), time.Hour)
		l.known[rand.Text()] = &tally{last: time.Now()}
	}
	if len(l.accounts) > maxKeys || len(l.addresses) > maxKeys || len(l.known) > maxKeys {
		t.Errorf("%d accounts, %d addresses, %d known", len(l.accounts), len(l.addresses), len(l.known))
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
		_, _ = l.begin(strings.Repeat("x", 1<<20)+fmt.Sprint(i), netip.AddrFrom4([4]byte{10, 0, byte(i), 1}))
	}
	for name := range l.accounts {
		if len(name) > 64 {
			t.Fatalf("a name of %d bytes is kept", len(name))
		}
	}
}

func TestTokens(t *testing.T) {
	const plain, summed = "0123456789012345678901234567890123456789012", "the token whose sum is in the configuration"
	s := newService(t, Config{Tokens: []TokenConfig{
		{Name: "grafana", Role: "viewer", Token: secret.New(plain)},
		{Name: "ci", Role: "operator", SHA256: sum256(summed)},
		{Name: "old", Role: "admin", Token: secret.New("old" + plain), Expires: time.Now().Add(-time.Second)},
	}}, &fakeUsers{})
	for raw, want := range map[string]Role{plain: Viewer, summed: Operator, "old" + plain: Nobody, "": Nobody, plain + " ": Nobody} {
		if p, ok := s.Token(raw); p.Role != want || ok != (want != Nobody) {
			t.Errorf("%q: %+v %t", raw, p, ok)
		}
	}
	if _, err := New(Config{Tokens: []TokenConfig{{Name: "a", Role: "viewer", Token: secret.New(plain)}, {Name: "b", Role: "admin", Token: secret.New(plain)}}}, &fakeUsers{}); err == nil {
		t.Error("one token with two roles is accepted")
	}
}

func TestNamesAreASCIIAndNotBlank(t *testing.T) {
	for name, want := range map[string]bool{
		"alice": true, "Alice.B@example-1": true, "alice ": true,
		"": false, " ": false, "\u212aim": false, "al ice": false, ".alice": false, "alice\x00": false, strings.Repeat("a", 65): false,
	} {
		if got := ValidName(name); got != want {
			t.Errorf("ValidName(%q) is %t", name, got)
		}
	}
}

func TestANameInBothPlacesIsAConflict(t *testing.T) {
	hash, _ := HashPassword(password)
	s := newService(t, Config{Users: []UserConfig{{Name: "Ann", Role: "viewer", PasswordHash: secret.New(hash)}}},
		&fakeUsers{users: map[string]User{"ann": {Name: "ann", Role: Admin, PasswordHash: hash}}})
	if err := s.CheckConflicts(t.Context()); err == nil || !strings.Contains(err.Error(), `"ann"`) {
		t.Errorf("%v", err)
	}
}

func TestOneTimeLinkIsRenewedAndEndsWithTheFirstAdmin(t *testing.T) {
	file := filepath.Join(t.TempDir(), "first-admin-link")
	if err := os.WriteFile(file, []byte("of an earlier start"), 0o644); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		stored := &fakeUsers{users: map[string]User{}}
		var mu sync.Mutex
		var links []string
		f := NewFirstAdmin(newService(t, Config{}, stored), file, func(token string) string { return token }, func(l string) {
			mu.Lock()
			defer mu.Unlock()
			links = append(links, l)
		})
		last := func() string { mu.Lock(); defer mu.Unlock(); return links[len(links)-1] }
		if err := f.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		first := last()
		if len(first) != 32 || !f.Valid(first) || f.Valid("") || f.Valid(first[:31]) || !f.Wanted() {
			t.Errorf("first link %q", first)
		}
		info, err := os.Stat(file)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("file: %v %v", info.Mode(), err)
		}
		go f.Run(t.Context(), slog.New(slog.NewTextHandler(io.Discard, nil)))
		time.Sleep(FirstAdminLife + time.Second)
		synctest.Wait()
		second := last()
		text, err := os.ReadFile(file)
		if second == first || f.Valid(first) || !f.Valid(second) || err != nil || string(text) != second+"\n" {
			t.Errorf("after expiry: %q, file %q %v", second, text, err)
		}
		if err := f.Redeem(first, func(Principal) error { return nil }); !errors.Is(err, ErrLink) {
			t.Errorf("an expired link: %v", err)
		}
		if err := f.Redeem(second, func(Principal) error { return errors.New("disk full") }); err == nil || !f.Valid(second) {
			t.Errorf("a failure uses the link up: %v", err)
		}
		if err := f.Redeem(second, func(p Principal) error {
			if !p.Can(Admin) || p.Method != "link" {
				t.Errorf("principal %+v", p)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
		if err := f.Redeem(second, func(Principal) error { t.Error("used twice"); return nil }); !errors.Is(err, ErrLink) {
			t.Errorf("used twice: %v", err)
		}
		if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) || f.Wanted() {
			t.Errorf("the file is left: %v", err)
		}
	})
}

func TestALinkOfAnEarlierStartIsRemovedOnceThereIsAnAdmin(t *testing.T) {
	file := filepath.Join(t.TempDir(), "first-admin-link")
	if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := NewFirstAdmin(newService(t, Config{}, &fakeUsers{users: map[string]User{"root": {Name: "root", Role: Admin}}}), file,
		func(token string) string { return token }, func(string) { t.Error("announced a link") })
	if err := f.Start(t.Context()); err != nil || f.Wanted() {
		t.Errorf("%v %t", err, f.Wanted())
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func TestALinkThatCannotBeWrittenIsStillAnnounced(t *testing.T) {
	announced := false
	f := NewFirstAdmin(newService(t, Config{}, &fakeUsers{}), filepath.Join(t.TempDir(), "missing", "first-admin-link"),
		func(token string) string { return token }, func(string) { announced = true })
	if err := f.Start(t.Context()); err == nil || !announced {
		t.Errorf("%v, announced %t", err, announced)
	}
}

func TestUnreadableAccountsAreAnErrorAndNotAnEmptyHouse(t *testing.T) {
	f := NewFirstAdmin(newService(t, Config{}, &fakeUsers{err: errors.New("disk I/O error")}), filepath.Join(t.TempDir(), "l"),
		func(token string) string { return token }, func(string) { t.Error("announced a link without knowing") })
	if err := f.Start(t.Context()); err == nil {
		t.Error("no error")
	}
}

func TestRolesIncludeTheOnesBelow(t *testing.T) {
	for r := Nobody; r <= Admin; r++ {
		for needed := Nobody; needed <= Admin; needed++ {
			if got := (Principal{Role: r}).Can(needed); got != (r >= needed) {
				t.Errorf("%s can %s: %t", r, needed, got)
			}
		}
		if parsed, ok := ParseRole(r.String()); r != Nobody && (!ok || parsed != r) {
			t.Errorf("%s is not parsed back", r)
		}
	}
	if _, ok := ParseRole("nobody"); ok {
		t.Error("nobody is a role that can be given")
	}
}

func sum256(s string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(s)))
}
