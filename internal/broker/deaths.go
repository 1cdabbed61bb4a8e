package broker

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/outbound"
)

const (
	// deathsTimeout bounds the reading of all Prometheus endpoints of a broker, which a sample waits for.
	deathsTimeout = 2 * time.Second
	// maxDeathLines bounds the lines of an answer that are of interest: two queue types times three strategies, with slack.
	maxDeathLines = 64 << 10
	// maxMetricLine bounds a line.
	maxMetricLine = 64 << 10
	globalPrefix  = "rabbitmq_global_messages_"
	deathsPrefix  = globalPrefix + "dead_lettered_"
	deathsSuffix  = "_total"
)

// parsePrometheusURL parses the root of a Prometheus endpoint. Its errors never repeat the URL.
func parsePrometheusURL(text string) (*url.URL, error) {
	const want = "must be http:// or https:// with a host, e.g. http://127.0.0.1:15692"
	u, err := url.Parse(text)
	switch {
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "":
		return nil, errors.New(want)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return nil, errors.New("must not hold a user, a query or a fragment; " + want)
	case strings.HasSuffix(strings.TrimRight(u.Path, "/"), "/metrics"):
		return nil, errors.New("must not end in /metrics, which is added to it; " + want)
	}
	return u, nil
}

// validatePrometheus returns what is wrong with the endpoints.
func (c Config) validatePrometheus() error {
	var problems []error
	seen := make(map[string]bool)
	for i, text := range c.PrometheusURLs {
		u, err := parsePrometheusURL(text)
		switch {
		case err != nil:
			problems = append(problems, fmt.Errorf("prometheus_urls[%d]: %w", i, err))
		case seen[u.Host]:
			problems = append(problems, fmt.Errorf("prometheus_urls[%d]: this node is listed twice; its dead letters would count twice", i))
		default:
			seen[u.Host] = true
		}
	}
	return errors.Join(problems...)
}

// prometheus parses the endpoints.
func (c Config) prometheus() (roots []*url.URL, err error) {
	for _, text := range c.PrometheusURLs {
		u, err := parsePrometheusURL(text)
		if err != nil {
			return nil, fmt.Errorf("broker %s: prometheus_urls: %w", c.Name, err)
		}
		roots = append(roots, u)
	}
	return roots, nil
}

// Prometheus returns the roots of the Prometheus endpoints, and an HTTP client of their own to read them with.
func (c Config) Prometheus() (*http.Client, []*url.URL, error) {
	secured, err := c.TLS()
	if err != nil {
		return nil, nil, fmt.Errorf("broker %s: %w", c.Name, err)
	}
	roots, err := c.prometheus()
	return newHTTP(secured), roots, err
}

// A scraper reads the Prometheus endpoints of a broker's nodes.
type scraper struct {
	http *http.Client
	// roots are the endpoints, empty when none is configured.
	roots []*url.URL
	// timeout bounds the reading of all of them, and limit the answer of each.
	timeout time.Duration
	limit   int64
}

// scrape reads what each node counts by itself, all nodes at once: how many messages died, and its message totals. Both are nil
// where no endpoint is configured. A node that does not answer says why, and fails nothing else.
func (s *scraper) scrape(ctx context.Context) ([]dedup.NodeDeaths, []dedup.NodeTotals) {
	if len(s.roots) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	deaths, totals := make([]dedup.NodeDeaths, len(s.roots)), make([]dedup.NodeTotals, len(s.roots))
	var reading sync.WaitGroup
	for i, root := range s.roots {
		reading.Go(func() {
			deaths[i], totals[i] = dedup.NodeDeaths{URL: root.String()}, dedup.NodeTotals{URL: root.String()}
			lines, err := s.nodeCounters(ctx, root)
			if err != nil {
				deaths[i].Err = s.failure(ctx, err)
				totals[i].Err = deaths[i].Err
				return
			}
			if deaths[i].Counts, err = readDeaths(lines[0]); err != nil {
				deaths[i].Err = s.failure(ctx, err)
			}
			if err := readTotals(lines[1], lines[2], &totals[i]); err != nil {
				totals[i].Err = err.Error()
			}
		})
	}
	reading.Wait()
	return deaths, totals
}

