package server

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/server/web"
)

func TestEveryRouteCarriesTheSecurityHeaders(t *testing.T) {
	s := newSite(t, nil, testUsers())
	s.snapshots.snap.Store(sampleSnapshot())
	paths := []string{"/nowhere", "/api/v1/nowhere", "/static/nowhere.css"}
	for key := range wanted {
		_, path, _ := strings.Cut(key, " ")
		paths = append(paths, strings.NewReplacer("{name}", "orders", "{id}", "none", "{file...}", "app.css").Replace(path))
	}
	for _, path := range paths {
		for _, headers := range [][]string{nil, {"Authorization", "Bearer " + viewerToken}, {"Host", "evil.example"}} {
			res := s.do("GET", path+"?topics=overview", "", headers...)
			for name, want := range map[string]string{
				"Content-Security-Policy": contentPolicy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin",
				"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "X-Frame-Options": "DENY",
				"Permissions-Policy": "camera=(), microphone=(), geolocation=()",
			} {
				if got := res.Header.Get(name); got != want {
					t.Errorf("%s %v: %s is %q", path, headers, name, got)
				}
			}
			if res.Header.Get("X-Request-Id") == "" {
				t.Errorf("%s %v: no request id", path, headers)
			}
			if !strings.HasPrefix(path, "/static/") && res.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("%s %v: Cache-Control %q", path, headers, res.Header.Get("Cache-Control"))
			}
			if res.Header.Get("Access-Control-Allow-Origin") != "" || res.Header.Get("Strict-Transport-Security") != "" {
				t.Errorf("%s %v: %v", path, headers, res.Header)
			}
		}
	}
	for _, forbidden := range []string{"unsafe-inline", "unsafe-eval", "*", "data:"} {
		if strings.Contains(contentPolicy, forbidden) {
			t.Errorf("the policy allows %s", forbidden)
		}
	}
}

func TestFormsFromOtherSitesAreRefused(t *testing.T) {
	s := newSite(t, nil, testUsers())
	form := url.Values{"username": {"viewer"}, "password": {testPassword}}.Encode()
	for _, c := range []struct {
		name    string
		headers []string
		refused bool
	}{
		{"the same origin by Sec-Fetch-Site", []string{"Sec-Fetch-Site", "same-origin"}, false},
		{"typed by the user", []string{"Sec-Fetch-Site", "none"}, false},
		{"another site by Sec-Fetch-Site", []string{"Sec-Fetch-Site", "cross-site"}, true},
		{"a sibling host by Sec-Fetch-Site", []string{"Sec-Fetch-Site", "same-site"}, true},
		{"another site that claims our origin", []string{"Sec-Fetch-Site", "cross-site", "Origin", "http://127.0.0.1:8080"}, true},
		{"plain http, Origin equals Host", []string{"Origin", "http://127.0.0.1:8080"}, false},
		{"plain http, another Origin", []string{"Origin", "http://evil.example"}, true},
		{"plain http, another port", []string{"Origin", "http://127.0.0.1:9999"}, true},
		{"a sandboxed frame", []string{"Origin", "null"}, true},
		{"no browser at all", nil, false},
	} {
		res := s.do("POST", "/login", form, c.headers...)
		if refused := res.StatusCode == http.StatusForbidden; refused != c.refused {
			t.Errorf("%s: %s", c.name, res.Status)
		}
		if c.refused && len(res.Cookies()) > 0 {
			t.Errorf("%s: a refused sign-in sets cookies", c.name)
		}
	}
}

func TestMethodsAreNotOverridden(t *testing.T) {
	s := newSite(t, nil, testUsers())
	res := s.do("POST", "/healthz", "_method=GET", "X-HTTP-Method-Override", "GET")
	if res.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("%s", res.Status)
	}
}

