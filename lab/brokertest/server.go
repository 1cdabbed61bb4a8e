// Package brokertest is a management API for tests: replies of several RabbitMQ versions and scripted misbehaviour.
package brokertest

import (
	"crypto/subtle"
	"embed"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// The account that the server accepts.
const (
	User     = "watcher"
	Password = "only-for-tests"
)

// A Version names a folder of replies in testdata, whose README says which are recorded and which constructed.
type Version string

// The versions that have replies.
const (
	V310              Version = "3.10.8"
	V310RatesNone     Version = "3.10.8-rates-none"
	V310StatsDisabled Version = "3.10.8-stats-disabled"
	V313              Version = "3.13.7"
	V42               Version = "4.2.9"
)

// Versions returns all versions that have replies.
func Versions() []Version {
	return []Version{V310, V310RatesNone, V310StatsDisabled, V313, V42}
}

//go:embed testdata
var testdata embed.FS

// A Server answers like a broker's management API. Its methods may be called while it serves.
type Server struct {
	// URL is the management URL.
	URL string

	mutex    sync.Mutex
	replies  map[string][]byte // by the name of the resource, "overview"
	lists    map[string][]json.RawMessage
	hidden   map[string]bool
	faults   map[string]*plannedFault
	requests []string
	date     time.Time // in every answer; zero for the true one
}

type plannedFault struct {
	fault Fault
	left  int
}

// NewServer starts a server with the replies of a version; it stops with the test.
func NewServer(t testing.TB, version Version) *Server {
	t.Helper()
	s := &Server{
		replies: make(map[string][]byte), lists: make(map[string][]json.RawMessage),
		hidden: make(map[string]bool), faults: make(map[string]*plannedFault),
	}
	if err := s.load(version); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

func (s *Server) load(version Version) error {
	folder := "testdata/" + string(version)
	files, err := testdata.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("no replies of RabbitMQ %s: %w", version, err)
	}
	for _, f := range files {
		text, err := testdata.ReadFile(folder + "/" + f.Name())
		if err != nil {
			return err
		}
		name := strings.TrimSuffix(f.Name(), ".json")
		s.replies[name] = text
		if name == "queues" || name == "queues_totals" {
			var list []json.RawMessage
			if err := json.Unmarshal(text, &list); err != nil {
				return fmt.Errorf("%s/%s: %w", folder, f.Name(), err)
			}
			s.lists[name] = list
		}
	}
	return nil
}

// Reply replaces the reply of one resource: overview, nodes, whoami, vhosts, exchanges, bindings,
// consumers or alarms.
func (s *Server) Reply(resource, text string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.replies[resource] = []byte(text)
}

// SetQueues replaces the queues, with and without counters, by objects in the order of the list.
func (s *Server) SetQueues(queues ...json.RawMessage) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if queues == nil {
		queues = []json.RawMessage{} // null is no list
	}
	s.lists["queues"], s.lists["queues_totals"] = queues, queues
}

// Queues returns n queues as 3.10.8 lists them, each with counters, a consumer and arguments.
func Queues(t testing.TB, n int) []json.RawMessage {
	t.Helper()
	text, err := testdata.ReadFile("testdata/3.10.8/queues.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []map[string]any
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(list, func(q map[string]any) bool { return q["name"] == "orders" })
	queues := make([]json.RawMessage, n)
	for k := range queues {
		list[i]["name"] = fmt.Sprintf("orders.%05d", k)
		queues[k] = encode(list[i])
	}
	return queues
}

// Hide takes away the account's permission in a vhost: lists leave it out, its own resources answer 401.
func (s *Server) Hide(vhost string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.hidden[vhost] = true
}

// Fail lets the next answers of a resource go wrong, or those of all resources if it is "". Times below 1 means all.
func (s *Server) Fail(resource string, times int, fault Fault) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.faults[resource] = &plannedFault{fault: fault, left: times}
}

// SetDate sets the clock that every answer shows, to whole seconds.
func (s *Server) SetDate(date time.Time) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.date = date
}

// Heal ends all misbehaviour.
func (s *Server) Heal() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	clear(s.faults)
}

// Requests returns the request lines so far, as in "/api/queues?page=1&page_size=500".
func (s *Server) Requests() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return slices.Clone(s.requests)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	resource, vhost, name, ok := splitPath(r.URL)
	status, answer := s.answer(r, resource, vhost, name, ok)
	w.Header().Set("Content-Type", "application/json")
	s.mutex.Lock()
	if !s.date.IsZero() {
		w.Header().Set("Date", s.date.UTC().Format(http.TimeFormat))
	}
	s.mutex.Unlock()
	if fault := s.fault(resource); fault != nil {
		fault(w, r, answer)
		return
	}
	w.WriteHeader(status)
	_, _ = w.Write(answer)
}

