package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"runtime/debug"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
)

// newHandler builds the chain that each request passes, outermost first: id, log and recovery; headers; host; body limit;
// origin; compression; then the route with its session and role.
func (s *Server) newHandler() (http.Handler, error) {
	e := echo.New()
	e.Logger.SetOutput(io.Discard) // slog is used throughout
	extractor, err := ipExtractor(s.cfg.TrustedProxies)
	if err != nil {
		return nil, err
	}
	e.IPExtractor = extractor
	e.HTTPErrorHandler = s.writeError
	origins := http.NewCrossOriginProtection()
	if err := trustPublicURL(origins, s.cfg); err != nil {
		return nil, err
	}
	e.Use(s.observe, s.secureHeaders, s.checkHost, s.proxies.watch(s.cfg.TrustedProxies), limitBody, s.checkOrigin(origins), refuseOptions, s.compress())
	s.register(e, served(s.routes(), s.cfg.ReadOnly))
	return e, nil
}

// ipExtractor returns how the client's address is found: from the connection, and from X-Forwarded-For only where a trusted
// proxy set it.
func ipExtractor(trusted []string) (echo.IPExtractor, error) {
	if len(trusted) == 0 {
		return echo.ExtractIPDirect(), nil
	}
	options := []echo.TrustOption{echo.TrustLoopback(false), echo.TrustLinkLocal(false), echo.TrustPrivateNet(false)}
	for _, cidr := range trusted {
		n, err := parseNetwork(cidr)
		if err != nil {
			return nil, fmt.Errorf("trusted_proxies: %w", err)
		}
		options = append(options, echo.TrustIPRange(n))
	}
	return echo.ExtractIPFromXFFHeader(options...), nil
}

// trustPublicURL accepts forms from the address that people use, in case a proxy does not pass on the Host header.
func trustPublicURL(origins *http.CrossOriginProtection, cfg Config) error {
	if cfg.PublicURL == "" {
		return nil
	}
	scheme, rest, _ := strings.Cut(cfg.PublicURL, "://")
	host, _, _ := strings.Cut(rest, "/")
	if err := origins.AddTrustedOrigin(scheme + "://" + host); err != nil {
		return fmt.Errorf("public_url: %w", err)
	}
	return nil
}

const requestIDKey = "request_id"

// observe names the request, turns a panic into an error page, and writes one line to the log and one observation to
// the metrics.
func (s *Server) observe(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		id := rand.Text()[:16]
		c.Set(requestIDKey, id)
		c.Response().Header().Set("X-Request-Id", id)
		start := time.Now()
		defer func() {
			p := recover()
			cut := p == http.ErrAbortHandler
			if p != nil && !cut {
				s.log.Error("panic in a handler", "request", id, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				s.writeError(fmt.Errorf("panic: %v", p), c)
			}
			s.observed(c, id, time.Since(start), cut)
			if cut {
				panic(p) // closes the connection
			}
		}()
		if err := next(c); err != nil {
			s.writeError(err, c)
		}
		return nil
	}
}

// observed tells the log and the metrics of a request. An answer that was cut short has failed, whatever status was sent before.
func (s *Server) observed(c echo.Context, id string, took time.Duration, cut bool) {
	path := strings.TrimPrefix(c.Path(), s.cfg.base())
	if path == "" {
		path = "none"
	}
	status := c.Response().Status
	if cut {
		status = http.StatusInternalServerError
	}
	if path != "/events" {
		s.metrics.Observe(path, c.Request().Method, status, took)
	}
	s.log.Debug("request", "request", id, "method", show.Clean(c.Request().Method, 20), "path", show.Clean(c.Request().URL.Path, 200),
		"status", status, "took", took, "from", c.RealIP())
}

// writeError answers with an error, unless an answer is under way already. The answer does not end with the request's
// context: a body that came too slowly ends that, and its sender still waits for an answer.
func (s *Server) writeError(err error, c echo.Context) {
	var cut *web.Cut
	if errors.As(err, &cut) {
		s.log.Error("an answer was cut short", "request", c.Get(requestIDKey), "err", cut.Err)
		panic(http.ErrAbortHandler)
	}
	var gone *web.Gone
	if c.Response().Committed || errors.As(err, &gone) {
		return
	}
	c.SetRequest(c.Request().WithContext(context.WithoutCancel(c.Request().Context())))
	r := s.newRequest(c)
	k, ok := c.Get(kindKey).(web.Kind)
	if !ok {
		k = s.kindOf(r.URL.Path)
	}
	s.knowAgain(c, r, k, err)
	s.logFailure(r, err)
	if err := s.errorResponse(r, k, err).Write(c.Response(), r); err != nil && !errors.As(err, &gone) {
		s.log.Error("error page failed", "request", r.ID, "err", err)
	}
}

