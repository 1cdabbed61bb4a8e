package broker

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/outbound"
	"dedup-dashboard/internal/secret"
)

const (
	defaultTimeout = 10 * time.Second
	maxTimeout     = 5 * time.Minute
)

// Config says how to reach the management API of one broker with an account that may only watch.
//
// Brokers are reached directly: proxy settings of the environment are ignored, so that credentials of a broker never
// travel through a proxy that was meant for the web.
type Config struct {
	// Name is how people call this broker.
	Name string `yaml:"name"`
	// ManagementURL is the root of the management API without /api, as in http://127.0.0.1:15672; it may have a path
	// where a reverse proxy or management.path_prefix adds one.
	ManagementURL string `yaml:"management_url"`
	// ManagementURLs are those of several nodes of one cluster, in place of ManagementURL: while one does not answer the next is asked.
	ManagementURLs []string `yaml:"management_urls"`
	// Username needs the tag monitoring and a permission row (three times '^$' is enough) in each vhost to be seen.
	Username string        `yaml:"username"`
	Password secret.Secret `yaml:"password"`
	// Timeout bounds each request including its body; 0 means 10 s.
	Timeout time.Duration `yaml:"timeout"`
	// CAFile is a PEM file of certificate authorities that are trusted beside those of the system.
	CAFile string `yaml:"ca_file"`
	// CertFile and KeyFile are the PEM files of a client certificate, which is shown to the management API, the Prometheus endpoints and AMQP.
	CertFile string `yaml:"cert_file"`
	KeyFile  string `yaml:"key_file"`
	// PrometheusURLs are the roots of the endpoints of the plugin rabbitmq_prometheus without /metrics, one for every node: each
	// tells of its own node alone. They give dead letters by reason; without them these are not known.
	PrometheusURLs []string `yaml:"prometheus_urls"`
	// Act is the account for moving messages. Without it the controls of this broker are absent. Watching never uses it.
	Act Act `yaml:"act"`
	// Measure is the account for tracing deliveries; without it that of Act traces.
	Measure Measure `yaml:"measure"`
	// Measurements is on or off, and on where it is empty. Where it is off nothing is ever traced, and no account for it is kept.
	Measurements string `yaml:"measurements"`
	// Log is the account for listening to the broker's log, which tells of ack timeouts. Without it these are not known.
	Log Act `yaml:"log"`
}

// Act says how to reach the broker by AMQP with an account of its own: to move dead letters, or to listen to the log.
type Act struct {
	// AMQPURL has a scheme, a host and perhaps a port, as in amqps://rabbit.example:5671/. The vhost is that of the pipeline.
	AMQPURL string `yaml:"amqp_url"`
	// AMQPURLs are those of several nodes of one cluster, in place of AMQPURL: while one does not answer the next is tried.
	AMQPURLs []string      `yaml:"amqp_urls"`
	Username string        `yaml:"username"`
	Password secret.Secret `yaml:"password"`
}

// Measure says how to trace deliveries with an account of its own.
type Measure struct {
	Act `yaml:",inline"`
	// ManagementURLs are the roots of the management API of all nodes, each of which has to be told to trace; without them they are those that are
	// watched, and a broker with more nodes can only be switched by an operator.
	ManagementURLs []string `yaml:"management_urls"`
}

// IsZero reports whether there is no such account.
func (a Act) IsZero() bool {
	return a.AMQPURL == "" && len(a.AMQPURLs) == 0 && a.Username == "" && a.Password == (secret.Secret{})
}

// Addresses are the AMQP addresses of the account, in the order in which they are tried.
func (a Act) Addresses() []string { return either(a.AMQPURL, a.AMQPURLs) }

// Management returns the roots of the management API, in the order in which they are asked.
func (c Config) Management() []string { return either(c.ManagementURL, c.ManagementURLs) }

// either returns the values of two keys of which one is set: one value, or several.
func either(one string, several []string) []string {
	if one == "" {
		return several
	}
	return []string{one}
}

// checkEither returns what is wrong with two such keys, as check finds it in a value. Errors never repeat a value, which may hold a password.
func checkEither(key, one string, several []string, check func(string) error) error {
	if one != "" && len(several) > 0 {
		return fmt.Errorf("%ss: give either this list or %s, not both", key, key)
	}
	if len(several) == 0 {
		if err := check(one); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		return nil
	}
	return checkList(key+"s", several, check)
}

// checkList returns what is wrong with a list of addresses.
func checkList(key string, all []string, check func(string) error) error {
	var problems []error
	for i, value := range all {
		if err := check(value); err != nil {
			problems = append(problems, fmt.Errorf("%s[%d]: %w", key, i, err))
		} else if slices.Contains(all[:i], value) {
			problems = append(problems, fmt.Errorf("%s[%d]: this node is listed twice", key, i))
		}
	}
	return errors.Join(problems...)
}

