package exports

import (
	"bufio"
	"bytes"
	"context"
	"dedup-dashboard/internal/text"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	validation "github.com/prometheus/common/model"
)

const (
	// maxLines bounds the lines of an exposition that are of interest, maxLine one line.
	maxLines = 1 << 20
	maxLine  = 64 << 10
	// maxValue is beyond what a counter comes to.
	maxValue = 1 << 53
	// maxQueues is how many names of queues are remembered for people.
	maxQueues = 20
	// startMetric is when a process began, which Prometheus' own libraries publish.
	startMetric = "process_start_time_seconds"
)

// A reading is what one instance showed at one time.
type reading struct {
	instance string
	at       time.Time
	// start is when its process began in Unix seconds, 0 where it does not tell.
	start float64
	found []found
	// queues are those that series of the recipe name, of this pipeline or not.
	queues []string
}

// A found counter is one of the program, by its series.
type found struct {
	series string
	places []place
	value  float64
}

// add takes a sample into the reading if it is of interest.
func (r *reading) add(p *program, s *sample) {
	if !(s.value >= 0 && s.value < maxValue) { // no counter: negative, infinite, none at all
		return
	}
	if len(p.bound[s.metric]) > 0 {
		if q := p.queueOf(s.labels); q != "" && len(r.queues) < maxQueues && !slices.Contains(r.queues, q) {
			r.queues = append(r.queues, q)
		}
	}
	if places := p.places(s); len(places) > 0 {
		r.found = append(r.found, found{seriesOf(s), places, s.value})
	}
}

// seriesOf identifies a series of an instance.
func seriesOf(s *sample) string {
	var out strings.Builder
	out.WriteString(s.metric)
	for _, name := range slices.Sorted(maps.Keys(s.labels)) {
		out.WriteString("\x01" + name + "\x00" + s.labels[name])
	}
	return out.String()
}

// endpoints are read at once, each process by itself.
type endpoints struct {
	client  *http.Client
	program *program
	urls    []string
	// dns is the address whose host is expanded at each reading; empty where urls are fixed.
	dns     string
	resolve resolver
	timeout time.Duration
}

// A resolver looks names up.
type resolver interface {
	LookupHost(ctx context.Context, host string) ([]string, error)
	LookupSRV(ctx context.Context, service, proto, name string) (string, []*net.SRV, error)
}

// place names the endpoints for people, without what may be a token in a query.
func (e *endpoints) place() string {
	if e.dns != "" {
		return hostOf(e.dns)
	}
	return text.Joined(e.urls, " ", hostOf)
}

// read reads every endpoint. One that cannot be read fails the reading: a sum without it would be too small.
func (e *endpoints) read(ctx context.Context, _ time.Time) ([]reading, error) {
	urls, err := e.expand(ctx)
	if err != nil {
		return nil, &placeError{hostOf(e.dns), err}
	}
	readings, failures := make([]reading, len(urls)), make([]error, len(urls))
	var all sync.WaitGroup
	for i, u := range urls {
		all.Go(func() { readings[i], failures[i] = e.scrape(ctx, u) })
	}
	all.Wait()
	for i, err := range failures {
		if err != nil {
			return nil, &placeError{hostOf(urls[i]), err}
		}
	}
	return readings, nil
}

// A placeError is why something could not be read where.
type placeError struct {
	place string
	err   error
}

func (e *placeError) Error() string { return e.place + ": " + e.err.Error() }
func (e *placeError) Unwrap() error { return e.err }

// expand returns the address of each process, sorted.
func (e *endpoints) expand(ctx context.Context) ([]string, error) {
	if e.dns == "" {
		return e.urls, nil
	}
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	root, err := url.Parse(e.dns)
	if err != nil {
		return nil, errors.New("the address cannot be used")
	}
	hosts, err := e.hosts(ctx, root)
	var missing *net.DNSError
	switch {
	case errors.As(err, &missing) && missing.IsNotFound:
		return nil, errors.New("the name leads to no address; see that the service is headless and has running consumers")
	case err != nil:
		return nil, errors.New("the name cannot be looked up")
	case len(hosts) > maxScraped:
		return nil, fmt.Errorf("the name leads to %d addresses, more than %d; name a Prometheus server in query_url instead", len(hosts), maxScraped)
	}
	slices.Sort(hosts)
	var urls []string
	for _, host := range slices.Compact(hosts) {
		one := *root
		one.Host = host
		urls = append(urls, one.String())
	}
	return urls, nil
}

// hosts are the hosts with ports of a name: of its SRV records where it begins with an underscore, else of its addresses.
func (e *endpoints) hosts(ctx context.Context, root *url.URL) ([]string, error) {
	var out []string
	if strings.HasPrefix(root.Hostname(), "_") {
		_, records, err := e.resolve.LookupSRV(ctx, "", "", root.Hostname())
		for _, r := range records {
			out = append(out, net.JoinHostPort(strings.TrimSuffix(r.Target, "."), strconv.Itoa(int(r.Port))))
		}
		return out, err
	}
	port := root.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[root.Scheme]
	}
	addresses, err := e.resolve.LookupHost(ctx, root.Hostname())
	for _, a := range addresses {
		out = append(out, net.JoinHostPort(a, port))
	}
	return out, err
}

