package account

import (
	"context"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alexedwards/scs/v2/memstore"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/internal/server/session"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/lab/admintest"
	"dedup-dashboard/lab/webtest"
)

const password = "correct horse battery"

// stored are the accounts that are not in the configuration.
type stored map[string]auth.User

func (s stored) User(_ context.Context, name string) (auth.User, bool, error) {
	u, ok := s[name]
	return u, ok, nil
}

func (s stored) Users(context.Context) ([]auth.User, error) {
	var all []auth.User
	for _, u := range s {
		all = append(all, u)
	}
	return all, nil
}

func (s stored) CreateFirstAdmin(_ context.Context, u auth.User) error {
	s[u.Name] = u
	return nil
}

func (s stored) SetPassword(_ context.Context, name string, change admin.PasswordChange) error {
	u := s[name]
	u.PasswordHash = change.Now
	s[name] = u
	return nil
}

// hash is that of password; making one takes 19 MiB and a moment.
var hash = sync.OnceValue(func() string {
	text, err := auth.HashPassword(password)
	if err != nil {
		panic(err)
	}
	return text
})

// An entrance is a site of these pages, with its accounts and its audit.
type entrance struct {
	*webtest.Site
	accounts stored
	audit    *admintest.Recorder
	// token is that of the one-time link; empty where there is an admin.
	token string
}

// open serves a dashboard that has the accounts ann, in the configuration, and these.
func open(t *testing.T, accounts ...auth.User) *entrance {
	t.Helper()
	e := &entrance{accounts: stored{}, audit: &admintest.Recorder{}}
	for _, u := range accounts {
		e.accounts[u.Name] = u
	}
	service, err := auth.New(auth.Config{Users: []auth.UserConfig{{Name: "ann", Role: "viewer", PasswordHash: secret.New(hash())}}}, e.accounts)
	admintest.Must(t, err)
	link := func(token string) string { return token }
	first := auth.NewFirstAdmin(service, filepath.Join(t.TempDir(), "link"), link, func(link string) { e.token = link })
	admintest.Must(t, first.Start(t.Context()))
	sessions := session.New(session.Config{Idle: time.Hour, Lifetime: time.Hour}, memstore.NewWithCleanupInterval(0))
	pages := New(Deps{Auth: service, FirstAdmin: first, Gate: admin.NewGate(e.audit, e.accounts, admintest.Quiet()), Sessions: sessions, Log: admintest.Quiet()})
	e.Site = webtest.New(t, func(site web.Site) []web.Route {
		routes := pages(site)
		for i, route := range routes {
			routes[i].Handler = func(r *web.Request) (web.Response, error) {
				who := r.Who
				if err := sessions.Identify(r, service); err != nil {
					return nil, err
				}
				r.Who = who
				response, err := route.Handler(r)
				if err == nil {
					err = sessions.Save(r, true)
				}
				return response, err
			}
		}
		return routes
	})
	return e
}

func root() auth.User { return auth.User{Name: "root", Role: auth.Admin, PasswordHash: hash()} }

// signsIn reports whether an answer gives the browser a session.
func signsIn(a *webtest.Answer) bool {
	for _, c := range a.Result().Cookies() {
		if c.Name == "dedup_session" && c.MaxAge >= 0 && c.Value != "" {
			return true
		}
	}
	return false
}

func TestSigningInLeadsOnAndWhoeverIsWrongGetsTheFormBack(t *testing.T) {
	e := open(t, root())
	in := e.Post(auth.Principal{}, "/login", url.Values{"username": {"ann"}, "password": {password}, "next": {"/pipelines/orders"}})
	if in.Code != http.StatusSeeOther || in.Header().Get("Location") != "/pipelines/orders" || !signsIn(in) {
		t.Errorf("%d to %q, %v", in.Code, in.Header().Get("Location"), in.Err)
	}
	for name, form := range map[string]url.Values{
		"a wrong password": {"username": {"root"}, "password": {"wrong"}}, "a hostile name": {"username": {webtest.Hostile}, "password": {password}, "next": {webtest.Hostile}},
	} {
		out := e.Post(auth.Principal{}, "/login", form)
		page := out.Page(t)
		if out.Code != http.StatusUnprocessableEntity || signsIn(out) || page.Find("#form-error").Length() != 1 || page.Find(`form[action="/login"]`).Length() != 1 {
			t.Errorf("%s: %d, signs in %t", name, out.Code, signsIn(out))
		}
		if typed := page.Find("input[name=password]").AttrOr("value", ""); typed != "" {
			t.Errorf("%s: the password comes back", name)
		}
	}
}

func TestASignInLeadsToNoOtherSite(t *testing.T) {
	e := open(t, root())
	for _, next := range []string{"https://evil.example/", "//evil.example", "/login", "javascript:alert(1)", webtest.Hostile} {
		if to := e.Post(auth.Principal{}, "/login", url.Values{"username": {"ann"}, "password": {password}, "next": {next}}).Header().Get("Location"); to != "/" {
			t.Errorf("%q leads to %q", next, to)
		}
		if to := e.Get(webtest.As(auth.Viewer), "/login?next="+url.QueryEscape(next)).Header().Get("Location"); to != "/" {
			t.Errorf("whoever is signed in is led by %q to %q", next, to)
		}
	}
}

