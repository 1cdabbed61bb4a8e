package auth

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

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
