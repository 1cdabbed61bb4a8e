package notify

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"

	"dedup-dashboard/internal/secret"
)

const (
	defaultTimeout = 10 * time.Second
	maxTimeout     = time.Minute
)

// Config says how to reach the receiver of one channel. Which keys mean something depends on the type; docs/alerts.md lists them.
type Config struct {
	// Name is how routes and pages call the channel, Type what it speaks: one of Types.
	Name string `yaml:"name"`
	Type string `yaml:"type"`
	// URL is where a webhook, Slack or DingTalk takes messages. It is a secret, because a token is part of it.
	URL secret.Secret `yaml:"url"`
	// URLs are the roots of all Alertmanagers of a cluster, without /api/v2: each must be told.
	URLs []secret.Secret `yaml:"urls"`
	// Token is sent as a bearer token.
	Token secret.Secret `yaml:"token"`
	// Secret signs what is sent: of a webhook its body, of DingTalk the address.
	Secret secret.Secret `yaml:"secret"`
	// Username and Password are for basic authentication at Alertmanager, or for the mail server.
	Username string        `yaml:"username"`
	Password secret.Secret `yaml:"password"`
	// SMTP is the mail server; From and To are addresses, with or without a name: Shop <alerts@example.org>.
	SMTP SMTP     `yaml:"smtp"`
	From string   `yaml:"from"`
	To   []string `yaml:"to"`
	// EndsAfter is for how long Alertmanager takes an alert for firing without hearing of it again, as when we are down; 0 means 9 h.
	EndsAfter time.Duration `yaml:"ends_after"`
	// Timeout bounds one attempt; 0 means 10 s.
	Timeout time.Duration `yaml:"timeout"`
	// CAFile is a PEM file of certificate authorities that are trusted beside those of the system.
	CAFile string `yaml:"ca_file"`
	// Proxy is the address of a proxy (http, https or socks5). The settings of the environment are ignored, so that a token never travels
	// through a proxy that was meant for something else.
	Proxy secret.Secret `yaml:"proxy"`
}

// SMTP says where the mail server is and how the connection to it is encrypted.
type SMTP struct {
	Host string `yaml:"host"`
	// Port is 465 with implicit TLS and 587 otherwise, unless configured.
	Port int `yaml:"port"`
	// TLS is starttls (must be encrypted, the default), opportunistic (if the server can), implicit (from the first byte) or none.
	TLS string `yaml:"tls"`
}

// problems are what is wrong with a configuration; each begins with the key that is at fault.
type problems []error

func (p *problems) add(format string, args ...any) { *p = append(*p, fmt.Errorf(format, args...)) }

// Validate returns all problems joined; each message begins with the key that is at fault and says how to fix it. None repeats a secret.
func (c Config) Validate() error {
	var p problems
	if c.Name == "" {
		p.add("name: must not be empty")
	}
	k, ok := kinds()[c.Type]
	if !ok {
		p.add("type: must be one of %s", strings.Join(Types(), ", "))
		return errors.Join(p...)
	}
	for _, key := range c.set() {
		if !slices.Contains(k.keys, key) {
			p.add("%s: means nothing to a channel of type %s; remove it", key, c.Type)
		}
	}
	k.check(c, &p)
	if c.Timeout < 0 || c.Timeout > maxTimeout {
		p.add("timeout: must be between 0s (which means %s) and %s", defaultTimeout, maxTimeout)
	}
	c.checkWay(&p)
	return errors.Join(p...)
}

// checkWay checks the way to the receiver: whom to trust, through which proxy, and whether the secrets are fit for it.
func (c Config) checkWay(p *problems) {
	if _, err := c.roots(); err != nil {
		p.add("ca_file: %w", err)
	}
	if _, err := c.proxy(); err != nil {
		p.add("proxy: %w", err)
	}
	c.unfit(p)
}

// set returns those keys with a value that not every type reads.
func (c Config) set() []string {
	var keys []string
	for field, v := range reflect.ValueOf(c).Fields() {
		key := field.Tag.Get("yaml")
		everyType := slices.Contains([]string{"name", "type", "timeout", "ca_file"}, key)
		if empty := v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0; !everyType && !empty {
			keys = append(keys, key)
		}
	}
	return keys
}

