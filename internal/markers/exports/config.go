package exports

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/outbound"
	"dedup-dashboard/internal/secret"
)

// Config says where the consumers of a pipeline publish what they count in the format of Prometheus, and which of it counts what.
type Config struct {
	// URLs are endpoints, one per process that counts: each tells of itself alone. In YAML one address or a list.
	URLs addresses `yaml:"url"`
	// DNS is the address of an endpoint whose host leads to every process: to each of its IP addresses, or by its SRV records where it
	// begins with an underscore, as in http://_metrics._tcp.orders.shop.svc/metrics.
	DNS string `yaml:"dns"`
	// QueryURL is the root of a server with the API of Prometheus that scrapes the consumers: Prometheus, VictoriaMetrics, Mimir, Thanos.
	QueryURL string `yaml:"query_url"`

	// Recipe says which series a framework publishes; with custom they are those of Custom. Without a recipe consumers count outcomes.
	Recipe string `yaml:"recipe"`
	Custom Custom `yaml:"custom"`
	// Queues are the names of the queues whose series count; in YAML they are those of the pipeline unless given.
	Queues []string `yaml:"queues"`

	// Metric is the counter of outcomes, dedup_outcomes_total unless configured; OutcomeLabel is the label that holds the
	// outcome, outcome unless configured. The outcomes are those of docs/consumers.md.
	Metric       string `yaml:"metric"`
	OutcomeLabel string `yaml:"outcome_label"`
	// AckMetric and WorkMetric are histograms in seconds with the buckets of docs/consumers.md; empty where there are none.
	AckMetric  string `yaml:"ack_metric"`
	WorkMetric string `yaml:"work_metric"`

	// Labels are what a series must carry to count, so that one endpoint can serve several pipelines.
	Labels map[string]string `yaml:"labels"`

	// Username and Password, or Token, are sent to every address, and Headers beside them, as a tenant's X-Scope-OrgID.
	Username string                   `yaml:"username"`
	Password secret.Secret            `yaml:"password"`
	Token    secret.Secret            `yaml:"bearer_token"`
	Headers  map[string]secret.Secret `yaml:"headers"`
	// CAFile is a PEM file of certificate authorities that are trusted beside those of the system.
	CAFile string `yaml:"ca_file"`
	// Timeout bounds each request with its answer; 0 means 3 s.
	Timeout time.Duration `yaml:"timeout"`
}

// Custom is a recipe of the user's own. Its expressions are sums and differences of counters in the spelling of PromQL.
type Custom struct {
	Handled    string `yaml:"handled"`
	Failed     string `yaml:"failed"`
	Duplicates string `yaml:"duplicates"`
	// Ack and Work name distributions without _bucket, _sum and _count.
	Ack  string `yaml:"ack"`
	Work string `yaml:"work"`
	// Unit is that of the distributions: s, or ms.
	Unit string `yaml:"unit"`
	// QueueLabel holds the name of the queue; empty where only labels tell.
	QueueLabel string `yaml:"queue_label"`
}

// addresses is one address or a list of them.
type addresses []string

// UnmarshalYAML reads one address or a list.
func (a *addresses) UnmarshalYAML(unmarshal func(any) error) error {
	var one string
	if err := unmarshal(&one); err == nil {
		*a = addresses{one}
		return nil
	}
	return unmarshal((*[]string)(a))
}

// customRecipe is the recipe whose expressions the configuration holds.
const customRecipe = "custom"

const (
	defaultTimeout = 3 * time.Second
	maxTimeout     = time.Minute
	// maxScraped is the most endpoints of one pipeline; a round waits for the slowest of them.
	maxScraped = 64
)

func (c Config) withDefaults() Config {
	if c.Metric == "" {
		c.Metric = "dedup_outcomes_total"
	}
	if c.OutcomeLabel == "" {
		c.OutcomeLabel = "outcome"
	}
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	return c
}

// Validate returns everything that is wrong. Its errors never repeat an address, which could hold a password.
func (c Config) Validate() error {
	problems := c.checkPlaces()
	if c.Recipe == "" {
		if c.Custom != (Custom{}) {
			problems = append(problems, errors.New("custom: is of use with recipe: custom alone"))
		}
	} else if c.Metric+c.OutcomeLabel+c.AckMetric+c.WorkMetric != "" {
		problems = append(problems, errors.New("recipe: says which series count; leave metric, outcome_label, ack_metric and work_metric out"))
	}
	if _, err := c.withDefaults().compile(); err != nil {
		problems = append(problems, err)
	}
	if c.Timeout < 0 || c.Timeout > maxTimeout {
		problems = append(problems, fmt.Errorf("timeout: must be between 0s (which means %s) and %s", defaultTimeout, maxTimeout))
	}
	return errors.Join(append(problems, c.checkAccount()...)...)
}