// splitPath takes /api/RESOURCE, /api/RESOURCE/VHOST or /api/RESOURCE/VHOST/NAME apart without decoding %2F too early. A
// single queue is the resource "queue".
func splitPath(u *url.URL) (resource, vhost, name string, ok bool) {
	rest, ok := strings.CutPrefix(u.EscapedPath(), "/api/")
	resource, escaped, _ := strings.Cut(rest, "/")
	escaped, last, named := strings.Cut(escaped, "/")
	if named && resource == "queues" {
		resource = "queue"
	} else if named && resource != "health" {
		return resource, "", "", false
	}
	vhost, err := url.PathUnescape(escaped)
	name, nameErr := url.PathUnescape(last)
	return resource, vhost, name, ok && err == nil && nameErr == nil
}

func (s *Server) answer(r *http.Request, resource, vhost, name string, ok bool) (int, []byte) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.requests = append(s.requests, r.URL.RequestURI())
	user, password, _ := r.BasicAuth()
	switch {
	case !ok:
		return complain(http.StatusNotFound, "Object Not Found", "Not Found")
	case user != User || subtle.ConstantTimeCompare([]byte(password), []byte(Password)) != 1:
		return complain(http.StatusUnauthorized, "not_authorized", "Login failed")
	case vhost != "" && s.hidden[vhost]:
		return complain(http.StatusUnauthorized, "not_authorised", "User not authorised to access virtual host")
	case resource == "queues":
		return s.queues(r.URL.Query(), vhost)
	case resource == "queue":
		return s.queue(vhost, name)
	case resource == "health":
		return s.health()
	case s.replies[resource] == nil && (resource == "consumers" || resource == "channels"):
		return complain(http.StatusBadRequest, "bad_request", "Stats in management UI are disabled on this node")
	case s.replies[resource] == nil:
		return complain(http.StatusNotFound, "Object Not Found", "Not Found")
	}
	return http.StatusOK, s.replies[resource]
}

// health answers the check of alarms from the reply "alarms", a list of {"node", "resource"}; there is none by default.
func (s *Server) health() (int, []byte) {
	if s.replies["alarms"] == nil {
		return http.StatusOK, encode(map[string]string{"status": "ok"})
	}
	return http.StatusServiceUnavailable, encode(map[string]any{
		"status": "failed", "reason": "There are alarms in effect in the cluster", "alarms": json.RawMessage(s.replies["alarms"]),
	})
}

func (s *Server) fault(resource string) Fault {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, name := range []string{resource, ""} {
		planned := s.faults[name]
		if planned == nil {
			continue
		}
		if planned.left--; planned.left == 0 {
			delete(s.faults, name)
		}
		return planned.fault
	}
	return nil
}

// queues answers a list of queues as rabbit_mgmt_util does, bare or paged.
func (s *Server) queues(query url.Values, vhost string) (int, []byte) {
	list := s.lists["queues"]
	if query.Get("disable_stats") == "true" {
		list = s.lists["queues_totals"]
	}
	list = s.visible(list, vhost)
	if !query.Has("page") {
		return http.StatusOK, encode(list)
	}
	page, _ := strconv.Atoi(query.Get("page"))
	size, err := strconv.Atoi(query.Get("page_size"))
	if err != nil {
		size = 100
	}
	pages := (len(list) + size - 1) / max(size, 1)
	if page < 1 || size < 1 || size > 500 || (page > 1 && page > pages) {
		reason := fmt.Sprintf("Page out of range, page: %d page size: %d, len: %d", page, size, len(list))
		return complain(http.StatusBadRequest, "page_out_of_range", reason)
	}
	items := list[min((page-1)*size, len(list)):min(page*size, len(list))]
	return http.StatusOK, encode(map[string]any{
		"filtered_count": len(list), "item_count": len(items), "items": items,
		"page": page, "page_count": pages, "page_size": size, "total_count": len(list),
	})
}

func (s *Server) queue(vhost, name string) (int, []byte) {
	for _, text := range s.lists["queues"] {
		var q struct{ Vhost, Name string }
		if json.Unmarshal(text, &q) == nil && q.Vhost == vhost && q.Name == name {
			return http.StatusOK, text
		}
	}
	return complain(http.StatusNotFound, "Object Not Found", "Not Found")
}

func (s *Server) visible(list []json.RawMessage, vhost string) []json.RawMessage {
	if vhost == "" && len(s.hidden) == 0 {
		return list
	}
	shown := []json.RawMessage{}
	for _, text := range list {
		var q struct{ Vhost string }
		if json.Unmarshal(text, &q) == nil && !s.hidden[q.Vhost] && (vhost == "" || q.Vhost == vhost) {
			shown = append(shown, text)
		}
	}
	return shown
}

func complain(status int, word, reason string) (int, []byte) {
	return status, encode(map[string]string{"error": word, "reason": reason})
}

// encode encodes values whose encoding cannot fail.
func encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("brokertest: encode a reply: %v", err))
	}
	return text
}
