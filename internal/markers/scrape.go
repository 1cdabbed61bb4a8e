package markers

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	validation "github.com/prometheus/common/model"

	"dedup-dashboard/internal/dedup"
)

const (
	// maxScrapeBody bounds one answer, maxScrapeLines the lines of it that are of interest.
	maxScrapeBody  = 16 << 20
	maxScrapeLines = 256 << 10
	maxScrapeLine  = 64 << 10
	// maxScrapedSum bounds the seconds of a histogram, far beyond what int64 microseconds hold with room to add.
	maxScrapedSum = 1e11
)

// A Scrape reads the outcomes that the consumers of one pipeline publish in the text format of Prometheus, and adds up those of
// all its endpoints. It is safe for concurrent use.
type Scrape struct {
	name   string
	config ScrapeConfig
	client *http.Client

	mu      sync.Mutex
	targets map[string]*scrapeTarget
}

// OpenScrape returns the reader of one pipeline's endpoints under a name. It does not connect.
func OpenScrape(name string, cfg ScrapeConfig) (*Scrape, error) {
	cfg = cfg.withDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	s := &Scrape{name: name, config: cfg, targets: map[string]*scrapeTarget{}}
	s.client = &http.Client{Timeout: answerTimeout, CheckRedirect: func(*http.Request, []*http.Request) error {
		return errors.New("it redirects, which is not followed; configure the address that it leads to")
	}}
	for _, u := range cfg.URLs {
		s.targets[u] = newScrapeTarget()
	}
	return s, nil
}

// Name returns the name that it was opened with.
func (s *Scrape) Name() string { return s.name }

// Place names every endpoint, without what may be a token in its query.
func (s *Scrape) Place() string {
	var hosts []string
	for _, u := range s.config.URLs {
		hosts = append(hosts, hostOf(u))
	}
	return strings.Join(hosts, " ")
}

// Close ends idle connections.
func (s *Scrape) Close() error {
	s.client.CloseIdleConnections()
	return nil
}

// Reported reads every endpoint at once. One that cannot be read fails the reading: a sum without it would be too small.
// Counts are those since this program first read each endpoint; the pipeline's name is not needed.
func (s *Scrape) Reported(ctx context.Context, _ string) (dedup.Reported, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := time.Now()
	readings, failures := make([]exposition, len(s.config.URLs)), make([]error, len(s.config.URLs))
	var reading sync.WaitGroup
	for i, u := range s.config.URLs {
		reading.Go(func() { readings[i], failures[i] = s.read(ctx, u) })
	}
	reading.Wait()
	for i, err := range failures {
		if err == nil {
			err = s.targets[s.config.URLs[i]].refuse(readings[i], s.config.Metric)
		}
		if err != nil {
			return dedup.Reported{At: at}, &dedup.Error{Kind: dedup.Unavailable, Public: "counters of the consumers at " + hostOf(s.config.URLs[i]) + ": " + err.Error(), Err: err}
		}
	}
	total := totals{}
	for i, u := range s.config.URLs {
		s.targets[u].take(readings[i], at)
		for field, value := range s.targets[u].counted {
			total[field] += value
		}
	}
	return total.reported(at), nil
}

// hostOf names an endpoint by its host and path: a query can hold a token.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "an endpoint"
	}
	return printable(u.Host + u.Path)
}

func (s *Scrape) read(ctx context.Context, address string) (exposition, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return exposition{}, errors.New("the address cannot be used")
	}
	request.Header.Set("User-Agent", "dedup-dashboard")
	request.Header.Set("Accept", "text/plain;version=0.0.4")
	answer, err := s.client.Do(request)
	if err != nil {
		return exposition{}, withoutAddress(ctx, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return exposition{}, fmt.Errorf("it answers %d %s", answer.StatusCode, http.StatusText(answer.StatusCode))
	}
	// One byte more than allowed: a number that is cut in two would be read as a smaller one.
	body := &io.LimitedReader{R: answer.Body, N: maxScrapeBody + 1}
	out, err := s.config.parse(body)
	if err == nil && body.N <= 0 {
		return exposition{}, fmt.Errorf("it answers more than %d MiB", maxScrapeBody>>20)
	}
	return out, err
}

// withoutAddress words a failed request without its address, which can hold a token.
func withoutAddress(ctx context.Context, err error) error {
	var failed *url.Error
	if !errors.As(err, &failed) {
		return err
	}
	if failed.Timeout() || ctx.Err() != nil {
		return fmt.Errorf("no answer within %s", answerTimeout)
	}
	return failed.Err
}