func (e *endpoints) scrape(ctx context.Context, address string) (reading, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return reading{}, errors.New("the address cannot be used")
	}
	request.Header.Set("Accept", "text/plain;version=0.0.4")
	if e.dns != "" { // TLS and virtual hosts know the name, not the address
		if root, err := url.Parse(e.dns); err == nil && !strings.HasPrefix(root.Hostname(), "_") {
			request.Host = root.Host
		}
	}
	begun := time.Now()
	answer, err := e.client.Do(request)
	if err != nil {
		return reading{}, withoutAddress(ctx, e.timeout, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return reading{}, errStatus(answer.StatusCode)
	}
	out := reading{instance: address, at: begun.Add(time.Since(begun) / 2)}
	if err := out.parse(e.program, answer.Body); err != nil {
		return reading{}, withoutAddress(ctx, e.timeout, err)
	}
	return out, nil
}

// parse picks the series of the program out of an exposition. Lines of other metrics are passed over unread.
func (r *reading) parse(p *program, body io.Reader) error {
	lines, err := p.pick(body)
	if err != nil {
		return err
	}
	parser := expfmt.NewTextParser(validation.UTF8Validation)
	families, err := parser.TextToMetricFamilies(lines)
	if err != nil {
		// The parser quotes what it could not read, as it came.
		return fmt.Errorf("the answer is not in the text format of Prometheus: %s", shown(err.Error()))
	}
	r.start = startOf(families[startMetric])
	for name, family := range families {
		for _, m := range family.GetMetric() {
			flatten(name, m, func(s sample) { r.add(p, &s) })
		}
	}
	return nil
}

// pick copies the lines of the program's metrics, with the TYPE of each.
func (p *program) pick(body io.Reader) (*bytes.Buffer, error) {
	wanted := map[string]bool{startMetric: true}
	for name := range p.bound {
		wanted[name] = true
		for _, suffix := range []part{partBucket, partSum, partCount} {
			if base, ok := strings.CutSuffix(name, string(suffix)); ok {
				wanted["# TYPE "+base] = true
			}
		}
		wanted["# TYPE "+name] = true
	}
	var lines bytes.Buffer
	scan := bufio.NewScanner(body)
	scan.Buffer(make([]byte, 0, 4<<10), maxLine)
	for scan.Scan() {
		if !wanted[nameOf(scan.Text())] {
			continue
		}
		lines.Write(scan.Bytes())
		lines.WriteByte('\n')
		if lines.Len() > maxLines {
			return nil, fmt.Errorf("more than %d KiB of the configured metrics; narrow them by labels", maxLines>>10)
		}
	}
	if err := scan.Err(); err != nil {
		return nil, fmt.Errorf("the answer cannot be read: %w", err)
	}
	return &lines, nil
}

// nameOf is the name of the metric of a line, with "# TYPE " before that of such a line; empty for other comments.
func nameOf(line string) string {
	rest, isType := strings.CutPrefix(line, "# TYPE ")
	if !isType && strings.HasPrefix(line, "#") {
		return ""
	}
	if quoted, ok := strings.CutPrefix(rest, `{"`); ok { // a name that is none of the old ones stands among the labels
		name, _, _ := strings.Cut(quoted, `"`)
		return name
	}
	if end := strings.IndexAny(rest, "{ \t"); end >= 0 {
		rest = rest[:end]
	}
	if isType {
		return "# TYPE " + strings.Trim(rest, `"`)
	}
	return rest
}

// startOf is the time in Unix seconds at which the process began, 0 where it does not tell.
func startOf(family *dto.MetricFamily) float64 {
	for _, m := range family.GetMetric() {
		if v := m.GetGauge().GetValue() + m.GetUntyped().GetValue(); v > 0 && v < math.MaxInt32*4 {
			return v
		}
	}
	return 0
}

// flatten hands on what a metric counts, each as the series that it is in PromQL.
func flatten(name string, m *dto.Metric, take func(sample)) {
	labels := make(map[string]string, len(m.GetLabel()))
	for _, pair := range m.GetLabel() {
		labels[pair.GetName()] = pair.GetValue()
	}
	one := func(part part, value float64) { take(sample{name + string(part), labels, value}) }
	switch h, s := m.GetHistogram(), m.GetSummary(); {
	case h != nil:
		for _, b := range h.GetBucket() {
			with := maps.Clone(labels)
			with["le"] = strconv.FormatFloat(b.GetUpperBound(), 'g', -1, 64)
			take(sample{name + string(partBucket), with, float64(b.GetCumulativeCount())})
		}
		one(partSum, h.GetSampleSum())
		one(partCount, float64(h.GetSampleCount()))
	case s != nil:
		one(partSum, s.GetSampleSum())
		one(partCount, float64(s.GetSampleCount()))
	case m.GetCounter() != nil:
		one("", m.GetCounter().GetValue())
	case m.GetUntyped() != nil:
		one("", m.GetUntyped().GetValue())
	}
}