// Tracing returns the account that traces, and the management API of each node to be told; false where there is none, or measurements are off.
func (c Config) Tracing() (Measure, bool) {
	m := c.Measure
	if m.Act.IsZero() {
		m.Act = c.Act
	}
	if len(m.ManagementURLs) == 0 {
		m.ManagementURLs = c.Management()
	}
	if c.Measurements == "off" || m.Act.IsZero() {
		return Measure{}, false
	}
	return m, true
}

// validateMeasure returns what is wrong with the settings of measurements.
func (c Config) validateMeasure() error {
	problems := []error{c.Measure.validate("measure")}
	switch c.Measurements {
	case "", "on", "off":
	default:
		problems = append(problems, errors.New("measurements: must be on or off"))
	}
	problems = append(problems, checkList("measure.management_urls", c.Measure.ManagementURLs, checkRoot))
	if len(c.Measure.ManagementURLs) > 0 && c.Measure.Act.IsZero() {
		problems = append(problems, errors.New("measure.amqp_url: the block needs amqp_url, username and password"))
	}
	return errors.Join(problems...)
}

// validate returns what is wrong with a block that is there.
func (a Act) validate(block string) error {
	if a.IsZero() {
		return nil
	}
	if err := checkEither(block+".amqp_url", a.AMQPURL, a.AMQPURLs, checkAMQP); err != nil {
		return err
	}
	if a.Username == "" || a.Password.IsZero() && a.Password.Err() == nil {
		return errors.New(block + ".username: the account needs username and password")
	}
	return nil
}

// checkAMQP returns what is wrong with an AMQP address.
func checkAMQP(text string) error {
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "amqp" && u.Scheme != "amqps") || u.Hostname() == "" || u.User != nil {
		return errors.New("must be amqp:// or amqps:// with a host and without a user, e.g. amqp://127.0.0.1:5672/")
	}
	return nil
}

// Validate returns all problems joined; each message begins with the key that is at fault and says how to fix it.
func (c Config) Validate() error {
	var problems []error
	if c.Name == "" {
		problems = append(problems, errors.New("name: must not be empty"))
	}
	problems = append(problems, checkEither("management_url", c.ManagementURL, c.ManagementURLs, checkRoot))
	if c.Username == "" {
		problems = append(problems, errors.New("username: must not be empty; use an account with the tag monitoring"))
	} else if strings.Contains(c.Username, ":") {
		problems = append(problems, errors.New("username: must not contain a colon, which HTTP basic authentication cannot carry"))
	}
	if c.Password.IsZero() {
		problems = append(problems, errors.New("password: must not be empty; give a value, {env: NAME} or {file: PATH}"))
	}
	if c.Timeout < 0 || c.Timeout > maxTimeout {
		problems = append(problems, fmt.Errorf("timeout: must be between 0s (which means %s) and %s", defaultTimeout, maxTimeout))
	}
	if _, err := c.TLS(); err != nil {
		problems = append(problems, err)
	}
	problems = append(problems, c.validatePrometheus(), c.Act.validate("act"), c.Log.validate("log"), c.validateMeasure())
	return errors.Join(problems...)
}

func (c Config) timeout() time.Duration {
	if c.Timeout == 0 {
		return defaultTimeout
	}
	return c.Timeout
}

// TLS returns how connections to the broker are secured. Errors begin with the key that is at fault.
func (c Config) TLS() (*tls.Config, error) {
	roots, err := outbound.Roots(c.CAFile)
	if errors.Is(err, outbound.ErrNoCertificate) {
		err = fmt.Errorf("%s %w", Quote(c.CAFile), err)
	}
	if err != nil {
		return nil, fmt.Errorf("ca_file: %w", err)
	}
	secured := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	switch {
	case c.CertFile == "" && c.KeyFile == "":
		return secured, nil
	case c.CertFile == "" || c.KeyFile == "":
		return nil, errors.New("cert_file: needs key_file, and key_file needs cert_file")
	}
	pair, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("cert_file: the certificate and its key cannot be read: %w", err)
	}
	secured.Certificates = []tls.Certificate{pair}
	return secured, nil
}

func checkRoot(text string) error {
	_, err := parseRoot(text)
	return err
}

// parseRoot parses a management URL. Its errors never repeat the URL, which may hold a password.
func parseRoot(text string) (*url.URL, error) {
	const want = "must be http:// or https:// with a host, e.g. http://127.0.0.1:15672"
	u, err := url.Parse(text)
	switch {
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "":
		return nil, errors.New(want)
	case u.User != nil:
		return nil, errors.New("must not hold a user or password; use the keys username and password")
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return nil, errors.New("must not have a query or fragment; " + want)
	case strings.HasSuffix(strings.TrimRight(u.Path, "/"), "/api"):
		return nil, errors.New("must not end in /api, which is added to it; " + want)
	}
	return u, nil
}
