package server

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/journal"
	"dedup-dashboard/internal/server/session"
)

const freshPassword = "a fresh password"

// withRoot is a site whose first admin, root, was made by the one-time link, beside the users of the configuration.
func withRoot(t *testing.T) *site {
	t.Helper()
	s := newSite(t, nil, testUsers())
	if err := s.journal.CreateFirstAdmin(t.Context(), auth.User{Name: "root", Role: auth.Admin, PasswordHash: hashOf}); err != nil {
		t.Fatal(err)
	}
	return s
}

func passwordForm(old, fresh, again string) string {
	return url.Values{"password": {old}, "new": {fresh}, "again": {again}}.Encode()
}

func TestTheFirstAdminChangesTheirPasswordAndEveryOtherSessionEnds(t *testing.T) {
	s := withRoot(t)
	here, there, other := s.signInAs("root"), s.signInAs("root"), s.signInAs("viewer")
	page := s.body(s.do("GET", "/account", "", "Cookie", here))
	if !strings.Contains(page, `action="/account/password"`) || !strings.Contains(page, `href="/account"`) {
		t.Errorf("no form, or no way to it: %.3000s", page)
	}
	res := s.do("POST", "/account/password", passwordForm(testPassword, freshPassword, freshPassword), "Cookie", here)
	if res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "/account" {
		t.Fatalf("%s: %s", res.Status, s.body(res))
	}
	fresh := cookieOf(t, res)
	if page := s.body(s.do("GET", "/account", "", "Cookie", fresh)); !strings.Contains(page, "The password was changed") {
		t.Errorf("it is not told: %.2000s", page)
	}
	for _, path := range []string{"/account", "/account?changed=1"} {
		if page := s.body(s.do("GET", path, "", "Cookie", fresh)); strings.Contains(page, "The password was changed") {
			t.Errorf("%s tells it again", path)
		}
	}
	for name, c := range map[string]struct {
		cookie string
		reads  bool
	}{
		"the session that changed it": {fresh, true}, "its cookie from before": {here, false}, "another session of the account": {there, false}, "a session of somebody else": {other, true},
	} {
		if s.mayRead(c.cookie) != c.reads {
			t.Errorf("%s: reads %t, expected %t", name, !c.reads, c.reads)
		}
	}
	for password, want := range map[string]int{testPassword: http.StatusUnprocessableEntity, freshPassword: http.StatusSeeOther} {
		if res := s.do("POST", "/login", signInForm("root", password)); res.StatusCode != want {
			t.Errorf("a sign-in with %q: %s", password, res.Status)
		}
	}
	all, err := s.journal.Audit().Entries(t.Context(), admin.TrailQuery{Limit: 10, TrailFilter: admin.TrailFilter{Action: "change_password"}})
	if err != nil || len(all) != 2 || all[0].Phase != admin.Succeeded || all[1].Phase != admin.Intent || all[0].Who != "root" || all[0].Target != "root" {
		t.Errorf("audit: %+v, %v", all, err)
	}
	for _, e := range all {
		if text := e.Detail + e.Reason + e.Before + e.After + e.Hash; strings.Contains(text, "password") || strings.Contains(text, "argon2") {
			t.Errorf("the audit holds %q", text)
		}
	}
}