func TestOnlyKnownHostsAreServed(t *testing.T) {
	s := newSite(t, func(c *Config) {
		c.PublicURL = "https://dash.example.com"
		c.AllowedHosts = []string{"dash.internal"}
	}, testUsers())
	for host, ok := range map[string]bool{
		"127.0.0.1:8080": true, "localhost:8080": true, "[::1]:8080": true, "10.1.2.3": true, "app.localhost": true,
		"dash.example.com": true, "DASH.internal:443": true, "dash.example.com.": true,
		"evil.example": false, "localhost.evil.example": false, "dash.example.com.evil.example": false, "127.0.0.1.evil.example": false, "": false,
	} {
		res := s.do("GET", "/healthz", "", "Host", host)
		if got := res.StatusCode == http.StatusOK; got != ok {
			t.Errorf("host %q: %s", host, res.Status)
		}
	}
}

func TestSignInNeverLeadsToAnotherSite(t *testing.T) {
	for _, base := range []string{"/", "/dedup"} {
		s := newSite(t, func(c *Config) { c.BasePath = base }, testUsers())
		cookie := s.signInAs("viewer")
		home := s.cfg.base() + "/"
		for next, want := range map[string]string{
			"/pipelines/orders?range=6h": s.cfg.base() + "/pipelines/orders?range=6h",
			"":                           home, "https://evil.example/": home, "//evil.example": home, `/\evil.example`: home, `\\evil.example`: home,
			"/\t/evil.example": home, "/\n/evil.example": home, "javascript:alert(1)": home, "/\x00": home, "evil.example": home,
			"http:evil.example": home, "/login?next=/login": home, "/logout": home, "/%2e%2e//evil": s.cfg.base() + "/%2e%2e//evil", "/\u202eevil": home,
			"///evil.example": home, "/%": home,
		} {
			res := s.do("GET", s.cfg.base()+"/login?next="+url.QueryEscape(next), "", "Cookie", cookie)
			if got := res.Header.Get("Location"); got != want {
				t.Errorf("next %q leads to %q, expected %q", next, got, want)
			}
			form := url.Values{"username": {"viewer"}, "password": {testPassword}, "next": {next}}.Encode()
			if got := s.do("POST", s.cfg.base()+"/login", form).Header.Get("Location"); base == "/" && got != want {
				t.Errorf("posted next %q leads to %q, expected %q", next, got, want)
			}
		}
	}
}

func TestSignInLeadsBackToThePageAskedFor(t *testing.T) {
	s := newSite(t, func(c *Config) { c.BasePath = "/dedup/" }, testUsers())
	res := s.do("GET", "/dedup/pipelines/orders?range=6h&tz=UTC", "")
	at, err := url.Parse(res.Header.Get("Location"))
	if err != nil || at.Path != "/dedup/login" || at.Query().Get("next") != "/pipelines/orders?range=6h&tz=UTC" {
		t.Errorf("sent to %q", res.Header.Get("Location"))
	}
	if outside := s.do("GET", "/login", ""); outside.StatusCode != http.StatusNotFound {
		t.Errorf("outside the base path: %s", outside.Status)
	}
}

// hostile are strings that were found to hurt dashboards.
var hostile = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `javascript:alert(1)`, "\u202egnp.exe", "a\x00b", "\x1b[31mred", "\xff\xfe",
	"{{7*7}}", "=cmd|' /C calc'!A0", "\u200bzero\ufeffwidth", "<!channel>", strings.Repeat("A", 20_000),
}

func TestHostileStringsStayHarmlessInAnswers(t *testing.T) {
	s := newSite(t, nil, testUsers())
	for _, h := range hostile {
		answers := map[string]string{
			"path":   s.body(s.do("GET", "/"+url.PathEscape(h), "")),
			"api":    s.body(s.do("GET", "/api/v1/pipelines?tier="+url.QueryEscape(h), "", "Authorization", "Bearer "+viewerToken)),
			"topic":  s.body(s.do("GET", "/events?topics="+url.QueryEscape(h), "", "Authorization", "Bearer "+viewerToken)),
			"host":   s.body(s.do("GET", "/", "", "Host", h)),
			"login":  s.body(s.do("POST", "/login", url.Values{"username": {h}, "password": {h}, "next": {h}}.Encode())),
			"setup":  s.body(s.do("GET", "/setup?token="+url.QueryEscape(h), "")),
			"zone":   s.body(s.do("POST", "/settings", url.Values{"tz": {h}}.Encode())),
			"token":  s.body(s.do("GET", "/api/v1/pipelines", "", "Authorization", "Bearer "+strings.Map(printable, h))),
			"cookie": s.body(s.do("GET", "/", "", "Cookie", "dedup_session="+url.QueryEscape(h))),
		}
		for where, body := range answers {
			for _, bad := range []string{"<script>alert", "<img src=x", "\u202e", "\x00", "\x1b", "\u200b", "\ufeff"} {
				if strings.Contains(body, bad) {
					t.Errorf("%s: %q shows %q", where, h[:min(len(h), 40)], bad)
				}
			}
			if len(body) > 30_000 {
				t.Errorf("%s: %d bytes of answer", where, len(body))
			}
		}
	}
}

