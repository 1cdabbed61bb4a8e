package broker

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/brokertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newClient returns a client of a management URL with the account of brokertest.
func newClient(t testing.TB, managementURL string, change ...func(*Config)) *Client {
	t.Helper()
	config := Config{Name: "main", ManagementURL: managementURL, Username: brokertest.User, Password: secret.New(brokertest.Password)}
	for _, c := range change {
		c(&config)
	}
	client, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func within(d time.Duration) func(*Config) { return func(c *Config) { c.Timeout = d } }

func TestEveryFailureHasItsKindAndSaysWhatToDo(t *testing.T) {
	html := "<!doctype html><title>hello</title>"
	cases := map[string]struct {
		fault    brokertest.Fault
		resource string
		kind     ErrorKind
		says     string
	}{
		"a login that fails":                   {brokertest.Status(401, "not_authorized", "Login failed"), "overview", WrongPassword, "check username and password"},
		"an account without any tag":           {brokertest.Status(401, "not_authorised", "Not management user"), "overview", TagMissing, "rabbitmqctl set_user_tags 'watcher' monitoring"},
		"a vhost without permission":           {brokertest.Status(401, "not_authorised", "User not authorised to access virtual host"), "queues", NoPermission, "set_permissions"},
		"404 on the overview":                  {brokertest.Status(404, "Object Not Found", "Not Found"), "overview", NotManagement, "rabbitmq-plugins enable rabbitmq_management"},
		"a web page":                           {brokertest.Body("text/html; charset=utf-8", html), "overview", NotManagement, "rabbitmq-plugins enable rabbitmq_management"},
		"a web page that claims to be JSON":    {brokertest.Body("application/json", html), "overview", Malformed, "not JSON at byte 1"},
		"some other JSON service":              {brokertest.Body("application/json", `{"ok":true}`), "overview", NotManagement, "names no rabbitmq_version"},
		"a redirect":                           {brokertest.Redirect("https://u:hidden@elsewhere.example/login?token=hidden"), "overview", Redirected, `"https://elsewhere.example/login"`},
		"an internal error that stays":         {brokertest.Status(500, "internal_server_error", "boom\x1b[31m"), "queues", Status, `"boom\x1b[31m"`},
		"no answer":                            {brokertest.Hang(), "overview", Timeout, "no complete answer within"},
		"a slow drip":                          {brokertest.Drip(20 * time.Millisecond), "queues", Timeout, "no complete answer within"},
		"an answer cut in the middle":          {brokertest.Cut(0.5), "queues", Truncated, "ends in its midst"},
		"an empty body":                        {brokertest.Body("application/json", ""), "overview", Truncated, "ends in its midst"},
		"a body over the limit":                {brokertest.Huge(3 << 20), "queues", TooLarge, "larger than 2 MiB"},
		"NaN among the numbers":                {brokertest.Body("application/json", `{"items":[{"name":"q","messages":NaN}]}`), "queues", Malformed, "not JSON"},
		"a string where the list belongs":      {brokertest.Body("application/json", `"queues"`), "queues", Malformed, "where a list of objects belongs"},
		"items that are no list":               {brokertest.Body("application/json", `{"items":{"a":1}}`), "queues", Malformed, "where a list of objects belongs"},
		"a page without items":                 {brokertest.Body("application/json", `{"page":1}`), "queues", Malformed, "a page without items"},
		"a list where the overview belongs":    {brokertest.Body("application/json", `[]`), "overview", Malformed, "array where something else belongs"},
		"a proxy that cannot reach the broker": {brokertest.Body("text/plain", "upstream"), "overview", NotManagement, "text/plain"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := brokertest.NewServer(t, brokertest.V310)
			server.Fail(c.resource, 0, c.fault)
			timeout := 30 * time.Second
			if c.kind == Timeout {
				timeout = 150 * time.Millisecond
			}
			client := newClient(t, server.URL, within(timeout))
			client.api.limit = 2 << 20
			_, err := client.Sample(t.Context())
			checkFailure(t, err, c.kind, c.says)
		})
	}
}