// knowAgain finds out who asked for what ended in an error. An address that there is not, or a method, is refused before anybody is asked
// for, and its page must not lose the navigation of those who are signed in. Who cannot be told is nobody.
func (s *Server) knowAgain(c echo.Context, r *web.Request, k web.Kind, failed error) {
	if who, ok := c.Get(principalKey).(auth.Principal); ok {
		r.Who = who
		return
	}
	if status := describe(failed).Status; k != web.PageKind || status != http.StatusNotFound && status != http.StatusMethodNotAllowed {
		return
	}
	r.Kind = k
	if err := s.sessions.Identify(r, s.auth); err != nil {
		r.Who = auth.Principal{}
	}
}

// logFailure logs what went wrong here, with its cause: the answer names only what was made to be shown.
func (s *Server) logFailure(r *web.Request, err error) {
	level := slog.LevelError
	switch d := describe(err); {
	case !d.Ours():
		return
	case errors.Is(err, context.Canceled):
		level = slog.LevelDebug // the client left; nothing is wrong
	case d.Status != http.StatusInternalServerError:
		level = slog.LevelWarn
	}
	s.log.Log(r.Context(), level, "request failed", "request", r.ID, "path", show.Clean(r.URL.Path, 200), "err", err)
}

// contentPolicy allows what is ours and nothing inline. Trusted Types are left out because htmx parses HTML.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

func (s *Server) secureHeaders(next echo.HandlerFunc) echo.HandlerFunc {
	headers := map[string]string{
		"Content-Security-Policy":      contentPolicy,
		"X-Content-Type-Options":       "nosniff",
		"X-Frame-Options":              "DENY",
		"Referrer-Policy":              "same-origin", // no-referrer would make the Origin of forms null
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Permissions-Policy":           "camera=(), microphone=(), geolocation=()",
		"Cache-Control":                "no-store", // assets override it
	}
	if s.cfg.hasTLS() {
		headers["Strict-Transport-Security"] = "max-age=31536000"
	}
	return func(c echo.Context) error {
		for name, value := range headers {
			c.Response().Header().Set(name, value)
		}
		return next(c)
	}
}

func (s *Server) checkHost(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if host := c.Request().Host; !s.cfg.allowsHost(host) {
			return &web.Error{Status: http.StatusMisdirectedRequest, Kind: wrongHost, Heading: "Wrong host", Message: fmt.Sprintf("This dashboard does not answer for the host %s; set server.public_url or server.allowed_hosts if it should", show.Clean(host, 100))}
		}
		return next(c)
	}
}

func limitBody(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if r.ContentLength > maxBodyBytes {
			return &http.MaxBytesError{Limit: maxBodyBytes}
		}
		r.Body = http.MaxBytesReader(c.Response(), r.Body, maxBodyBytes)
		return next(c)
	}
}

// checkOrigin refuses what another site makes a browser send, and records whose browser it was.
func (s *Server) checkOrigin(origins *http.CrossOriginProtection) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if err := origins.Check(c.Request()); err != nil {
				r := s.newRequest(c)
				_ = s.sessions.Identify(r, s.auth) // it is refused in any case
				s.noteRefused(r, "it came from another site")
				return &web.Error{Status: http.StatusForbidden, Kind: "cross_origin", Heading: "Not allowed", Message: "This request came from another site and was refused"}
			}
			return next(c)
		}
	}
}

// refuseOptions answers OPTIONS like any other method that is not there: no other site may ask.
func refuseOptions(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if allowed, ok := c.Get(echo.ContextKeyHeaderAllow).(string); ok && c.Request().Method == http.MethodOptions {
			c.Response().Header().Set("Allow", allowed)
			return echo.ErrMethodNotAllowed
		}
		return next(c)
	}
}

// compress packs pages and JSON above 1 kB. Assets come packed, and a stream must not be held back.
func (s *Server) compress() echo.MiddlewareFunc {
	return middleware.GzipWithConfig(middleware.GzipConfig{MinLength: 1024, Level: 5, Skipper: func(c echo.Context) bool {
		path := strings.TrimPrefix(c.Path(), s.cfg.base())
		return path == "/events" || path == "/metrics" || strings.HasPrefix(path, "/static/")
	}})
}

const (
	kindKey      = "kind"
	principalKey = "principal"
)

// newRequest makes our request of echo's.
func (s *Server) newRequest(c echo.Context) *web.Request {
	id, _ := c.Get(requestIDKey).(string)
	r := &web.Request{Request: c.Request(), ID: id}
	if plain, marked := web.Unmarked(r.URL); marked {
		r.Request, r.ByItself = r.WithContext(r.Context()), true
		r.URL = plain
	}
	r.From, _ = netip.ParseAddr(c.RealIP())
	if r.Header.Get("HX-Request-Type") == "partial" {
		r.Fragment = fragmentID(r.Header.Get("HX-Target"))
	}
	return r
}

var validFragment = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)

