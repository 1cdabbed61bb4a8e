package server

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"

	"dedup-dashboard/internal/server/session"
)

// Config is the section `server` of the configuration.
type Config struct {
	// Listen is the address of the web server, host:port. An address beyond loopback needs TLS, trusted proxies or
	// InsecureHTTP.
	Listen string `yaml:"listen"`
	// BasePath is where the dashboard lives below its host; "/" by default.
	BasePath string `yaml:"base_path"`
	// PublicURL is the address that people type, when it differs from Listen: behind a proxy or under a name. Its host is
	// accepted, and with https cookies are marked secure.
	PublicURL string `yaml:"public_url"`
	// AllowedHosts are further host names under which the dashboard may be asked for. IP addresses and localhost always may.
	AllowedHosts []string `yaml:"allowed_hosts"`
	// ReadOnly removes everything that changes something.
	ReadOnly bool `yaml:"read_only"`
	// TLS makes the server speak HTTPS.
	TLS TLS `yaml:"tls"`
	// TrustedProxies are the networks whose X-Forwarded-For is believed.
	TrustedProxies []string `yaml:"trusted_proxies"`
	// InsecureHTTP allows plain HTTP beyond loopback.
	InsecureHTTP bool `yaml:"insecure_http"`
	// SessionIdle ends a session that is not used, SessionLifetime any session: 30 m and 8 h by default.
	SessionIdle     time.Duration `yaml:"session_idle"`
	SessionLifetime time.Duration `yaml:"session_lifetime"`
}

// TLS names the certificate and key files in PEM form.
type TLS struct {
	CertFile string `yaml:"cert_file"`
	KeyFile  string `yaml:"key_file"`
}

// DefaultConfig returns what holds unless configured.
func DefaultConfig() Config {
	return Config{Listen: "127.0.0.1:8080", BasePath: "/", SessionIdle: 30 * time.Minute, SessionLifetime: 8 * time.Hour}
}

var validBase = regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)*/?$`)

// Validate returns every problem of the section, joined. Each begins with the path of its key.
func (c Config) Validate() error {
	errs := []error{c.validateListen(), c.validatePublicURL()}
	if !validBase.MatchString(c.BasePath) || strings.Contains(c.BasePath, "..") {
		errs = append(errs, fmt.Errorf("base_path: %q is not a path; write it as /dashboard", c.BasePath))
	}
	for i, cidr := range c.TrustedProxies {
		if _, err := parseNetwork(cidr); err != nil {
			errs = append(errs, fmt.Errorf("trusted_proxies[%d]: %q is neither an address nor a network; write it as 10.0.0.0/8", i, cidr))
		}
	}
	for i, h := range c.AllowedHosts {
		if h == "" || strings.ContainsAny(h, "/:*@ ") {
			errs = append(errs, fmt.Errorf("allowed_hosts[%d]: %q is not a host name; write it without scheme and port", i, h))
		}
	}
	if (c.TLS.CertFile == "") != (c.TLS.KeyFile == "") {
		errs = append(errs, errors.New("tls: cert_file and key_file belong together; give both or neither"))
	}
	if c.SessionIdle < time.Minute || c.SessionLifetime < c.SessionIdle {
		errs = append(errs, errors.New("session_idle: must be 1m or more, and no longer than session_lifetime"))
	}
	return errors.Join(errs...)
}

func (c Config) validateListen() error {
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return fmt.Errorf("listen: %q is not host:port; write it as 127.0.0.1:8080", c.Listen)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return fmt.Errorf("listen: %q has no valid port; write it as 127.0.0.1:8080", c.Listen)
	}
	if isLoopback(host) || c.hasTLS() || len(c.TrustedProxies) > 0 || c.InsecureHTTP {
		return nil
	}
	return fmt.Errorf("listen: %q can be reached from other machines and would send passwords in the clear; set tls, set trusted_proxies if a proxy "+
		"in front speaks HTTPS, listen on 127.0.0.1, or accept it with insecure_http: true", c.Listen)
}

func (c Config) validatePublicURL() error {
	if c.PublicURL == "" {
		return nil
	}
	u, err := url.Parse(c.PublicURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("public_url: %q is not an address; write it as https://dashboard.example.com", c.PublicURL)
	}
	if p := strings.TrimRight(u.Path, "/"); p != "" && p != c.base() {
		return fmt.Errorf("public_url: its path %q differs from base_path %q; a proxy must pass the path on unchanged", u.Path, c.BasePath)
	}
	return nil
}

func (c Config) hasTLS() bool { return c.TLS.CertFile != "" }

// base returns the base path without a trailing slash, empty for the root.
func (c Config) base() string { return strings.TrimRight(c.BasePath, "/") }

// secure reports whether browsers reach the dashboard by HTTPS.
func (c Config) secure() bool { return c.hasTLS() || strings.HasPrefix(c.PublicURL, "https://") }

// URL returns the address of a path below the base path, as people can open it. The bound address counts where there is
// no public_url, because the port may have been chosen by the system.
func (c Config) URL(bound net.Addr, path string) string {
	if c.PublicURL != "" {
		u, err := url.Parse(c.PublicURL)
		if err == nil {
			return u.Scheme + "://" + u.Host + c.base() + path
		}
	}
	scheme := "http"
	if c.hasTLS() {
		scheme = "https"
	}
	return scheme + "://" + reachable(bound.String()) + c.base() + path
}

// reachable turns an address that means "every interface" into one that can be opened.
func reachable(hostport string) string {
	host, port, err := net.SplitHostPort(hostport)
	if err != nil {
		return hostport
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

func parseNetwork(s string) (*net.IPNet, error) {
	if ip, err := netip.ParseAddr(s); err == nil {
		s = netip.PrefixFrom(ip, ip.BitLen()).String()
	}
	_, n, err := net.ParseCIDR(s)
	return n, err
}

// allowsHost reports whether a request's Host header may name this dashboard. A page of another site whose name was made to
// point here (DNS rebinding) carries its own name, and so is refused; an address cannot be rebound.
func (c Config) allowsHost(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if _, err := netip.ParseAddr(host); err == nil || host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	if listen, _, err := net.SplitHostPort(c.Listen); err == nil && listen != "" && strings.EqualFold(listen, host) {
		return true
	}
	if u, err := url.Parse(c.PublicURL); err == nil && u.Host != "" && strings.EqualFold(u.Hostname(), host) {
		return true
	}
	for _, allowed := range c.AllowedHosts {
		if strings.EqualFold(allowed, host) {
			return true
		}
	}
	return false
}

// Sessions is how sessions are kept.
func (c Config) Sessions() session.Config {
	return session.Config{Base: c.base(), Secure: c.secure(), Idle: c.SessionIdle, Lifetime: c.SessionLifetime}
}