func TestAPasswordIsChangedByNobodyButWhoKnowsTheOldOne(t *testing.T) {
	for name, c := range map[string]struct {
		account, form string
		headers       []string
		status        int
		says, denied  string
	}{
		"the old password is wrong":           {"root", passwordForm("not the old one", freshPassword, freshPassword), nil, 422, "The old password is wrong.", "the old password is wrong"},
		"the old password is missing":         {"root", passwordForm("", freshPassword, freshPassword), nil, 422, "The old password is wrong.", "the old password is wrong"},
		"the new one is too short":            {"root", passwordForm(testPassword, "short", "short"), nil, 422, "needs 12 characters or more", ""},
		"the new one is too long":             {"root", passwordForm(testPassword, strings.Repeat("x", 2000), strings.Repeat("x", 2000)), nil, 422, "longer than 1024 bytes", ""},
		"the new one was typed differently":   {"root", passwordForm(testPassword, freshPassword, freshPassword+"!"), nil, 422, "not typed the same way twice", ""},
		"the new one is the old one":          {"root", passwordForm(testPassword, testPassword, testPassword), nil, 422, "The new password is the old one.", ""},
		"the account is in the configuration": {"viewer", passwordForm(testPassword, freshPassword, freshPassword), nil, 409, "dashboard hash-password", "the account is kept in the configuration"},
		"another site sent the form":          {"root", passwordForm(testPassword, freshPassword, freshPassword), []string{"Sec-Fetch-Site", "cross-site"}, 403, "came from another site", "it came from another site"},
	} {
		t.Run(name, func(t *testing.T) {
			s := withRoot(t)
			cookie := s.signInAs(c.account)
			res := s.do("POST", "/account/password", c.form, append([]string{"Cookie", cookie}, c.headers...)...)
			if body := s.body(res); res.StatusCode != c.status || !strings.Contains(body, c.says) || strings.Contains(body, freshPassword) {
				t.Errorf("%s: %.3000s", res.Status, body)
			}
			e := s.newestEntry()
			if c.denied == "" && e.Phase == admin.Denied || c.denied != "" && (e.Phase != admin.Denied || e.Detail != c.denied || e.Who != c.account) {
				t.Errorf("the newest entry is %+v", e)
			}
			if !s.mayRead(cookie) {
				t.Error("the session has ended")
			}
			s.signInAs(c.account) // with the old password
		})
	}
	t.Run("a token has none", func(t *testing.T) {
		s := withRoot(t)
		if res := s.as("admin", "POST", "/account/password", passwordForm("x", freshPassword, freshPassword)); res.StatusCode != http.StatusBadRequest {
			t.Error(res.Status)
		}
		if page := s.body(s.as("admin", "GET", "/account", "")); !strings.Contains(page, "A token has no password") {
			t.Errorf("%.2000s", page)
		}
	})
}

func TestABrowserThatWasLeftOpenDoesNotHelpToGuessThePassword(t *testing.T) {
	s := withRoot(t)
	cookie := s.signInAs("root")
	for range 20 { // the delay grows, so that even a slow machine comes upon it
		res := s.do("POST", "/account/password", passwordForm("a guess of many", freshPassword, freshPassword), "Cookie", cookie)
		if res.StatusCode == http.StatusTooManyRequests {
			if res.Header.Get("Retry-After") == "" || !strings.Contains(s.body(res), "Too many failed sign-ins") {
				t.Errorf("Retry-After %q", res.Header.Get("Retry-After"))
			}
			return
		}
	}
	t.Error("20 guesses in a row are not delayed")
}

// A fullDisk keeps no session while it is full.
type fullDisk struct {
	session.Store
	full bool
}

func (d *fullDisk) Commit(token string, data []byte, expires time.Time) error {
	if d.full {
		return errors.New("disk full")
	}
	return d.Store.Commit(token, data, expires)
}

func (d *fullDisk) Delete(token string) error {
	if d.full {
		return errors.New("disk full")
	}
	return d.Store.Delete(token)
}

// forgetful are accounts that cannot be read any more once a password was changed.
type forgetful struct{ *journal.DB }

func (f forgetful) User(ctx context.Context, name string) (auth.User, bool, error) {
	u, ok, err := f.DB.User(ctx, name)
	if ok && u.PasswordHash != hashOf {
		return auth.User{}, false, errors.New("disk I/O error")
	}
	return u, ok, err
}

// TestAPasswordThatWasChangedIsToldAlsoWithoutASession: the change stands, so that an error would have its owner type the old one for ever.
func TestAPasswordThatWasChangedIsToldAlsoWithoutASession(t *testing.T) {
	for name, spoil := range map[string]func(*testing.T, *site) (fix func()){
		"the session cannot be stored": func(_ *testing.T, s *site) func() {
			disk := &fullDisk{s.journal.Sessions(), true}
			*s.sessions = *session.New(s.cfg.Sessions(), disk)
			return func() { disk.full = false }
		},
		"the account cannot be read again": func(t *testing.T, s *site) func() {
			was := s.auth
			service, err := auth.New(auth.Config{}, forgetful{s.journal})
			if err != nil {
				t.Fatal(err)
			}
			s.auth = service
			return func() { s.auth = was }
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := withRoot(t)
			cookie := s.signInAs("root")
			fix := spoil(t, s)
			res := s.do("POST", "/account/password", passwordForm(testPassword, freshPassword, freshPassword), "Cookie", cookie)
			if res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "/login" {
				t.Fatalf("%s to %s: %.600s", res.Status, res.Header.Get("Location"), s.body(res))
			}
			fix()
			told := cookieNamed(t, res, "dedup_told")
			res = s.do("GET", "/login", "", "Cookie", cookie+"; "+told.Name+"="+told.Value)
			if page := s.body(res); res.StatusCode != http.StatusOK || !strings.Contains(page, "The password was changed. Sign in with the new one.") {
				t.Errorf("%s: the sign-in page does not tell it: %.2000s", res.Status, page)
			}
			if gone := cookieNamed(t, res, "dedup_told"); gone.MaxAge >= 0 {
				t.Errorf("it would be told again: %v", gone)
			}
			if res := s.do("POST", "/login", signInForm("root", freshPassword)); res.StatusCode != http.StatusSeeOther {
				t.Errorf("the new password does not sign in: %s", res.Status)
			}
		})
	}
}

