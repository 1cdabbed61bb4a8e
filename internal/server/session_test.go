package server

import (
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/session"
	"dedup-dashboard/internal/server/web"
)

func (s *site) mayRead(cookie string) bool {
	s.t.Helper()
	return s.do("GET", "/api/v1/pipelines", "", "Cookie", cookie).StatusCode == http.StatusOK
}

func TestSignInStartsAFreshSessionWhateverTheBrowserSends(t *testing.T) {
	s := newSite(t, nil, testUsers())
	planted := "dedup_session=PLANTEDPLANTEDPLANTEDPLANTEDPLANTEDPLANTED1"
	form := url.Values{"username": {"viewer"}, "password": {testPassword}}.Encode()
	first := cookieOf(t, s.do("POST", "/login", form, "Cookie", planted))
	if first == planted || s.mayRead(planted) || !s.mayRead(first) {
		t.Error("a planted token became a session")
	}
	second := cookieOf(t, s.do("POST", "/login", form, "Cookie", first))
	if second == first || s.mayRead(first) || !s.mayRead(second) {
		t.Error("signing in again did not change the token and end the old one")
	}
}

func TestVisitorsGetNoSession(t *testing.T) {
	s := newSite(t, nil, testUsers())
	for _, path := range []string{"/", "/login", "/nowhere", "/healthz"} {
		if res := s.do("GET", path, ""); len(res.Cookies()) > 0 {
			t.Errorf("%s sets %v", path, res.Cookies())
		}
	}
	s.do("POST", "/login", "username=viewer&password=wrong+password+here")
	if all, err := s.journal.Sessions().All(); err != nil || len(all) != 0 {
		t.Errorf("%d sessions stored, %v", len(all), err)
	}
}

func TestTheSessionCookieIsGuarded(t *testing.T) {
	for _, c := range []struct {
		name, cookie, path string
		secure             bool
		change             func(*Config)
	}{
		{"plain", "dedup_session", "/dedup/", false, func(c *Config) { c.BasePath = "/dedup" }},
		{"behind https", "__Host-dedup_session", "/", true, func(c *Config) { c.BasePath, c.PublicURL = "/dedup", "https://x.example/dedup" }},
	} {
		s := newSite(t, c.change, testUsers())
		res := s.do("POST", "/dedup/login", url.Values{"username": {"viewer"}, "password": {testPassword}}.Encode())
		device, got := res.Cookies()[0], res.Cookies()[1]
		if device.Name != strings.Replace(c.cookie, "session", "device", 1) || !device.HttpOnly || device.SameSite != http.SameSiteStrictMode || device.Secure != c.secure || device.Path != c.path {
			t.Errorf("%s: %v", c.name, device)
		}
		if got.Name != c.cookie || !got.HttpOnly || got.SameSite != http.SameSiteLaxMode || got.Secure != c.secure || got.Path != c.path || got.Domain != "" {
			t.Errorf("%s: %v", c.name, got)
		}
		if all, _ := s.journal.Sessions().All(); len(all) != 1 || all[got.Value] != nil {
			t.Errorf("%s: the store holds the token itself", c.name)
		}
	}
}

func TestSignOutEndsTheSessionOnTheServer(t *testing.T) {
	s := newSite(t, nil, testUsers())
	here, there, other := s.signInAs("viewer"), s.signInAs("viewer"), s.signInAs("admin")
	s.do("POST", "/logout", "", "Cookie", here)
	if s.mayRead(here) || !s.mayRead(there) {
		t.Error("sign-out must end this session and no other")
	}
	if page := s.body(s.do("GET", "/", "", "Cookie", there)); !strings.Contains(page, `formaction="/logout-all"`) {
		t.Error("no page offers to sign out everywhere")
	}
	s.do("POST", "/logout-all", "", "Cookie", there)
	if s.mayRead(there) || !s.mayRead(other) {
		t.Error("sign-out everywhere must end every session of this user and of no other")
	}
	fourth, fifth := s.signInAs("admin"), s.signInAs("admin")
	s.do("POST", "/logout-all", "", "Cookie", fourth)
	if s.mayRead(fourth) || s.mayRead(fifth) || s.mayRead(other) {
		t.Error("sign-out everywhere left a session")
	}
}