func printable(r rune) rune {
	if r < ' ' || r > '~' {
		return '?'
	}
	return r
}

func TestPagesForPeopleAndJSONForPrograms(t *testing.T) {
	s := newSite(t, nil, testUsers())
	for _, c := range []struct {
		method, path, contentType string
		status                    int
	}{
		{"GET", "/nowhere", "text/html", 404},
		{"GET", "/pipelines/UPPER", "text/html", 404},
		{"PUT", "/login", "text/html", 405},
		{"GET", "/api/v1/nowhere", "application/json", 404},
		{"PUT", "/api/v1/pipelines", "application/json", 405},
		{"POST", "/metrics", "application/json", 405},
		{"GET", "/pipelines/" + strings.Repeat("%2F", 3), "text/html", 404},
		{"GET", "/pipelines/..%2f..%2fetc", "text/html", 404},
	} {
		res := s.do(c.method, c.path, "", "Authorization", "Bearer "+viewerToken)
		if res.StatusCode != c.status || !strings.HasPrefix(res.Header.Get("Content-Type"), c.contentType) {
			t.Errorf("%s %s: %s %s", c.method, c.path, res.Status, res.Header.Get("Content-Type"))
		}
		if c.status == 405 && res.Header.Get("Allow") == "" {
			t.Errorf("%s %s: 405 without Allow", c.method, c.path)
		}
	}
}

func TestHeadAnswersLikeGet(t *testing.T) {
	s := newSite(t, nil, testUsers())
	for _, path := range []string{"/", "/healthz", "/login", "/api/v1/pipelines", "/metrics", "/events?topics=overview"} {
		get := s.do("GET", path, "", "Authorization", "Bearer "+viewerToken)
		head := s.do("HEAD", path, "", "Authorization", "Bearer "+viewerToken)
		if get.StatusCode != head.StatusCode || get.Header.Get("Content-Type") != head.Header.Get("Content-Type") {
			t.Errorf("%s: GET %s %s, HEAD %s %s", path, get.Status, get.Header.Get("Content-Type"), head.Status, head.Header.Get("Content-Type"))
		}
	}
}

func TestLargeRequestsAreRefused(t *testing.T) {
	s := newSite(t, nil, testUsers())
	res := s.do("POST", "/login", "password="+strings.Repeat("a", maxBodyBytes+1))
	if res.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("%s", res.Status)
	}
}

func TestAPanicBecomesAnErrorPageWithTheRequestID(t *testing.T) {
	s := newSite(t, nil, testUsers())
	s.snapshots.snap.Store(nil) // breaks the promise that it is never nil
	res := s.do("GET", "/api/v1/pipelines", "", "Authorization", "Bearer "+viewerToken)
	body := s.body(res)
	if res.StatusCode != http.StatusInternalServerError || !strings.Contains(body, res.Header.Get("X-Request-Id")) || strings.Contains(body, "nil pointer") {
		t.Errorf("%s %s", res.Status, body)
	}
	// The page of a person who is signed in shows a banner over the same snapshot.
	res = s.do("POST", "/settings", "tz=Nowhere", "Authorization", "Bearer "+viewerToken)
	if res.StatusCode != http.StatusBadRequest {
		t.Errorf("an error page fails where the page did: %s", res.Status)
	}
}