// checkFailure checks what every failure must be: typed, named, on one line, public as a whole and without secrets.
func checkFailure(t *testing.T, err error, kind ErrorKind, says string) {
	t.Helper()
	if KindOf(err) != kind {
		t.Fatalf("kind %q of %v, want %q", KindOf(err), err, kind)
	}
	text := err.Error()
	if !strings.Contains(text, says) || !strings.HasPrefix(text, "broker main: GET /") {
		t.Errorf("%q does not name the request and say %q", text, says)
	}
	for _, secret := range []string{brokertest.Password, "hidden", "Basic ", "\n", "\x1b", "Get "} {
		if strings.Contains(fmt.Sprintf("%s %v %+v", text, err, err), secret) {
			t.Errorf("%q gives %q away", text, secret)
		}
	}
	if dedup.KindOf(err) != dedup.Unavailable || dedup.PublicText(fmt.Errorf("round: %w", err)) != text {
		t.Errorf("not public: %v %q", dedup.KindOf(err), dedup.PublicText(err))
	}
}

func TestFailuresBeforeAnAnswerHaveTheirKind(t *testing.T) {
	answering := func(greeting string) string {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				connection, err := listener.Accept()
				if err != nil {
					return
				}
				_, _ = connection.Read(make([]byte, 1024))
				_, _ = connection.Write([]byte(greeting))
				_ = connection.Close()
			}
		}()
		t.Cleanup(func() { _ = listener.Close(); <-done })
		return listener.Addr().String()
	}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // it notes the refused handshake
	t.Cleanup(secure.Close)
	plain := brokertest.NewServer(t, brokertest.V310)
	cases := map[string]struct {
		url  string
		kind ErrorKind
		says string
	}{
		"nothing listens":            {"http://" + closed.Addr().String(), Refused, "connection refused by 127.0.0.1:"},
		"no such host":               {"http://no-such-host.invalid:15672", Unresolved, `"no-such-host.invalid" cannot be resolved`},
		"an AMQP port":               {"http://" + answering("AMQP\x00\x00\x09\x01"), NotManagement, "this is an AMQP port"},
		"a TLS port":                 {"http://" + answering("\x15\x03\x01\x00\x02\x02\x0a"), NotManagement, "use https://"},
		"another protocol":           {"http://" + answering("-ERR unknown command\r\n"), NotManagement, "usually 15672"},
		"closed without a word":      {"http://" + answering(""), Interrupted, "ended before the answer"},
		"plain HTTP behind https://": {"https://" + strings.TrimPrefix(plain.URL, "http://"), TLS, "use http://"},
		"an unknown authority":       {secure.URL, TLS, "set ca_file"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := newClient(t, c.url).Sample(t.Context())
			checkFailure(t, err, c.kind, c.says)
		})
	}
}

func TestACallerThatGivesUpIsNotAFailureOfTheBroker(t *testing.T) {
	server := brokertest.NewServer(t, brokertest.V310)
	server.Fail("", 0, brokertest.Hang())
	ctx, cancel := context.WithCancel(t.Context())
	client := newClient(t, server.URL, within(5*time.Minute))
	result := make(chan error)
	go func() { _, err := client.Totals(ctx); result <- err }()
	awaitRequests(t, server, 1)
	waiting, stop := context.WithCancel(t.Context())
	stop()
	if _, err := client.Sample(waiting); !errors.Is(err, context.Canceled) {
		t.Errorf("a second reading did not wait for its turn: %v", err)
	}
	cancel()
	if err := <-result; KindOf(err) != Canceled || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if n := len(server.Requests()); n != 1 {
		t.Errorf("%d requests, want 1: readings take turns", n)
	}
}