// parse picks the series of the configured metrics and labels out of an exposition. Lines of other metrics are passed over unread.
func (c ScrapeConfig) parse(body io.Reader) (exposition, error) {
	var lines bytes.Buffer
	scan := bufio.NewScanner(body)
	scan.Buffer(make([]byte, 0, 4<<10), maxScrapeLine)
	for scan.Scan() {
		if !c.concerns(scan.Text()) {
			continue
		}
		lines.Write(scan.Bytes())
		lines.WriteByte('\n')
		if lines.Len() > maxScrapeLines {
			return exposition{}, fmt.Errorf("more than %d KiB of the configured metrics; narrow them by labels", maxScrapeLines>>10)
		}
	}
	if err := scan.Err(); err != nil {
		return exposition{}, fmt.Errorf("the answer cannot be read: %w", err)
	}
	parser := expfmt.NewTextParser(validation.UTF8Validation)
	families, err := parser.TextToMetricFamilies(&lines)
	if err != nil {
		// The parser quotes what it could not read, as it came.
		return exposition{}, fmt.Errorf("the answer is not in the text format of Prometheus: %s", printable(err.Error()))
	}
	out := exposition{series: scraped{}, start: startOf(families[startMetric])}
	c.outcomes(families[c.Metric], out.series)
	c.histogram(families[c.AckMetric], "ack", out.series)
	c.histogram(families[c.WorkMetric], "work", out.series)
	return out, nil
}

// concerns tells whether a line is of a configured metric, its TYPE included.
func (c ScrapeConfig) concerns(line string) bool {
	rest, isType := strings.CutPrefix(line, "# TYPE ")
	if !isType && strings.HasPrefix(line, "#") {
		return false
	}
	end := strings.IndexAny(rest, "{ \t")
	if end < 0 {
		return false
	}
	name := rest[:end]
	if name == c.Metric || name == startMetric {
		return true
	}
	for _, suffix := range []string{"", "_bucket", "_sum", "_count"} {
		if base, ok := strings.CutSuffix(name, suffix); ok && base != "" && (base == c.AckMetric || base == c.WorkMetric) {
			return true
		}
	}
	return false
}

// startMetric is when a process began, which Prometheus' own libraries publish.
const startMetric = "process_start_time_seconds"

// startOf is the time in Unix seconds at which the process began, 0 where it does not tell.
func startOf(family *dto.MetricFamily) float64 {
	for _, m := range family.GetMetric() {
		if v := m.GetGauge().GetValue() + m.GetUntyped().GetValue(); v > 0 && v < math.MaxInt32*4 {
			return v
		}
	}
	return 0
}

// matches tells whether a series carries the configured labels.
func (c ScrapeConfig) matches(m *dto.Metric) bool {
	for name, value := range c.Labels {
		if labelOf(m, name) != value {
			return false
		}
	}
	return true
}

func labelOf(m *dto.Metric, name string) string {
	for _, pair := range m.GetLabel() {
		if pair.GetName() == name {
			return pair.GetValue()
		}
	}
	return ""
}

// outcomes adds the outcomes of docs/consumers.md; others are of no use here.
func (c ScrapeConfig) outcomes(family *dto.MetricFamily, into scraped) {
	known := dedup.ReportedOutcomes()
	for _, m := range family.GetMetric() {
		outcome := labelOf(m, c.OutcomeLabel)
		if value, ok := counterOf(m); ok && c.matches(m) && slices.Contains(known, outcome) {
			into[seriesOf(m)] = point{field: outcome, value: value}
		}
	}
}

// counterOf is the value of a counter, false for what is none: a negative number, infinity.
func counterOf(m *dto.Metric) (float64, bool) {
	value := math.NaN()
	switch {
	case m.GetCounter() != nil:
		value = m.GetCounter().GetValue()
	case m.GetUntyped() != nil:
		value = m.GetUntyped().GetValue()
	}
	return value, value >= 0 && value < math.MaxInt64
}

// histogram adds a distribution by the fields of the Redis contract. One with other buckets is left out whole.
func (c ScrapeConfig) histogram(family *dto.MetricFamily, what string, into scraped) {
	bounds := dedup.LatencyBounds()
	for _, m := range family.GetMetric() {
		h := m.GetHistogram()
		if h == nil || !c.matches(m) || len(h.GetBucket()) != len(bounds) || !(h.GetSampleSum() >= 0 && h.GetSampleSum() < maxScrapedSum) {
			continue
		}
		series, before, fits := seriesOf(m)+what, 0.0, true
		parts := scraped{}
		for i, b := range h.GetBucket() {
			cumulated := float64(b.GetCumulativeCount())
			fits = fits && b.GetUpperBound() == bounds[i] && cumulated >= before
			field := bucketField(what, bounds[i])
			parts[series+field] = point{field: field, value: cumulated - before}
			before = cumulated
		}
		if field := what + "_sum_us"; fits {
			parts[series+field] = point{field: field, value: h.GetSampleSum() * 1e6}
			maps.Copy(into, parts)
		}
	}
}

// seriesOf identifies a series of an endpoint by its labels.
func seriesOf(m *dto.Metric) string {
	parts := make([]string, 0, len(m.GetLabel()))
	for _, pair := range m.GetLabel() {
		parts = append(parts, pair.GetName()+"\x00"+pair.GetValue())
	}
	slices.Sort(parts)
	return strings.Join(parts, "\x01") + "\x02"
}