func TestAddressesOfClientsAreOnlyTakenFromTrustedProxies(t *testing.T) {
	for _, c := range []struct {
		name    string
		trusted []string
		want    string
	}{
		{"without proxies", nil, "127.0.0.1"},
		{"from a proxy that is not trusted", []string{"10.0.0.0/8"}, "127.0.0.1"},
		{"from a trusted proxy", []string{"127.0.0.1"}, "198.51.100.7"},
	} {
		extract, err := ipExtractor(c.trusted)
		if err != nil {
			t.Fatal(err)
		}
		r, _ := http.NewRequest("GET", "/", nil)
		r.RemoteAddr = "127.0.0.1:4711"
		r.Header.Set("X-Forwarded-For", "203.0.113.9, 198.51.100.7")
		r.Header.Set("X-Real-Ip", "203.0.113.1")
		if got := extract(r); got != c.want {
			t.Errorf("%s: %s, expected %s", c.name, got, c.want)
		}
	}
}

func TestAProxyThatIsNotTrustedIsToldOfOnce(t *testing.T) {
	for _, c := range []struct {
		name    string
		trusted []string
		headers []string
		told    bool
	}{
		{"no proxy", nil, nil, false},
		{"a proxy, none is trusted", nil, []string{"X-Forwarded-For", "203.0.113.9"}, true},
		{"a proxy by its other header", nil, []string{"Forwarded", "for=203.0.113.9"}, true},
		{"a proxy, another is trusted", []string{"10.0.0.0/8"}, []string{"X-Forwarded-For", "203.0.113.9"}, true},
		{"a trusted proxy", []string{"127.0.0.1"}, []string{"X-Forwarded-For", "203.0.113.9"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t, func(cfg *Config) { cfg.TrustedProxies = c.trusted }, testUsers())
			var log bytes.Buffer
			s.proxies.log = slog.New(slog.NewTextHandler(&log, nil))
			for range 3 {
				s.do("GET", "/", "", c.headers...)
			}
			if got := strings.Count(log.String(), "trusted_proxies"); got != 1 && c.told || got != 0 && !c.told {
				t.Errorf("the log tells of it %d times: %s", got, log.String())
			}
			for role, sees := range map[string]bool{"operator": false, "admin": c.told} {
				if got := strings.Contains(s.body(s.as(role, "GET", "/audit", "")), "Add its address to server.trusted_proxies"); got != sees {
					t.Errorf("%s reads of it: %t", role, got)
				}
			}
		})
	}
}

func TestConfigRefusesWhatIsNotSafe(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Config)
		want   string // part of the message; empty for a good one
	}{
		{"the default", func(*Config) {}, ""},
		{"every interface", func(c *Config) { c.Listen = ":8080" }, "insecure_http"},
		{"every IPv6 interface", func(c *Config) { c.Listen = "[::]:8080" }, "insecure_http"},
		{"a private address", func(c *Config) { c.Listen = "10.0.0.5:8080" }, "insecure_http"},
		{"a name", func(c *Config) { c.Listen = "dash.example.com:8080" }, "insecure_http"},
		{"a private address, accepted", func(c *Config) { c.Listen, c.InsecureHTTP = "10.0.0.5:8080", true }, ""},
		{"a private address behind a proxy", func(c *Config) { c.Listen, c.TrustedProxies = "10.0.0.5:8080", []string{"10.0.0.1"} }, ""},
		{"a private address with TLS", func(c *Config) { c.Listen, c.TLS = "10.0.0.5:8080", TLS{"c", "k"} }, ""},
		{"IPv6 loopback", func(c *Config) { c.Listen = "[::1]:8080" }, ""},
		{"no port", func(c *Config) { c.Listen = "127.0.0.1" }, "host:port"},
		{"half of TLS", func(c *Config) { c.TLS.CertFile = "c" }, "tls:"},
		{"a bad proxy", func(c *Config) { c.TrustedProxies = []string{"10.0.0.0/99"} }, "trusted_proxies[0]"},
		{"a bad base path", func(c *Config) { c.BasePath = "dash board" }, "base_path"},
		{"a bad public address", func(c *Config) { c.PublicURL = "javascript:alert(1)" }, "public_url"},
		{"a public address with another path", func(c *Config) { c.PublicURL = "https://x.example/other" }, "public_url"},
		{"a bad host", func(c *Config) { c.AllowedHosts = []string{"http://x"} }, "allowed_hosts[0]"},
		{"sessions that outlive themselves", func(c *Config) { c.SessionLifetime = c.SessionIdle / 2 }, "session_idle"},
	} {
		cfg := DefaultConfig()
		c.change(&cfg)
		err := cfg.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// FuzzSafeNext shows that no `next` leaves this host: what it becomes is a path of ours that no browser reads as a host.
func FuzzSafeNext(f *testing.F) {
	for _, seed := range []string{"/", "//x", "/\\x", "/a?b=c#d", "/\t/x", "/%2f/x", "http://x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, next string) {
		got := web.SafeNext("/dedup", next)
		u, err := url.Parse(got)
		if err != nil || u.Host != "" || u.Scheme != "" || !strings.HasPrefix(got, "/dedup/") || strings.ContainsAny(got, "\\\t\r\n\x00") {
			t.Errorf("%q becomes %q", next, got)
		}
	})
}