func TestTheAccountShowsWhoItIsAndWhetherItsPasswordCanBeChanged(t *testing.T) {
	e := open(t, root())
	for name, tt := range map[string]struct {
		who   auth.Principal
		forms int
	}{
		"an account that was made here":   {auth.Principal{Name: "root", Role: auth.Admin, Method: "session"}, 1},
		"one of the configuration":        {auth.Principal{Name: "ann", Role: auth.Viewer, Method: "session"}, 0},
		"a token has none":                {auth.Principal{Name: "root", Role: auth.Admin, Method: "token"}, 0},
		"a name that was made to be read": {auth.Principal{Name: webtest.Hostile, Role: auth.Viewer, Method: "session"}, 1},
	} {
		page := e.Page(tt.who, "/account").Find("main .sheet")
		if forms := page.Find(`form[action="/account/password"]`).Length(); forms != tt.forms {
			t.Errorf("%s: %d forms", name, forms)
		}
		if said := webtest.Text(page.Find("p").First()); !strings.HasSuffix(said, tt.who.Role.String()) {
			t.Errorf("%s: %q", name, said)
		}
	}
	if got := e.Get(auth.Principal{}, "/account").Code; got != http.StatusForbidden {
		t.Errorf("to nobody: %d", got)
	}
}

func TestAPasswordChangesOnlyAgainstTheOldOne(t *testing.T) {
	const fresh = "another horse battery"
	who := auth.Principal{Name: "root", Role: auth.Admin, Method: "session"}
	for name, tt := range map[string]struct {
		who   auth.Principal
		form  url.Values
		code  int
		kind  dedup.Kind
		holds bool
	}{
		"it changes":                {who, url.Values{"password": {password}, "new": {fresh}, "again": {fresh}}, http.StatusSeeOther, "", false},
		"the old one is wrong":      {who, url.Values{"password": {"wrong"}, "new": {fresh}, "again": {fresh}}, http.StatusUnprocessableEntity, "", true},
		"it is too short":           {who, url.Values{"password": {password}, "new": {"short"}, "again": {"short"}}, http.StatusUnprocessableEntity, "", true},
		"it is typed in two ways":   {who, url.Values{"password": {password}, "new": {fresh}, "again": {fresh + "x"}}, http.StatusUnprocessableEntity, "", true},
		"it is the old one":         {who, url.Values{"password": {password}, "new": {password}, "again": {password}}, http.StatusUnprocessableEntity, "", true},
		"it is the configuration's": {auth.Principal{Name: "ann", Role: auth.Viewer, Method: "session"}, url.Values{}, http.StatusConflict, "", true},
		"it is a token":             {auth.Principal{Name: "root", Role: auth.Admin, Method: "token"}, url.Values{}, http.StatusOK, dedup.Invalid, true},
	} {
		e := open(t, root())
		answer := e.Post(tt.who, "/account/password", tt.form)
		if answer.Code != tt.code || answer.Refused() != tt.kind {
			t.Errorf("%s: %d, %v", name, answer.Code, answer.Err)
		}
		if holds := e.accounts["root"].PasswordHash == hash(); holds != tt.holds {
			t.Errorf("%s: the old password holds: %t", name, holds)
		}
	}
}

func TestTheOneTimeLinkMakesTheFirstAdminOnce(t *testing.T) {
	e := open(t)
	if page := e.Get(auth.Principal{}, "/welcome"); page.Code != http.StatusForbidden || strings.Contains(page.Body.String(), e.token) {
		t.Errorf("/welcome: %d", page.Code)
	}
	if got := e.Page(auth.Principal{}, "/setup?token="+e.token).Find("input[name=token]").AttrOr("value", ""); got != e.token {
		t.Errorf("the form has the token %q", got)
	}
	if got := e.Get(auth.Principal{}, "/setup?token=guess").Refused(); e.token == "" || got == "" {
		t.Errorf("a guessed link: %q", got)
	}
	form := url.Values{"token": {e.token}, "username": {webtest.Hostile}, "password": {password}}
	if refused := e.Post(auth.Principal{}, "/setup", form); refused.Code != http.StatusUnprocessableEntity || refused.Page(t).Find("#form-error").Length() != 1 {
		t.Errorf("a hostile name: %d", refused.Code)
	}
	form.Set("username", "root")
	if made := e.Post(auth.Principal{}, "/setup", form); made.Code != http.StatusSeeOther || !signsIn(made) || e.accounts["root"].Role != auth.Admin {
		t.Errorf("%d, %v: %+v", made.Code, made.Err, e.accounts)
	}
	form.Set("username", "second")
	if again := e.Post(auth.Principal{}, "/setup", form); again.Err == nil || len(e.accounts) != 1 {
		t.Errorf("a second time: %d, %+v", again.Code, e.accounts)
	}
	if to := e.Get(auth.Principal{}, "/welcome").Header().Get("Location"); to != "/" {
		t.Errorf("with an admin /welcome leads to %q", to)
	}
}

func TestSettingsAreKeptInTheBrowserAndRefuseAZoneThatIsNone(t *testing.T) {
	e := open(t, root())
	kept := map[string]string{}
	for _, c := range e.Post(auth.Principal{}, "/settings", url.Values{"theme": {"dark"}, "tz": {"Europe/Berlin"}}).Result().Cookies() {
		kept[c.Name] = c.Value
	}
	if kept[web.ThemeCookie] != "dark" || kept[web.ZoneCookie] != "Europe/Berlin" {
		t.Errorf("%v", kept)
	}
	if got := e.Post(auth.Principal{}, "/settings", url.Values{"tz": {webtest.Hostile}}).Refused(); got != dedup.Invalid {
		t.Errorf("a hostile zone: %q", got)
	}
}