// given tells whether a secret was written, whether or not it could be read.
func given(s secret.Secret) bool { return !s.IsZero() || s.Err() != nil }

// unfit notes why secrets could not be read from their environment variables or files, and which hold what no address or header can: it
// came with them by mistake, and would be found with the first message only.
func (c Config) unfit(p *problems) {
	unread := func(key string, s secret.Secret) {
		if s.Err() != nil {
			p.add("%s: %w", key, s.Err())
		}
	}
	add := func(key string, s secret.Secret) {
		unread(key, s)
		if why := stray(s); why != nil {
			p.add("%s: %w", key, why)
		}
	}
	add("url", c.URL)
	for i, u := range c.URLs {
		add(fmt.Sprintf("urls[%d]", i), u)
	}
	add("token", c.Token)
	add("secret", c.Secret)
	unread("password", c.Password)
	unread("proxy", c.Proxy)
}

// stray says what is in a secret that cannot be part of it. It never repeats the secret.
func stray(s secret.Secret) error {
	switch text := s.Reveal(); {
	case strings.TrimSpace(text) != text:
		return errors.New("begins or ends with a space or a line break; remove it")
	case strings.ContainsFunc(text, unicode.IsControl):
		return errors.New("holds a line break or another control character; remove it")
	}
	return nil
}

// Standing returns after which time all that stands must be told again to a receiver that forgets it, and for how long that believes
// what it was told; zero for one that does not forget.
func (c Config) Standing() (every, believed time.Duration) {
	if c.Type != "alertmanager" {
		return 0, 0
	}
	return sayAgain, c.endsAfter()
}

func (c Config) endsAfter() time.Duration { return cmp.Or(c.EndsAfter, defaultEndsAfter) }

func (c Config) timeout() time.Duration { return cmp.Or(c.Timeout, defaultTimeout) }

// roots returns the system's certificate authorities with those of CAFile, or nil, which means the system's.
func (c Config) roots() (*x509.CertPool, error) {
	if c.CAFile == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(c.CAFile)
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, errors.New("holds no certificate in PEM form")
	}
	return pool, nil
}

// proxy returns the address of the proxy, nil where none is configured.
func (c Config) proxy() (*url.URL, error) {
	if c.Proxy.IsZero() {
		return nil, nil
	}
	u, err := url.Parse(c.Proxy.Reveal())
	if err != nil || !slices.Contains([]string{"http", "https", "socks5"}, u.Scheme) || u.Hostname() == "" {
		return nil, errors.New("must be http://, https:// or socks5:// with a host, e.g. http://proxy.example:3128")
	}
	return u, nil
}

// checkURL checks an address. What it says never repeats it.
func checkURL(p *problems, key string, s secret.Secret, example string) {
	if s.Err() != nil || stray(s) != nil {
		return // unfit tells
	}
	if s.IsZero() {
		p.add("%s: is missing; give an address as a value, {env: NAME} or {file: PATH}, e.g. %s", key, example)
		return
	}
	u, err := parseURL(s)
	if err != nil {
		p.add("%s: %w, e.g. %s", key, err, example)
		return
	}
	// Through a proxy it would not be us who connects to it.
	if ip, err := netip.ParseAddr(strings.TrimSuffix(u.Hostname(), ".")); err == nil && linkLocal(ip) {
		p.add("%s: is a link-local address, where no receiver is; give the receiver's own, e.g. %s", key, example)
	}
}

// parseURL parses the address of a receiver. Its error never repeats it.
func parseURL(s secret.Secret) (*url.URL, error) {
	u, err := url.Parse(s.Reveal())
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return nil, errors.New("must be http:// or https:// with a host")
	case u.User != nil:
		return nil, errors.New("must not hold a user or password")
	case u.Fragment != "":
		return nil, errors.New("must not have a fragment (#)")
	}
	return u, nil
}
