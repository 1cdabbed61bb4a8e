package notify_test

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"dedup-dashboard/internal/alerts/notify"
	"dedup-dashboard/internal/secret"
)

// A delivery is what a receiver got: of mail the whole message and its recipients.
type delivery struct {
	uri    string
	header http.Header
	body   []byte
	to     []string
}

// An inbox keeps what a receiver got.
type inbox struct {
	arrived chan struct{} // one token for each request, whatever comes of it

	mu         sync.Mutex
	deliveries []delivery
}

func newInbox() *inbox { return &inbox{arrived: make(chan struct{}, 10_000)} }

func (i *inbox) put(d delivery) {
	i.mu.Lock()
	i.deliveries = append(i.deliveries, d)
	i.mu.Unlock()
	i.arrived <- struct{}{}
}

func (i *inbox) all() []delivery {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]delivery(nil), i.deliveries...)
}

func (i *inbox) last(t *testing.T) delivery {
	t.Helper()
	all := i.all()
	if len(all) == 0 {
		t.Fatal("nothing was delivered")
	}
	return all[len(all)-1]
}

// The secrets of the channels under test.
const (
	tokenCanary    = canary + "-token"
	secretCanary   = canary + "-secret"
	passwordCanary = canary + "-password"
	pathCanary     = canary + "-path"
	queryCanary    = canary + "+query/=" // looks otherwise when it is escaped
)

// secretForms are the looks that a secret must not have in any text.
func secretForms() []string {
	return []string{
		canary, url.QueryEscape(queryCanary), base64.StdEncoding.EncodeToString([]byte("mover:" + passwordCanary)),
		base64.StdEncoding.EncodeToString([]byte("\x00mover\x00" + passwordCanary)), base64.StdEncoding.EncodeToString([]byte(passwordCanary)),
	}
}

// httpConfig returns the configuration of a channel of a type to an address, with every secret that the type can have.
func httpConfig(kind, hostport string) notify.Config {
	address := "http://" + hostport + "/hooks/" + pathCanary
	c := notify.Config{Name: "oncall", Type: kind}
	switch kind {
	case "webhook":
		c.URL, c.Token, c.Secret = secret.New(address+"?key="+url.QueryEscape(queryCanary)), secret.New(tokenCanary), secret.New(secretCanary)
	case "alertmanager":
		c.URLs, c.Username, c.Password = []secret.Secret{secret.New(address)}, "mover", secret.New(passwordCanary)
	case "slack":
		c.URL = secret.New(address)
	case "dingtalk":
		c.URL, c.Secret = secret.New(address+"?access_token="+url.QueryEscape(queryCanary)), secret.New(secretCanary)
	}
	return c
}

// patience is how long an attempt may take here: far longer than any test, so that what ends sooner did not end by it.
const patience = time.Minute

func open(t *testing.T, c notify.Config) notify.Channel {
	t.Helper()
	c.Timeout = cmp.Or(c.Timeout, patience)
	channel, err := notify.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	notify.Rest(channel)
	notify.AwaitAll(channel)
	return channel
}

func httpRig(kind string) rig {
	return rig{
		name:    kind,
		towards: func(t *testing.T, hostport string) notify.Channel { return open(t, httpConfig(kind, hostport)) },
		start: func(t *testing.T, how behaviour) (notify.Channel, *inbox) {
			server := startHTTP(t, httpBehaviour(t, kind, how))
			return open(t, httpConfig(kind, server.hostport)), server.inbox
		},
		read: readJSON,
	}
}

// An answer is what a test server says.
type answer struct {
	status               int
	body                 string
	retryAfter, location string
}

type httpServer struct {
	hostport string
	inbox    *inbox
}

// startHTTP starts a receiver that keeps what it gets and answers as judge says; a status of 0 means that judge did all.
func startHTTP(t *testing.T, judge func(http.ResponseWriter, *http.Request) answer) httpServer {
	t.Helper()
	in := newInbox()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil { // its sender was ended while it sent, as an Alertmanager at the end of its test: nothing was delivered
			t.Logf("a request was cut off: %v", err)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		in.put(delivery{uri: r.RequestURI, header: r.Header, body: body})
		a := judge(w, r)
		if a.status == 0 {
			return
		}
		if a.retryAfter != "" {
			w.Header().Set("Retry-After", a.retryAfter)
		}
		if a.location != "" {
			w.Header().Set("Location", a.location)
		}
		w.WriteHeader(a.status)
		_, _ = io.WriteString(w, a.body)
	}))
	t.Cleanup(server.Close)
	return httpServer{hostport: strings.TrimPrefix(server.URL, "http://"), inbox: in}
}

// yes is the answer by which a receiver of a type says that it took a message.
func yes(kind string) answer {
	return answer{status: 200, body: map[string]string{"slack": "ok", "dingtalk": `{"errcode":0,"errmsg":"ok"}`, "alertmanager": "{}"}[kind]}
}

func httpBehaviour(t *testing.T, kind string, how behaviour) func(http.ResponseWriter, *http.Request) answer {
	return func(w http.ResponseWriter, r *http.Request) answer {
		switch how {
		case hangs:
			<-r.Context().Done()
			return answer{}
		case babbles:
			return answer{status: 200, body: "<html>\x00\x1b[31m\xff log in with " + echo(r) + "</html>"}
		case floods:
			flood(t, w)
			return answer{}
		case busy:
			return answer{status: 503, body: "busy: " + echo(r)}
		case forbids:
			return answer{status: 403, body: "forbidden: " + echo(r)}
		case breaksOff:
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_ = conn.Close()
			}
			return answer{}
		default:
			return yes(kind)
		}
	}
}

// echo repeats everything in a request that a client would rather keep to itself.
func echo(r *http.Request) string {
	user, password, _ := r.BasicAuth()
	return strings.Join([]string{r.URL.Query().Get("key"), r.URL.Query().Get("access_token"), r.RequestURI, r.Header.Get("Authorization"), user, password, r.URL.Path}, " ")
}

// readJSON returns every string of a JSON body.
func readJSON(t *testing.T, d delivery) []string {
	t.Helper()
	var decoded any
	if err := json.Unmarshal(d.body, &decoded); err != nil {
		t.Fatalf("%v: %s", err, d.body)
	}
	var texts []string
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			texts = append(texts, v)
		case []any:
			for _, each := range v {
				walk(each)
			}
		case map[string]any:
			for name, each := range v {
				texts = append(texts, name)
				walk(each)
			}
		}
	}
	walk(decoded)
	return texts
}