func TestARequestUnderWayDoesNotUndoASignOutEverywhere(t *testing.T) {
	s := newSite(t, nil, testUsers())
	*s.sessions = *session.New(s.cfg.Sessions(), &memoryStore{})
	synctest.Test(t, func(t *testing.T) {
		cookie := s.signInAs("viewer")
		time.Sleep(5 * time.Minute) // so long that the next request writes the time of last use
		underWay := &web.Request{Request: httptest.NewRequest("GET", "/", nil)}
		underWay.Header.Set("Cookie", cookie)
		if err := s.sessions.Identify(underWay, s.auth); err != nil || underWay.Who.Name != "viewer" {
			t.Fatalf("%+v, %v", underWay.Who, err)
		}
		if res := s.do("POST", "/logout-all", "", "Cookie", cookie); res.StatusCode != http.StatusSeeOther {
			t.Fatal(res.Status)
		}
		if err := s.sessions.Save(underWay, true); err != nil {
			t.Fatal(err)
		}
		if s.mayRead(cookie) {
			t.Error("the session came back with a request that was under way")
		}
	})
}

func TestSessionsEndByDisuseAndByAge(t *testing.T) {
	s := newSite(t, nil, testUsers())
	// SQLite is real I/O, so the clock is that of a bubble only around the requests; see memoryStore.
	store := &memoryStore{}
	*s.sessions = *session.New(s.cfg.Sessions(), store)
	synctest.Test(t, func(t *testing.T) {
		idle := s.signInAs("viewer")
		time.Sleep(29 * time.Minute)
		if !s.mayRead(idle) {
			t.Fatal("ended before 30 minutes without use")
		}
		time.Sleep(29 * time.Minute)
		if !s.mayRead(idle) {
			t.Fatal("use did not keep it")
		}
		time.Sleep(31 * time.Minute)
		if s.mayRead(idle) {
			t.Error("lives on after 31 minutes without use")
		}
		busy := s.signInAs("viewer")
		for range 8*3 - 1 {
			time.Sleep(20 * time.Minute)
			if !s.mayRead(busy) {
				t.Fatal("ended although used")
			}
		}
		time.Sleep(21 * time.Minute)
		if s.mayRead(busy) {
			t.Error("lives on after 8 hours")
		}
	})
}

func TestAPageThatFollowsTheDataByItselfIsNoUseOfTheSession(t *testing.T) {
	for name, ask := range map[string]struct {
		path    string
		headers []string
	}{
		"a region of a live page":                           {"/", []string{"HX-Request-Type", "partial", "HX-Target", "section#pipelines"}},
		"the stream of hints":                               {"/events?topics=overview", nil},
		"a page that loads itself again without the script": {"/?range=6h&auto=1", nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, nil, testUsers())
			s.snapshots.snap.Store(sampleSnapshot())
			*s.sessions = *session.New(s.cfg.Sessions(), &memoryStore{})
			synctest.Test(t, func(t *testing.T) {
				cookie := s.signInAs("viewer")
				answered := 0
				for range 60 {
					time.Sleep(time.Minute)
					if res := s.do("GET", ask.path, "", append([]string{"Cookie", cookie}, ask.headers...)...); res.StatusCode == http.StatusOK {
						answered++
					}
				}
				if answered < 28 || answered > 30 {
					t.Errorf("after sign-in it was answered for %d minutes, expected 30", answered)
				}
				if s.mayRead(cookie) {
					t.Error("the session lives on after an hour in which nobody did anything")
				}
			})
		})
	}
}

