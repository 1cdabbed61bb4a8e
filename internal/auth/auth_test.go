package auth

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/crypto/bcrypt"

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
		if p, err := s.Login(t.Context(), name, password, here, ""); err != nil || p.Role != want || p.Method != "session" {
			t.Errorf("%s: %+v %v", name, p, err)
		}
	}
	for _, c := range [][2]string{{"ann", "wrong"}, {"carl", password}, {"", ""}, {"ann\x00", password}} {
		if p, err := s.Login(t.Context(), c[0], c[1], netip.MustParseAddr("192.0.2.9"), ""); !errors.Is(err, ErrWrong) || p.Role != Nobody {
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
	if _, err := s.Login(t.Context(), "bob", "wrong password", here, ""); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"nobody", "not a name!", ""} {
		if _, err := s.Login(t.Context(), name, "wrong password", here, ""); !errors.Is(err, ErrWrong) {
			t.Errorf("%q: %v", name, err)
		}
	}
	dummy := s.hasher.dummies[0]
	if want := []string{hash, dummy, dummy, dummy}; !slices.Equal(checked, want) {
		t.Errorf("checked %q, expected one hash each: %q", checked, want)
	}
	d, err := parseArgon(dummy)
	if err != nil || d.memory != argonMemory || d.time != argonTime {
		t.Errorf("the dummy hash costs something else: %+v %v", d, err)
	}
}

// costOf is what the time of a check depends on.
func costOf(t *testing.T, hash string) string {
	t.Helper()
	if isBcrypt(hash) {
		cost, err := bcrypt.Cost([]byte(hash))
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint("bcrypt ", cost)
	}
	a, err := parseArgon(hash)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint("argon2id ", a.memory, a.time, a.threads, len(a.key))
}

func TestTheKindAndCostOfAHashDoNotTellThatAnAccountExists(t *testing.T) {
	own, _ := HashPassword(password)
	old, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	large := "$argon2id$v=19$m=65536,t=3,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"
	s := newService(t, Config{Users: []UserConfig{
		{Name: "ann", Role: "viewer", PasswordHash: secret.New(string(old))}, {Name: "bea", Role: "viewer", PasswordHash: secret.New(large)},
	}}, &fakeUsers{users: map[string]User{"root": {Name: "root", Role: Admin, PasswordHash: own}}})
	var cost string
	s.hasher.verify = func(hash, _ string) bool { cost = costOf(t, hash); return false }
	seen := map[string][]string{}
	for _, name := range []string{"ann", "bea", "root"} {
		_, _ = s.Login(t.Context(), name, "wrong password", here, "")
		seen[cost] = []string{}
	}
	s.limiter = newLimiter()
	for i := range 200 {
		name, from := fmt.Sprint("nobody", i), netip.AddrFrom4([4]byte{10, 0, byte(i), 1})
		_, _ = s.Login(t.Context(), name, "wrong password", from, "")
		if _, of := seen[cost]; !of {
			t.Fatalf("the cost of %s is that of no account: %s", name, cost)
		}
		seen[cost] = append(seen[cost], name)
		first := cost
		if _, _ = s.Login(t.Context(), name, "wrong password", from, ""); cost != first {
			t.Fatalf("%s costs %s and then %s: an account costs always the same", name, first, cost)
		}
	}
	for cost, names := range seen {
		if len(names) < 20 {
			t.Errorf("only %d of 200 names that no account has cost %s: who does is an account", len(names), cost)
		}
	}
}

func TestTheHashForNamesOfNobodyIsOneThatCanBeChecked(t *testing.T) {
	old, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 { // bcrypt takes few of the characters at the end of a part
		dummy := dummyLike(string(old))
		if checkHash(dummy) != nil {
			t.Fatal(dummy)
		}
		if err := bcrypt.CompareHashAndPassword([]byte(dummy), []byte(password)); !errors.Is(err, bcrypt.ErrMismatchedHashAndPassword) {
			t.Fatalf("it is not checked whole: %v", err)
		}
	}
}

// askedUsers counts how often the journal is asked for an account.
type askedUsers struct {
	fakeUsers
	asked int
}

func (a *askedUsers) User(ctx context.Context, name string) (User, bool, error) {
	a.asked++
	return a.fakeUsers.User(ctx, name)
}

func TestTheJournalIsAskedOnceWhateverTheName(t *testing.T) {
	hash, _ := HashPassword(password)
	stored := &askedUsers{fakeUsers: fakeUsers{users: map[string]User{"bob": {Name: "bob", Role: Viewer, PasswordHash: hash}}}}
	s, err := New(Config{Users: []UserConfig{{Name: "ann", Role: "viewer", PasswordHash: secret.New(hash)}}}, stored)
	if err != nil {
		t.Fatal(err)
	}
	s.hasher.verify = func(string, string) bool { return false }
	for _, name := range []string{"ann", "bob", "nobody", "not a name!", ""} {
		stored.asked = 0
		if _, _ = s.Login(t.Context(), name, "wrong password", here, ""); stored.asked != 1 {
			t.Errorf("%q: asked %d times", name, stored.asked)
		}
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