// awaitRequests waits until the server has got n requests.
func awaitRequests(t *testing.T, server *brokertest.Server, n int) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	for len(server.Requests()) < n {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("%d requests, want %d", len(server.Requests()), n)
		}
	}
}

func TestConfigReportsAllProblemsAtOnce(t *testing.T) {
	notPEM := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(notPEM, []byte("not a certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	good := Config{Name: "main", ManagementURL: "http://127.0.0.1:15672", Username: "w", Password: secret.New("p")}
	cases := map[string]struct {
		change func(*Config)
		want   []string
	}{
		"everything missing": {func(c *Config) { *c = Config{} }, []string{"name: ", "management_url: must be http:// or https:// with a host, e.g. http://127.0.0.1:15672", "username: ", "password: "}},
		"another scheme":     {func(c *Config) { c.ManagementURL = "amqp://h" }, []string{"management_url: must be http://"}},
		"no host":            {func(c *Config) { c.ManagementURL = "http://:15672" }, []string{"management_url: must be http://"}},
		"a user in the URL":  {func(c *Config) { c.ManagementURL = "http://u:hidden@h" }, []string{"use the keys username and password"}},
		"an unreadable URL":  {func(c *Config) { c.ManagementURL = "http://u:hidden@h:port" }, []string{"management_url: must be http://"}},
		"a query":            {func(c *Config) { c.ManagementURL = "http://h?x=1" }, []string{"query or fragment"}},
		"the API path":       {func(c *Config) { c.ManagementURL = "http://h/rabbit/api/" }, []string{"must not end in /api"}},
		"a colon in a user":  {func(c *Config) { c.Username = "a:b" }, []string{"username: must not contain a colon"}},
		"a negative timeout": {func(c *Config) { c.Timeout = -1 }, []string{"timeout: must be between 0s (which means 10s) and 5m0s"}},
		"no such CA file":    {func(c *Config) { c.CAFile = notPEM + ".gone" }, []string{"ca_file: cannot be read"}},
		"a CA file of prose": {func(c *Config) { c.CAFile = notPEM }, []string{"holds no certificate in PEM form"}},
		"one key and list":   {func(c *Config) { c.ManagementURLs = []string{"http://a"} }, []string{"management_urls: give either this list or management_url, not both"}},
		"a bad second node":  {func(c *Config) { c.ManagementURL, c.ManagementURLs = "", []string{"http://a", "http://u:hidden@b"} }, []string{"management_urls[1]: must not hold a user or password"}},
		"a node twice":       {func(c *Config) { c.ManagementURL, c.ManagementURLs = "", []string{"http://a", "http://a"} }, []string{"management_urls[1]: this node is listed twice"}},
		"AMQP nodes": {func(c *Config) {
			c.Act = Act{AMQPURLs: []string{"amqp://a", "http://b"}, Username: "m", Password: secret.New("p")}
		}, []string{"act.amqp_urls[1]: must be amqp:// or amqps://"}},
		"half a certificate":     {func(c *Config) { c.CertFile = notPEM }, []string{"cert_file: needs key_file"}},
		"a certificate of prose": {func(c *Config) { c.CertFile, c.KeyFile = notPEM, notPEM }, []string{"cert_file: the certificate and its key cannot be read"}},
		"several nodes":          {func(c *Config) { c.ManagementURL, c.ManagementURLs = "", []string{"http://a", "https://b/rabbit"} }, nil},
		"nothing":                {func(*Config) {}, nil},
		"a path prefix":          {func(c *Config) { c.ManagementURL = "https://h/rabbit/" }, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			config := good
			c.change(&config)
			err := config.Validate()
			if (err == nil) != (c.want == nil) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hidden") {
					t.Errorf("%q lacks %q or tells a password", err, want)
				}
			}
		})
	}
}