func TestAnOpenStreamEndsWithTheIdleTimeOfItsSession(t *testing.T) {
	s := newSite(t, nil, testUsers())
	*s.sessions = *session.New(s.cfg.Sessions(), &memoryStore{})
	synctest.Test(t, func(t *testing.T) {
		r := &web.Request{Request: httptest.NewRequest("GET", "/events", nil)}
		r.Header.Set("Cookie", s.signInAs("viewer"))
		allowed := s.sessions.StillAllowed(r, s.auth, viewer)
		time.Sleep(29 * time.Minute)
		if !allowed() {
			t.Error("ended before its time")
		}
		time.Sleep(2 * time.Minute) // asking was no use
		if allowed() {
			t.Error("the stream lives on after 31 minutes")
		}
	})
}

func TestABrowserThatSignedInBeforeIsNotDelayedForOthers(t *testing.T) {
	s := newSite(t, nil, testUsers())
	res := s.do("POST", "/login", signInForm("viewer", testPassword))
	var device *http.Cookie
	for _, c := range res.Cookies() {
		if c.Name == "dedup_device" {
			device = c
		}
	}
	if device == nil || !device.HttpOnly || device.SameSite != http.SameSiteStrictMode || device.MaxAge <= 0 {
		t.Fatalf("the cookie of the device is %v", device)
	}
	if s.mayRead(device.Name + "=" + device.Value) {
		t.Error("the mark of a browser lets somebody in")
	}
	again := newSite(t, nil, testUsers()) // another process with the key of the first
	s.auth.RememberDevices([]byte("key"))
	again.auth.RememberDevices([]byte("key"))
	synctest.Test(t, func(t *testing.T) {
		mark := "dedup_device=" + s.auth.Device("viewer")
		for range 12 {
			again.do("POST", "/login", signInForm("viewer", "a guess at the password"))
		}
		if res := again.do("POST", "/login", signInForm("viewer", testPassword)); res.StatusCode != http.StatusTooManyRequests {
			t.Errorf("guesses are not delayed: %s", res.Status)
		}
		if res := again.do("POST", "/login", signInForm("viewer", testPassword), "Cookie", mark); res.StatusCode != http.StatusSeeOther {
			t.Errorf("the owner with her browser: %s", res.Status)
		}
	})
}

func TestReadingPagesDoesNotWriteSessionsEachTime(t *testing.T) {
	s := newSite(t, nil, testUsers())
	store := &memoryStore{}
	*s.sessions = *session.New(s.cfg.Sessions(), store)
	cookie := s.signInAs("viewer")
	before := store.commits
	for range 20 {
		s.mayRead(cookie)
	}
	if store.commits != before {
		t.Errorf("20 requests wrote %d times", store.commits-before)
	}
}

// memoryStore is a session store without a disk.
type memoryStore struct {
	rows    map[string]memoryRow
	commits int
	err     error
}

type memoryRow struct {
	data    []byte
	expires time.Time
}

func (m *memoryStore) Find(token string) ([]byte, bool, error) {
	r, ok := m.rows[token]
	return r.data, ok && time.Now().Before(r.expires), m.err
}

func (m *memoryStore) Commit(token string, b []byte, expires time.Time) error {
	if m.rows == nil {
		m.rows = map[string]memoryRow{}
	}
	m.rows[token] = memoryRow{b, expires}
	m.commits++
	return m.err
}

func (m *memoryStore) Delete(token string) error {
	delete(m.rows, token)
	return m.err
}

func (m *memoryStore) All() (map[string][]byte, error) {
	all := map[string][]byte{}
	for token, r := range m.rows {
		all[token] = r.data
	}
	return all, m.err
}

func TestABrokenSessionStoreGivesAClearPage(t *testing.T) {
	s := newSite(t, nil, testUsers())
	*s.sessions = *session.New(s.cfg.Sessions(), &memoryStore{err: &dedup.Error{Kind: dedup.Internal, Public: "disk I/O error"}})
	res := s.do("POST", "/login", url.Values{"username": {"viewer"}, "password": {testPassword}}.Encode())
	if res.StatusCode != http.StatusServiceUnavailable || strings.Contains(s.body(res), "disk I/O") {
		t.Errorf("sign-in: %s", res.Status)
	}
	if res := s.do("GET", "/", "", "Cookie", "dedup_session=x"); res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("page: %s", res.Status)
	}
	if res := s.do("GET", "/api/v1/pipelines", "", "Authorization", "Bearer "+viewerToken); res.StatusCode != http.StatusOK {
		t.Errorf("a token needs no session store: %s", res.Status)
	}
}

