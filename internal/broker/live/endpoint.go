package live

import (
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/outbound"
)

// An endpoint reads one node.
type endpoint struct {
	http    *http.Client
	root    *url.URL
	timeout time.Duration
	limit   int64
	vhosts  []string // of the queues that are watched
	node    *node
	twin    bool // leads to the same node as another
	// begun and done bracket the last answer that was counted; zero before the first.
	begun, done time.Time
}

func (e *endpoint) watch(queues map[dedup.QueueRef]bool) {
	e.node.watch(queues)
	e.vhosts = nil
	for queue := range queues {
		if !slices.Contains(e.vhosts, queue.Vhost) {
			e.vhosts = append(e.vhosts, queue.Vhost)
		}
	}
	slices.Sort(e.vhosts)
}

// read reads the rows of the node, and its own counters before and after them where these are wanted. That those cannot be read fails nothing:
// what was lost stays unknown.
func (e *endpoint) read(ctx context.Context) *Error {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	before := e.totals(ctx)
	e.node.begin()
	begun, err := e.get(ctx, e.root.JoinPath("metrics", "detailed"), e.query(), func(body io.Reader) error {
		return readRows(body, e.node)
	})
	done := time.Now()
	if err != nil {
		e.node.drop()
	} else {
		err = e.node.commit(done)
	}
	if err != nil {
		return explain(e.root.String(), e.timeout, err)
	}
	e.begun, e.done = begun, done
	e.node.settle(done, before, e.totals(ctx))
	return nil
}

// query asks for the rows of queues, unless the node is known to have none, and for those of channels, which say which of them were closed.
// RabbitMQ filters the rows of queues by vhost, and gives those of channels whole, as is needed to find what was lost.
func (e *endpoint) query() url.Values {
	query := url.Values{"family": {"connection_churn_metrics", "channel_process_metrics", "channel_queue_metrics"}}
	if e.node.family != channelRows || e.node.unsure {
		query["family"] = append(query["family"], "queue_delivery_metrics", "queue_exchange_metrics")
	}
	query["vhost"] = e.vhosts
	return query
}

// totals reads what the node counts as a whole; nil when that is not wanted, or cannot be read.
func (e *endpoint) totals(ctx context.Context) *Counts {
	if !e.node.wantsTotals() {
		return nil
	}
	var totals Counts
	whole := false
	_, err := e.get(ctx, e.root.JoinPath("metrics"), nil, func(body io.Reader) (err error) {
		totals, whole, err = readTotals(body)
		return err
	})
	if err != nil || !whole {
		return nil
	}
	return &totals
}

// get makes one request, and returns when the connection was there to send it on. The endpoint asks for no account, and none is sent.
func (e *endpoint) get(ctx context.Context, target *url.URL, query url.Values, read func(io.Reader) error) (begun time.Time, err error) {
	begun = time.Now()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { begun = time.Now() }})
	target.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return begun, err
	}
	request.Header.Set("User-Agent", outbound.UserAgent)
	request.Header.Set("Accept", "text/plain;version=0.0.4")
	request.Header.Set("Accept-Encoding", "identity") // to compress costs the broker more than it saves
	answer, err := e.http.Do(request)
	if err != nil {
		return begun, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return begun, badStatus(answer.StatusCode)
	}
	return begun, read(outbound.Limited(answer.Body, e.limit))
}
