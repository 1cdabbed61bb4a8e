package markers

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
)

// ScrapeConfig says where the consumers of a pipeline publish their outcomes in the text format of Prometheus.
type ScrapeConfig struct {
	// URLs are the endpoints, one per process that counts: each tells of itself alone. In YAML one address or a list.
	URLs addresses `yaml:"url"`
	// Metric is the counter of outcomes, dedup_outcomes_total unless configured; OutcomeLabel is the label that holds the
	// outcome, outcome unless configured. The outcomes are those of docs/consumers.md.
	Metric       string `yaml:"metric"`
	OutcomeLabel string `yaml:"outcome_label"`
	// AckMetric and WorkMetric are histograms in seconds with the buckets of docs/consumers.md; empty where there are none.
	AckMetric  string `yaml:"ack_metric"`
	WorkMetric string `yaml:"work_metric"`
	// Labels are what a series must carry to count, so that one endpoint can serve several pipelines.
	Labels map[string]string `yaml:"labels"`
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

func (c ScrapeConfig) withDefaults() ScrapeConfig {
	if c.Metric == "" {
		c.Metric = "dedup_outcomes_total"
	}
	if c.OutcomeLabel == "" {
		c.OutcomeLabel = "outcome"
	}
	return c
}

// maxScraped is the most endpoints of one pipeline; a round waits for the slowest of them.
const maxScraped = 64

// Validate returns everything that is wrong. Its errors never repeat an address, which could hold a password.
func (c ScrapeConfig) Validate() error {
	var problems []error
	if len(c.URLs) == 0 {
		problems = append(problems, errors.New("url: is missing; give the address that the consumers publish their counters at, e.g. http://orders-1:9102/metrics"))
	}
	if len(c.URLs) > maxScraped {
		problems = append(problems, fmt.Errorf("url: %d addresses are more than %d; let the consumers count in Redis instead (docs/consumers.md)", len(c.URLs), maxScraped))
	}
	for i, text := range c.URLs {
		u, err := url.Parse(text)
		switch {
		case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Fragment != "":
			problems = append(problems, fmt.Errorf("url[%d]: must be http:// or https:// with a host and without a user, e.g. http://orders-1:9102/metrics", i))
		case slices.Contains(c.URLs[:i], text):
			problems = append(problems, fmt.Errorf("url[%d]: stands twice; what it counts would count twice", i))
		}
	}
	return errors.Join(problems...)
}
