package exports

import (
	"context"
	"dedup-dashboard/internal/text"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/api"
	promapi "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
)

const (
	// The span of raw samples that one query asks for: since the last one and slowScrape more, for an instance that is scraped so seldom.
	slowScrape = 2 * time.Minute
	firstSpan  = 5 * time.Minute
	maxSpan    = 15 * time.Minute
	maxSeries  = 20_000
)

// A server is one with the API of Prometheus. It is asked for raw samples with their times, never for increase() or rate(), which
// extrapolate: what counters gained is counted here.
type server struct {
	api     promapi.API
	program *program
	address string
	timeout time.Duration
}

func newServer(client *http.Client, p *program, c Config) (*server, error) {
	asker, err := api.NewClient(api.Config{Address: c.QueryURL, Client: client})
	if err != nil {
		return nil, errors.New("query_url: cannot be used")
	}
	return &server{api: promapi.NewAPI(asker), program: p, address: c.QueryURL, timeout: c.Timeout}, nil
}

func (s *server) place() string { return hostOf(s.address) }

// read returns what each instance showed at each scrape since a time, zero before the first reading, in time order.
func (s *server) read(ctx context.Context, since time.Time) ([]reading, error) {
	span := firstSpan
	if !since.IsZero() {
		span = min(time.Since(since)+slowScrape, maxSpan)
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	value, warnings, err := s.query(ctx, s.program.query(span))
	if err != nil {
		return nil, &placeError{s.place(), s.plainError(ctx, err)}
	}
	if len(warnings) > 0 { // as of a part of a cluster that did not answer: a sum without it would be too small
		return nil, &placeError{s.place(), fmt.Errorf("it answers with a warning: %s", shown(warnings[0]))}
	}
	matrix, ok := value.(model.Matrix)
	if !ok {
		return nil, &placeError{s.place(), errors.New("it does not answer with raw samples, as Prometheus does")}
	}
	if len(matrix) > maxSeries {
		return nil, &placeError{s.place(), fmt.Errorf("it has more than %d series of the recipe; narrow them by labels", maxSeries)}
	}
	if len(matrix) == 0 {
		return s.others(ctx), nil
	}
	return s.program.readings(matrix), nil
}

// others tells which queues the series of the recipe are of, when none is of the pipeline's: people see what to configure.
func (s *server) others(ctx context.Context) []reading {
	labels := s.program.recipe.QueueLabels
	if len(labels) == 0 {
		return nil
	}
	value, _, err := s.query(ctx, fmt.Sprintf("count by (%s) (%s)", strings.Join(labels, ","), s.program.selector(false)))
	vector, ok := value.(model.Vector)
	if err != nil || !ok {
		return nil
	}
	out := reading{}
	for _, v := range vector {
		for _, label := range labels {
			if q := string(v.Metric[model.LabelName(label)]); q != "" && len(out.queues) < maxQueues {
				out.queues = append(out.queues, q)
			}
		}
	}
	return []reading{out}
}

func (s *server) query(ctx context.Context, text string) (model.Value, promapi.Warnings, error) {
	value, warnings, _, err := s.api.Query(ctx, text, time.Time{})
	return value, warnings, err
}

// plainError says why the server could not be read, without its address and with what it said made harmless.
func (s *server) plainError(ctx context.Context, err error) error {
	var refused *promapi.Error
	if !errors.As(err, &refused) {
		return withoutAddress(ctx, s.timeout, err)
	}
	switch refused.Type {
	case promapi.ErrTimeout, promapi.ErrCanceled:
		return fmt.Errorf("no answer within %s", s.timeout)
	case promapi.ErrClient, promapi.ErrServer, promapi.ErrBadResponse:
		return fmt.Errorf("it does not answer as Prometheus does: %s", shown(refused.Msg))
	}
	return fmt.Errorf("it refuses the query: %s", shown(refused.Msg))
}

// query asks for the raw samples of a span.
func (p *program) query(span time.Duration) string {
	return fmt.Sprintf("%s[%ds]", p.selector(true), int(span.Seconds()))
}

// selector names the series of the program, those of other queues too unless only the pipeline's own are asked for.
func (p *program) selector(own bool) string {
	out := "{__name__=~" + strconv.Quote(text.Joined(p.metrics(), "|", regexp.QuoteMeta))
	for _, name := range slices.Sorted(maps.Keys(p.labels)) {
		out += "," + name + "=" + strconv.Quote(p.labels[name])
	}
	if own && len(p.queues) > 0 {
		patterns := text.Joined(p.queues, "|", p.recipe.QueueForm.pattern)
		for _, name := range p.recipe.QueueLabels { // each series has one of the labels
			out += "," + name + "=~" + strconv.Quote(patterns+"|")
		}
	}
	return out + "}"
}

// pattern is what a label that names the queue fits.
func (f queueForm) pattern(queue string) string {
	switch f {
	case underscored:
		return otherCharacter.ReplaceAllString(queue, ".")
	case lastPart:
		return "(.*:)?" + regexp.QuoteMeta(queue)
	case lastSegment:
		return "(.*/)?" + regexp.QuoteMeta(queue)
	}
	return regexp.QuoteMeta(queue)
}

var otherCharacter = regexp.MustCompile(`[^a-zA-Z0-9]`)

// readings groups samples by instance and time.
func (p *program) readings(matrix model.Matrix) []reading {
	type scrape struct {
		instance string
		at       model.Time
	}
	var out []reading
	index := map[scrape]int{}
	for _, stream := range matrix {
		labels := make(map[string]string, len(stream.Metric))
		for name, value := range stream.Metric {
			labels[string(name)] = string(value)
		}
		metric := labels[model.MetricNameLabel]
		delete(labels, model.MetricNameLabel)
		instance := instanceOf(labels)
		for _, v := range stream.Values {
			at := scrape{instance, v.Timestamp}
			i, ok := index[at]
			if !ok {
				i = len(out)
				index[at] = i
				out = append(out, reading{instance: instance, at: v.Timestamp.Time()})
			}
			out[i].add(p, &sample{metric, labels, float64(v.Value)})
		}
	}
	slices.SortStableFunc(out, func(a, b reading) int { return a.at.Compare(b.at) })
	return out
}

// instanceOf identifies what was scraped: its series are of one time.
func instanceOf(labels map[string]string) string {
	var parts []string
	for _, name := range []string{"cluster", "namespace", "job", "pod", "instance"} {
		if value := labels[name]; value != "" {
			parts = append(parts, name+"="+value)
		}
	}
	return strings.Join(parts, "\x00")
}