func TestAFirstAdminThatWasMadeIsToldAlsoWithoutASession(t *testing.T) {
	s := newSite(t, nil, nil)
	s.do("GET", "/", "") // which makes the link
	disk := &fullDisk{s.journal.Sessions(), true}
	*s.sessions = *session.New(s.cfg.Sessions(), disk)
	token := strings.TrimPrefix(*s.link.Load(), "/setup?token=")
	res := s.do("POST", "/setup", url.Values{"token": {token}, "username": {"root"}, "password": {testPassword}}.Encode())
	if res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "/login" {
		t.Fatalf("%s to %s: %.600s", res.Status, res.Header.Get("Location"), s.body(res))
	}
	told := cookieNamed(t, res, "dedup_told")
	if page := s.body(s.do("GET", "/login", "", "Cookie", told.Name+"="+told.Value)); !strings.Contains(page, "The account was made. Sign in with its password.") {
		t.Errorf("the sign-in page does not tell it: %.2000s", page)
	}
}

func TestTheSignInPageTellsNothingThatALinkOrAStrangeCookieMadeUp(t *testing.T) {
	s := withRoot(t)
	for _, c := range []struct{ path, cookie string }{
		{"/login?changed=1&told=password_changed", ""}, {"/login", "dedup_told=Pay+here"}, {"/login", "dedup_told=%3Cscript%3E"},
	} {
		if page := s.body(s.do("GET", c.path, "", "Cookie", c.cookie)); strings.Contains(page, "The password was changed") || strings.Contains(page, "t-normal\" role=\"status\"") || strings.Contains(page, "Pay") {
			t.Errorf("%s with cookie %q: %.2000s", c.path, c.cookie, page)
		}
	}
}

func cookieNamed(t *testing.T, res *http.Response, name string) *http.Cookie {
	t.Helper()
	for _, c := range res.Cookies() {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no cookie %s", name)
	return nil
}

// meddled are accounts of which one changes just before it is read for the nth time.
type meddled struct {
	*journal.DB
	before int
	change func()
}

func (m *meddled) User(ctx context.Context, name string) (auth.User, bool, error) {
	if m.before--; m.before == 0 {
		m.change()
	}
	return m.DB.User(ctx, name)
}

// TestAnOldPasswordTakesNoNewerOneBack: whoever proved the one of before must not overwrite what somebody else has just set, whenever that was.
func TestAnOldPasswordTakesNoNewerOneBack(t *testing.T) {
	overtaken := 0
	for nth := range 6 {
		s := withRoot(t)
		accounts := &meddled{DB: s.journal}
		service, err := auth.New(auth.Config{}, accounts)
		if err != nil {
			t.Fatal(err)
		}
		s.auth = service
		cookie := s.signInAs("root")
		owner, err := auth.HashPassword("what the owner chose")
		if err != nil {
			t.Fatal(err)
		}
		set := false
		accounts.before, accounts.change = nth+1, func() {
			set = s.journal.SetPassword(t.Context(), "root", admin.PasswordChange{Was: hashOf, Now: owner}) == nil
		}
		res := s.do("POST", "/account/password", passwordForm(testPassword, freshPassword, freshPassword), "Cookie", cookie)
		if u, _, err := s.journal.User(t.Context(), "root"); set && (err != nil || u.PasswordHash != owner) {
			t.Errorf("changed before reading %d: the owner's password was overwritten, %s", nth+1, res.Status)
		}
		if set {
			overtaken++
		}
	}
	if overtaken < 3 {
		t.Errorf("the password changed %d times while the form was under way", overtaken)
	}
}