func TestAChangedAccountEndsItsSessions(t *testing.T) {
	s := newSite(t, nil, testUsers())
	cookie := s.signInAs("viewer")
	// The same store under a configuration in which the viewer has another password.
	users := testUsers()
	changed := newSite(t, nil, users[1:])
	*changed.sessions = *s.sessions
	if changed.mayRead(cookie) {
		t.Error("the session of a removed account still works")
	}
}

func TestFailedSignInsAreDelayedPerAddressAndAccount(t *testing.T) {
	s := newSite(t, nil, testUsers())
	form := func(name string) string {
		return url.Values{"username": {name}, "password": {"not the password"}}.Encode()
	}
	synctest.Test(t, func(t *testing.T) { // the first delay is a second, and a hash may take longer than that
		for range 6 {
			if res := s.do("POST", "/login", form("nosuchuser")); res.StatusCode != http.StatusUnprocessableEntity {
				t.Fatalf("%s", res.Status)
			}
		}
		res := s.do("POST", "/login", form("viewer"))
		if res.StatusCode != http.StatusTooManyRequests || res.Header.Get("Retry-After") == "" {
			t.Errorf("the seventh failure: %s, Retry-After %q", res.Status, res.Header.Get("Retry-After"))
		}
	})
}

func TestSettingsComeBackToThePage(t *testing.T) {
	s := newSite(t, nil, testUsers())
	for referer, want := range map[string]string{
		"http://127.0.0.1:8080/pipelines/orders?range=6h": "/pipelines/orders?range=6h",
		"http://127.0.0.1:8080/pipelines/orders?auto=1":   "/pipelines/orders",
		"http://evil.example/x":                           "/",
		"":                                                "/",
		"http://127.0.0.1:8080//evil.example":             "/",
	} {
		res := s.do("POST", "/settings", "theme=dark&tz=Europe%2FBerlin", "Referer", referer)
		if res.Header.Get("Location") != want || len(res.Cookies()) != 2 {
			t.Errorf("from %q to %q with %v", referer, res.Header.Get("Location"), res.Cookies())
		}
	}
	if res := s.do("POST", "/settings", "tz=Nowhere%2FCity"); res.StatusCode != http.StatusBadRequest {
		t.Errorf("an unknown zone: %s", res.Status)
	}
	if res := s.do("POST", "/settings", "tz=..%2F..%2Fetc%2Fpasswd"); res.StatusCode != http.StatusBadRequest {
		t.Errorf("a path as zone: %s", res.Status)
	}
}

func TestAPageThatLoadsItselfAgainSaysSoAndNothingOnItCarriesThatOn(t *testing.T) {
	s := stocked(t, nil)
	_, operation := s.cleared(nil)
	body := func(path string) string {
		t.Helper()
		res := s.do("GET", path, "", "Cookie", s.signInAs("admin"))
		if res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s", path, res.Status)
		}
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	first := body(operation + "?tz=Europe%2FBerlin&x=%22%3E%3Cb%3E%27")
	refresh := regexp.MustCompile(`http-equiv="refresh" content="([0-9]+); url=([^"]*)"`).FindStringSubmatch(first)
	if refresh == nil {
		t.Fatalf("the page of an operation that has just ended does not load itself again: %.1500s", first)
	}
	again := html.UnescapeString(refresh[2])
	if again != operation+"?tz=Europe%2FBerlin&x=%22%3E%3Cb%3E%27&auto=1" {
		t.Errorf("it loads itself again from %s", again)
	}
	second := body(again)
	if n := strings.Count(second, "auto=1"); n != 1 || !strings.Contains(second, refresh[0]) {
		t.Errorf("the page that loaded itself again says auto=1 %d times, expected where it loads itself from alone", n)
	}
}