func TestTheNextNodeIsAskedWhereOneDoesNotAnswer(t *testing.T) {
	t.Parallel()
	one, two := brokertest.NewServer(t, brokertest.V310), brokertest.NewServer(t, brokertest.V310)
	client := newClient(t, "", within(300*time.Millisecond), func(c *Config) { c.ManagementURLs = []string{"http://127.0.0.1:1", one.URL, two.URL} })
	sample := func(server *brokertest.Server, why string) {
		t.Helper()
		before := len(server.Requests())
		if _, err := client.Sample(t.Context()); err != nil {
			t.Errorf("%s: %v", why, err)
		}
		if len(server.Requests()) == before {
			t.Errorf("%s: it was not asked", why)
		}
	}
	sample(one, "nothing listens at the first")
	sample(one, "the second goes on")
	one.Fail("overview", 0, brokertest.Hang())
	if _, err := client.Sample(t.Context()); KindOf(err) != Timeout || !strings.Contains(err.Error(), strings.TrimPrefix(one.URL, "http://")) {
		t.Errorf("a slow cluster is not asked again at once: %v", err)
	}
	sample(two, "the second hangs")
	two.Fail("queues", 0, brokertest.Status(401, "not_authorised", "Not management user"))
	if _, err := client.Sample(t.Context()); KindOf(err) != TagMissing {
		t.Errorf("a refusal is an answer: %v", err)
	}
	gone := newClient(t, "", func(c *Config) { c.ManagementURLs = []string{"http://127.0.0.1:1", "http://127.0.0.1:2"} })
	if _, err := gone.Sample(t.Context()); KindOf(err) != Refused || !strings.Contains(err.Error(), "none of the 2 nodes in management_urls answers; the last one: connection refused by 127.0.0.1:2") {
		t.Errorf("none answers: %v", err)
	}
}

func TestPathsKeepEscapedSlashesAndThePrefix(t *testing.T) {
	client := newClient(t, "http://127.0.0.1:15672/a%2Fb/")
	cases := map[string]string{
		"/": "/a%2Fb/api/queues/%2F", "a/b?c%d#e": "/a%2Fb/api/queues/a%2Fb%3Fc%25d%23e",
		"ü\u202e": "/a%2Fb/api/queues/%C3%BC%E2%80%AE",
	}
	for vhost, want := range cases {
		request, name, err := client.api.request(t.Context(), APIPath("queues", vhost), nil)
		if err != nil || request.URL.RequestURI() != want || name != "GET "+want {
			t.Errorf("vhost %q: %q %q %v, want %q", vhost, request.URL.RequestURI(), name, err, want)
		}
	}
}

func TestACertificateOfCAFileIsTrusted(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`[]`))
	}))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	client := newClient(t, server.URL, func(c *Config) { c.CAFile = file })
	if _, err := client.Totals(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestQuotedTextsCannotHarmAMessage(t *testing.T) {
	cases := map[string]string{
		"orders":              `"orders"`,
		"a\nb\x1b[31m\u202ec": `"a\nb\x1b[31m\u202ec"`,
		"\xff":                `"\xff"`,
	}
	for text, want := range cases {
		if got := Quote(text); got != want {
			t.Errorf("quote(%q) = %s, want %s", text, got, want)
		}
	}
	if got := Quote(strings.Repeat("ü", 1<<20)); len(got) > maxQuoted+10 || !strings.HasSuffix(got, `ü"…`) {
		t.Errorf("a long text became %d bytes: %s", len(got), got)
	}
	words := map[string]string{"/": "'/'", "it's": `'it'\''s'`, "a\u202eb'\n": `$'a\u202eb\'\n'`}
	for text, want := range words {
		if got := shellWord(text); got != want {
			t.Errorf("shellWord(%q) = %s, want %s", text, got, want)
		}
	}
}

// queue returns a queue as JSON from pairs of names and JSON values.
func queue(name string, fields string) json.RawMessage {
	text, _ := json.Marshal(name)
	if fields != "" {
		fields = "," + fields
	}
	return json.RawMessage(`{"vhost":"/","name":` + string(text) + fields + `}`)
}