func TestSetupMakesTheFirstAdminOnce(t *testing.T) {
	s := newSite(t, nil, nil)
	res := s.do("GET", "/pipelines/orders", "")
	if res.Header.Get("Location") != "/welcome" {
		t.Fatalf("without an admin pages lead to %q", res.Header.Get("Location"))
	}
	token := strings.TrimPrefix(*s.link.Load(), "/setup?token=")
	if body := s.body(s.do("GET", "/welcome", "")); strings.Contains(body, token) {
		t.Fatal("the welcome page gives the link away")
	}
	if res := s.do("GET", *s.link.Load(), ""); res.StatusCode != 200 {
		t.Fatalf("the link: %s", res.Status)
	}
	post := func(token, name, password string) *http.Response {
		return s.do("POST", "/setup", url.Values{"token": {token}, "username": {name}, "password": {password}}.Encode())
	}
	for _, c := range []struct {
		what, token, name, password string
		status                      int
	}{
		{"a wrong token", strings.Repeat("0", 32), "root", testPassword, 403},
		{"no token", "", "root", testPassword, 403},
		{"a short password", token, "root", "elevenchars", 422},
		{"a password that is the name", token, "administrator", "Administrator", 422},
		{"a bad name", token, "ro ot", testPassword, 422},
		{"the link after failures", token, "Root", testPassword, 303},
		{"the link again", token, "second", testPassword, 403},
	} {
		if res := post(c.token, c.name, c.password); res.StatusCode != c.status {
			t.Errorf("%s: %s, expected %d", c.what, res.Status, c.status)
		} else if c.status == 303 && s.do("GET", "/", "", "Cookie", cookieOf(t, res)).StatusCode != 200 {
			t.Errorf("%s: not signed in", c.what)
		}
	}
	if u, ok, err := s.journal.User(t.Context(), "root"); err != nil || !ok || u.Role != auth.Admin || u.Name != "Root" {
		t.Errorf("account %+v %t %v", u, ok, err)
	}
	if _, ok, _ := s.journal.User(t.Context(), "second"); ok {
		t.Error("a second admin was made")
	}
	if left, _ := filepath.Glob(filepath.Join(s.dir, "first-admin-link*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if state, err := s.journal.Audit().Verify(t.Context()); state.Entries != 3 || err != nil {
		t.Errorf("audit has %d entries (%v), expected the first wrong link, intent and outcome", state.Entries, err)
	}
	if at := s.do("GET", "/", "").Header.Get("Location"); at != "/login" {
		t.Errorf("with an admin, pages lead to %q", at)
	}
}

func TestOneLinkMakesOneAdminEvenInARace(t *testing.T) {
	s := newSite(t, nil, nil)
	token := strings.TrimPrefix(*s.link.Load(), "/setup?token=")
	results := make(chan int, 6)
	for i := range cap(results) {
		go func() {
			form := url.Values{"token": {token}, "username": {fmt.Sprintf("admin%d", i)}, "password": {testPassword}}.Encode()
			results <- s.do("POST", "/setup", form).StatusCode
		}()
	}
	made := 0
	for range cap(results) {
		if <-results == http.StatusSeeOther {
			made++
		}
	}
	users, err := s.journal.Users(t.Context())
	if made != 1 || len(users) != 1 || err != nil {
		t.Errorf("%d answers of success, %d accounts, %v", made, len(users), err)
	}
}