func (c Config) checkPlaces() []error {
	var problems []error
	places := 0
	for _, given := range []bool{len(c.URLs) > 0, c.DNS != "", c.QueryURL != ""} {
		if given {
			places++
		}
	}
	switch {
	case places == 0:
		problems = append(problems, errors.New("url: is missing; give the address that the consumers publish their counters at, e.g. http://orders-1:9102/metrics, "+
			"or query_url with that of a Prometheus server, e.g. http://prometheus:9090"))
	case places > 1:
		problems = append(problems, errors.New("url: give only one of url, dns and query_url; what two of them tell would count twice"))
	}
	if len(c.URLs) > maxScraped {
		problems = append(problems, fmt.Errorf("url: %d addresses are more than %d; name a Prometheus server in query_url instead", len(c.URLs), maxScraped))
	}
	for i, text := range c.URLs {
		if !isAddress(text) {
			problems = append(problems, fmt.Errorf("url[%d]: must be http:// or https:// with a host and without a user, e.g. http://orders-1:9102/metrics", i))
		} else if slices.Contains(c.URLs[:i], text) {
			problems = append(problems, fmt.Errorf("url[%d]: stands twice; what it counts would count twice", i))
		}
	}
	if c.DNS != "" && !isAddress(c.DNS) {
		problems = append(problems, errors.New("dns: must be http:// or https:// with a host and without a user, e.g. http://orders-headless.shop.svc:9102/metrics"))
	}
	if u, err := url.Parse(c.QueryURL); c.QueryURL != "" && (!isAddress(c.QueryURL) || err != nil || u.RawQuery != "" || strings.HasSuffix(strings.TrimRight(u.Path, "/"), "/api/v1")) {
		problems = append(problems, errors.New("query_url: must be http:// or https:// with a host, without a user, a query and /api/v1, which is added to it, e.g. http://prometheus:9090"))
	}
	return problems
}

func isAddress(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil && u.Fragment == ""
}

func (c Config) checkAccount() []error {
	var problems []error
	switch {
	case c.Username != "" && !c.Token.IsZero():
		problems = append(problems, errors.New("bearer_token: give it or a username, not both"))
	case strings.Contains(c.Username, ":"):
		problems = append(problems, errors.New("username: must not contain a colon, which HTTP basic authentication cannot carry"))
	case c.Username == "" && !c.Password.IsZero():
		problems = append(problems, errors.New("username: is missing beside the password"))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
		if strings.EqualFold(name, "Host") || !isToken(name) || strings.ContainsAny(c.Headers[name].Reveal(), "\r\n\x00") {
			problems = append(problems, errors.New("headers: one of them is no header that can be sent"))
		}
	}
	if _, err := outbound.Roots(c.CAFile); err != nil {
		problems = append(problems, fmt.Errorf("ca_file: %w", err))
	}
	return problems
}

// isToken reports whether HTTP allows a name of a header.
func isToken(name string) bool {
	return name != "" && http.CanonicalHeaderKey(name) != "" && strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}

// recipe returns what the configuration names.
func (c Config) recipe() (recipe, error) {
	if c.Recipe != customRecipe {
		if r, ok := recipes[c.Recipe]; ok {
			return r, nil
		}
		known := append(slices.Sorted(maps.Keys(recipes)), customRecipe)
		return recipe{}, fmt.Errorf("recipe: %s is not known; it is one of %s", shown(c.Recipe), strings.Join(known, ", "))
	}
	r := recipe{Framework: "consumers of your own", Handled: c.Custom.Handled, Failed: c.Custom.Failed, Duplicates: c.Custom.Duplicates,
		Ack: c.Custom.Ack, Work: c.Custom.Work, Milliseconds: c.Custom.Unit == "ms"}
	if c.Custom.QueueLabel != "" {
		r.QueueLabels = []string{c.Custom.QueueLabel}
	}
	switch {
	case r.Handled == "":
		return r, errors.New(`custom.handled: is missing; name the counter of handled deliveries, e.g. my_messages_total{result="ok"}`)
	case c.Custom.Unit != "" && c.Custom.Unit != "s" && c.Custom.Unit != "ms":
		return r, fmt.Errorf("custom.unit: %s is neither s nor ms", shown(c.Custom.Unit))
	}
	return r, nil
}