// fragmentID returns the id from what htmx names a target by: "pipelines" or "section#pipelines".
func fragmentID(target string) string {
	if _, id, ok := strings.Cut(target, "#"); ok {
		target = id
	}
	if !validFragment.MatchString(target) {
		return ""
	}
	return target
}

// adapt turns a route into a handler of echo: who is asking, may they, answer.
func (s *Server) adapt(rt web.Route) echo.HandlerFunc {
	return func(c echo.Context) error {
		c.Set(kindKey, rt.Kind)
		r := s.newRequest(c)
		r.Kind = rt.Kind
		if strings.Contains(rt.Path, "{name}") {
			name := c.Param("name")
			if !web.IsPipeline(name) {
				return web.NotFound("There is no such pipeline")
			}
			r.SetPathValue("name", name)
		}
		if strings.Contains(rt.Path, "{id}") {
			r.SetPathValue("id", c.Param("id"))
		}
		if rt.Kind == web.StaticKind {
			return s.answer(c, r, rt.Handler)
		}
		c.Response().Header().Add("Vary", "Cookie, Authorization, HX-Request-Type, HX-Target")
		if err := s.sessions.Identify(r, s.auth); err != nil && !(rt.Kind == web.ProbeKind && rt.Needs == anybody) {
			if describe(err).Status == http.StatusUnauthorized {
				s.noteRefused(r, "the token is not known or has expired")
			}
			return err // a probe tells less instead: it must not depend on accounts
		}
		c.Set(principalKey, r.Who)
		if err := checkQuery(r, rt.Path); err != nil {
			return err
		}
		if denied, err := s.guard(r, rt); denied != nil || err != nil {
			if rt.Method != http.MethodGet {
				s.noteRefused(r, "it needs the role "+rt.Needs.String())
			}
			return s.finish(c, r, denied, err)
		}
		if rt.Acts { // an error means that the connection knows no deadline, and so has none
			_ = http.NewResponseController(c.Response()).SetWriteDeadline(time.Now().Add(actTimeout))
		}
		return s.answer(c, r, s.handlerOf(rt))
	}
}

// handlerOf is what answers a route.
func (s *Server) handlerOf(rt web.Route) web.Handler {
	if rt.OwnPages {
		return s.fromOwnPages(rt.Handler)
	}
	return rt.Handler
}

func (s *Server) answer(c echo.Context, r *web.Request, h web.Handler) error {
	res, err := h(r)
	return s.finish(c, r, res, err)
}

// finish stores what the handler changed in the session, sets its cookies and writes the response.
func (s *Server) finish(c echo.Context, r *web.Request, res web.Response, err error) error {
	byItself := r.ByItself || r.Fragment != "" || c.Get(kindKey) == web.StreamKind // regions of live pages, and the stream of hints
	if err := s.sessions.Save(r, !byItself); err != nil {
		return err
	}
	for _, cookie := range r.Cookies {
		http.SetCookie(c.Response(), cookie)
	}
	if err != nil {
		return err
	}
	return res.Write(c.Response(), r)
}

// noteRefused records a request that was refused.
func (s *Server) noteRefused(r *web.Request, why string) {
	s.gate.RequestRefused(r.Context(), r.Asker(), r.Method+" "+show.Clean(strings.TrimPrefix(r.URL.Path, s.cfg.base()), 200), why)
}

// guard returns nothing if the principal may pass, and otherwise where to go instead or why not.
func (s *Server) guard(r *web.Request, rt web.Route) (web.Response, error) {
	if r.Who.Can(rt.Needs) {
		return nil, nil
	}
	if r.Who.Role != auth.Nobody {
		return nil, &web.Error{Status: http.StatusForbidden, Kind: "forbidden", Heading: "Not allowed", Message: "This needs the role " + rt.Needs.String() + "; you are signed in as " + r.Who.Role.String()}
	}
	if rt.Kind != web.PageKind {
		return nil, &web.Error{Status: http.StatusUnauthorized, Kind: web.Unauthorized, Heading: "Sign in", Message: "Give a token as `Authorization: Bearer TOKEN`, or sign in"}
	}
	if r.Fragment != "" {
		// A live region must not be filled with the sign-in page.
		return nil, &web.Error{Status: http.StatusUnauthorized, Kind: web.Unauthorized, Heading: "Signed out", Message: "Your session has ended; reload the page to sign in"}
	}
	if s.firstAdmin.Wanted() {
		return web.Redirect{To: s.cfg.base() + "/welcome"}, nil
	}
	return web.Redirect{To: loginPath(s.cfg.base(), r)}, nil
}

// loginPath returns the sign-in page that leads back to the page asked for.
func loginPath(base string, r *web.Request) string {
	path := base + "/login"
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return path
	}
	next := strings.TrimPrefix(r.URL.RequestURI(), base)
	if next == "" || next == "/" || len(next) > 500 {
		return path
	}
	return path + "?next=" + url.QueryEscape(next)
}