// failure says why an endpoint could not be read.
func (s *scraper) failure(ctx context.Context, err error) string {
	if ctx.Err() != nil || IsTimeout(err) {
		return fmt.Sprintf("no answer within %s", s.timeout)
	}
	var failed *url.Error
	if errors.As(err, &failed) {
		err = failed.Err
	}
	return err.Error()
}

// nodeCounters reads the lines of one node's counters of dead letters, of acked messages and of routed ones. The endpoint asks for no
// account, and none is sent.
func (s *scraper) nodeCounters(ctx context.Context, root *url.URL) ([][]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, root.JoinPath("metrics").String(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", outbound.UserAgent)
	request.Header.Set("Accept", "text/plain;version=0.0.4")
	answer, err := s.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answers %d %s; see that the plugin rabbitmq_prometheus is enabled there", answer.StatusCode, http.StatusText(answer.StatusCode))
	}
	return pickLines(outbound.Limited(answer.Body, s.limit), deathsPrefix, acknowledgedTotal, routedTotal)
}

// pickLines picks the lines of metrics with these prefixes out of a Prometheus exposition, those of each apart, so that one that
// cannot be read spoils no other. Lines of other metrics are passed over unread.
func pickLines(body io.Reader, prefixes ...string) ([][]byte, error) {
	lines, size := make([][]byte, len(prefixes)), 0
	scan := bufio.NewScanner(body)
	scan.Buffer(make([]byte, 0, 4<<10), maxMetricLine)
	for scan.Scan() {
		i := slices.IndexFunc(prefixes, func(prefix string) bool { return bytes.HasPrefix(scan.Bytes(), []byte(prefix)) })
		if i < 0 {
			continue
		}
		lines[i] = append(append(lines[i], scan.Bytes()...), '\n')
		if size += len(scan.Bytes()) + 1; size > maxDeathLines {
			return nil, errors.New("the answer has too many counters of messages")
		}
	}
	if err := scan.Err(); err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	return lines, nil
}

// families parses the picked lines of an exposition.
func families(lines []byte) (map[string]*dto.MetricFamily, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(bytes.NewReader(lines))
}

// readDeaths reads the counters of dead-lettered messages out of their lines, and sums them over queue types.
// RabbitMQ has these counters since 3.10, each from the start of the node.
func readDeaths(lines []byte) (map[dedup.DeathKey]int64, error) {
	families, err := families(lines)
	if err != nil {
		return nil, fmt.Errorf("the counters of dead letters cannot be read: %w", err)
	}
	counts := make(map[dedup.DeathKey]int64)
	for name, family := range families {
		reason := strings.TrimSuffix(strings.TrimPrefix(name, deathsPrefix), deathsSuffix)
		for _, metric := range family.GetMetric() {
			if value, ok := wholeCount(metric); ok && reason != "confirmed" {
				counts[dedup.DeathKey{Reason: reason, Strategy: label(metric, "dead_letter_strategy")}] += value
			}
		}
	}
	if len(counts) == 0 {
		return nil, errors.New("it has no counters of dead letters; they come with RabbitMQ 3.10 and its plugin rabbitmq_prometheus")
	}
	return counts, nil
}

// wholeCount is the value of a counter; false for what counts nothing.
func wholeCount(metric *dto.Metric) (int64, bool) {
	value := metric.GetUntyped().GetValue()
	if metric.GetUntyped() == nil || value < 0 || value != math.Trunc(value) || value >= math.MaxInt64 {
		return 0, false
	}
	return int64(value), true
}

func label(metric *dto.Metric, name string) string {
	for _, pair := range metric.GetLabel() {
		if pair.GetName() == name {
			return pair.GetValue()
		}
	}
	return ""
}
