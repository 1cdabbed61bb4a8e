package server

import (
	"fmt"
	"net/http"
	"net/url"
	"sort"
	"strings"
	"sync"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
)

// The stream of hints. It says that something changed, never what: a live page fetches its own regions again.
const (
	maxStreams        = 2000
	maxStreamsPerUser = 20
	maxTopics         = 50
	pingEvery         = 15 * time.Second
	streamWrite       = 10 * time.Second
	// retryAfter is when a browser comes back after the stream broke, in milliseconds.
	retryAfter = 2000
)

// hub passes hints from producers to streams. Hints that a stream has not sent yet are merged, so a slow reader costs a
// few words of memory and never holds up a producer.
type hub struct {
	mu      sync.Mutex
	streams map[*stream]struct{}
	perUser map[string]int
	changes uint64
	closed  bool
	done    chan struct{}
}

// stream is one open connection.
type stream struct {
	user   string
	topics map[string]bool
	wake   chan struct{}
	// Under hub.mu: what to send, and whether to check the credentials at once.
	pending map[string]bool
	last    uint64
	check   bool
}

func newHub() *hub {
	return &hub{streams: map[*stream]struct{}{}, perUser: map[string]int{}, done: make(chan struct{})}
}

// changed notes the topic for every stream that follows it.
func (h *hub) changed(topic string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.changes++
	event, _, _ := strings.Cut(topic, ":")
	for st := range h.streams {
		if st.topics[topic] {
			st.pending[event] = true
			st.last = h.changes
			st.nudge()
		}
	}
}

// recheck makes every stream check its credentials at once.
func (h *hub) recheck() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for st := range h.streams {
		st.check = true
		st.nudge()
	}
}

// close ends every stream and admits no more.
func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		h.closed = true
		close(h.done)
	}
}

func (h *hub) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.streams)
}

func (st *stream) nudge() {
	select {
	case st.wake <- struct{}{}:
	default:
	}
}

// add admits a stream, or says why not.
func (h *hub) add(user string, topics []string) (*stream, error) {
	st := &stream{user: user, topics: map[string]bool{}, pending: map[string]bool{}, wake: make(chan struct{}, 1)}
	for _, t := range topics {
		st.topics[t] = true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return nil, streamError("The dashboard is shutting down")
	case len(h.streams) >= maxStreams:
		return nil, streamError("Too many live pages are open; this one does not update by itself")
	case h.perUser[user] >= maxStreamsPerUser:
		return nil, streamError("You have too many live pages open; this one does not update by itself")
	}
	h.streams[st] = struct{}{}
	h.perUser[user]++
	return st, nil
}

func streamError(message string) error {
	return &web.Error{Status: http.StatusServiceUnavailable, Kind: dedup.Unavailable, Heading: "Not live", Message: message, RetryAfter: 30 * time.Second}
}

func (h *hub) remove(st *stream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.streams, st)
	if h.perUser[st.user]--; h.perUser[st.user] <= 0 {
		delete(h.perUser, st.user)
	}
}

// take returns the events to send, in a fixed order, and whether to check the credentials.
func (h *hub) take(st *stream) (events []string, id uint64, check bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for event := range st.pending {
		events = append(events, event)
	}
	clear(st.pending)
	sort.Strings(events)
	check, st.check = st.check, false
	return events, st.last, check
}

// events answers with the stream of hints on ?topics=overview,pipeline:NAME.
func (s *Server) events(r *web.Request) (web.Response, error) {
	topics, err := parseTopics(r.URL.Query().Get("topics"))
	if err != nil {
		return nil, err
	}
	return eventStream{hub: s.hub, topics: topics, allowed: s.sessions.StillAllowed(r, s.auth, viewer)}, nil
}

// parseTopics reads the topics of a stream. A pipeline that does not exist never changes, so its topic is no error.
func parseTopics(list string) ([]string, error) {
	topics := strings.Split(list, ",")
	if list == "" || len(topics) > maxTopics {
		return nil, web.Invalid(fmt.Sprintf("Give 1 to %d topics as ?topics=overview,pipeline:NAME", maxTopics))
	}
	for _, t := range topics {
		name, isPipeline := strings.CutPrefix(t, "pipeline:")
		if t != "overview" && t != "alerts" && !(isPipeline && len(name) <= 200 && web.IsPipeline(name)) && !operationTopic(t) {
			return nil, web.Invalid("There is no topic " + show.Clean(t, 60) + "; use overview, alerts, pipeline:NAME, operation:ID, job:ID and measurement:ID")
		}
	}
	return topics, nil
}

type eventStream struct {
	hub     *hub
	topics  []string
	allowed func() bool
}

func (e eventStream) Write(w http.ResponseWriter, r *web.Request) error {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // nginx would hold events back
	if r.Method == http.MethodHead {
		w.WriteHeader(http.StatusOK)
		return nil
	}
	st, err := e.hub.add(r.Who.Method+" "+r.Who.Name, e.topics)
	if err != nil {
		return err
	}
	defer e.hub.remove(st)
	rc := http.NewResponseController(w)
	w.WriteHeader(http.StatusOK)
	return e.pump(w, rc, r, st)
}

// pump sends until the client goes or stalls, its credentials end, or the server shuts down.
func (e eventStream) pump(w http.ResponseWriter, rc *http.ResponseController, r *web.Request, st *stream) error {
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	text := fmt.Sprintf("retry: %d\n\n", retryAfter)
	for {
		if text != "" {
			if err := sendNow(w, rc, text); err != nil {
				return &web.Gone{Err: err}
			}
		}
		var check bool
		select {
		case <-r.Context().Done():
			return nil
		case <-e.hub.done:
			return nil
		case <-ping.C:
			text, check = ": ping\n\n", true
		case <-st.wake:
			text, check = e.pending(st)
		}
		if check && !e.allowed() {
			return nil
		}
	}
}

func (e eventStream) pending(st *stream) (text string, check bool) {
	events, id, check := e.hub.take(st)
	var b strings.Builder
	for _, event := range events {
		fmt.Fprintf(&b, "id: %d\nevent: %s\ndata: {}\n\n", id, event)
	}
	return b.String(), check
}

// sendNow writes and flushes within the deadline, and then takes the deadline back: over HTTP/2 it is a timer that resets the
// stream when it passes, whether anything is being written or not.
func sendNow(w http.ResponseWriter, rc *http.ResponseController, text string) error {
	if err := rc.SetWriteDeadline(time.Now().Add(streamWrite)); err != nil {
		return err
	}
	if _, err := w.Write([]byte(text)); err != nil {
		return err
	}
	if err := rc.Flush(); err != nil {
		return err
	}
	return rc.SetWriteDeadline(time.Time{})
}

// operationTopic is the topic that tells of an operation or a job, as the services name it.
func operationTopic(topic string) bool {
	id, ok := strings.CutPrefix(topic, "operation:")
	for _, kind := range []string{"job:", "measurement:"} {
		if !ok {
			id, ok = strings.CutPrefix(topic, kind)
		}
	}
	return ok && id != "" && len(id) <= 100 && url.PathEscape(id) == id
}
