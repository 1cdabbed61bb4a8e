package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"

	"dedup-dashboard/internal/config"
	"dedup-dashboard/lab/brokertest"
	"dedup-dashboard/lab/markerstest"
)

func TestMain(m *testing.M) {
	anotherProgram(os.Args)
	goleak.VerifyTestMain(m, markerstest.ClosedPools())
}

// output is a buffer that the program and the test may use at the same time.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// writeConfig writes a configuration whose broker and store do not answer, and returns its path.
func writeConfig(t *testing.T, listen, dataDir string) string {
	t.Helper()
	const dead = 1 // nobody gets this port, as one that was just given up
	path := filepath.Join(t.TempDir(), "dashboard.yaml")
	text := fmt.Sprintf(`
server: {listen: %q, data_dir: %q}
collector: {interval: 2s}
brokers:
  - {name: main, management_url: "http://127.0.0.1:%d", username: watcher, password: canary-password}
stores:
  - {name: orders, preset: redis-text-status, redis: {url: "redis://:canary-password@127.0.0.1:%d/0"}}
pipelines:
  - {name: orders, queues: [orders], store: orders}
`, listen, dataDir, dead, dead)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestExitCodesAndMessages(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	file := filepath.Join(t.TempDir(), "a-file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		args []string
		in   string
		code int
		want string
	}{
		{"no command prints the usage", nil, "", exitOK, "dashboard serve -config FILE"},
		{"an unknown command prints the usage", []string{"sevre"}, "", exitUsage, `there is no command "sevre"`},
		{"serve without a configuration says how", []string{"serve"}, "", exitUsage, "usage: dashboard serve -config FILE"},
		{"a configuration that does not exist", []string{"serve", "-config", "/nonexistent.yaml"}, "", exitUsage, "/nonexistent.yaml"},
		{"a port in use", []string{"serve", "-config", writeConfig(t, busy.Addr().String(), t.TempDir())}, "", exitUsage, "address already in use"},
		{"a data directory that is a file", []string{"serve", "-config", writeConfig(t, "127.0.0.1:0", file)}, "", exitUsage, "data_dir"},
		{"check of servers that are down", []string{"check", "-config", writeConfig(t, "127.0.0.1:0", t.TempDir())}, "", exitFailed, "check found what needs fixing"},
		{"a flag that does not exist", []string{"serve", "-confg", "x"}, "", exitUsage, "flag provided but not defined: -confg; usage: dashboard serve -config FILE"},
		{"an audit where none was written", []string{"audit", "verify", "-config", writeConfig(t, "127.0.0.1:0", t.TempDir())}, "", exitUsage, "audit.db"},
		{"a password that is too short", []string{"hash-password"}, "short\n", exitUsage, "12"},
		{"a good password", []string{"hash-password"}, "correct horse battery staple\n", exitOK, "$argon2id$"},
		{"a guard by hand", []string{guardCommand}, "", exitFailed, "of no use by hand"},
		{"the version", []string{"version"}, "", exitOK, "dashboard "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out output
			code := run(t.Context(), tt.args, streams{strings.NewReader(tt.in), &out, &out})
			if code != tt.code || !strings.Contains(out.String(), tt.want) {
				t.Errorf("exit code %d with output\n%s\nwant %d and %q", code, out.String(), tt.code, tt.want)
			}
			if strings.Contains(out.String(), "canary") {
				t.Errorf("a password is in the output:\n%s", out.String())
			}
		})
	}
}

// TestItServesWhileEverythingIsDown starts the program without any broker or store behind it: it must start, answer, and
// stop within its bounds.
func TestItServesWhileEverythingIsDown(t *testing.T) {
	dir := t.TempDir()
	cfg, err := config.Load(writeConfig(t, "127.0.0.1:0", dir))
	if err != nil {
		t.Fatal(err)
	}
	var out, log output
	app, err := New(t.Context(), cfg, newLog(&log), &out)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var g errgroup.Group
	g.Go(func() error { return app.Run(ctx) })

	base := "http://" + app.Addr().String()
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	await(t, "readiness", func() bool { return status(t, client, base+"/readyz") == http.StatusOK })
	if got := status(t, client, base+"/healthz"); got != http.StatusOK {
		t.Errorf("/healthz answers %d", got)
	}
	if !strings.Contains(out.String(), "/setup?token=") {
		t.Errorf("no one-time link on the terminal: %q", out.String())
	}
	link, err := os.ReadFile(filepath.Join(dir, "first-admin-link"))
	if err != nil || !strings.Contains(out.String(), strings.TrimSpace(string(link))) {
		t.Errorf("the link in the file %q (%v) is not the one on the terminal %q", link, err, out.String())
	}
	stop()
	if err := g.Wait(); err != nil {
		t.Errorf("stopping: %v\n%s", err, log.String())
	}
	if strings.Contains(log.String()+out.String(), "canary") {
		t.Errorf("a password is in the log:\n%s", log.String())
	}
	if _, err := client.Get(base + "/healthz"); err == nil {
		t.Error("the address still answers after the stop")
	}
}

func TestASecondInstanceOnTheSameDataIsRefused(t *testing.T) {
	dir := t.TempDir()
	cfg, err := config.Load(writeConfig(t, "127.0.0.1:0", dir))
	if err != nil {
		t.Fatal(err)
	}
	var out output
	first, err := New(t.Context(), cfg, newLog(&out), &out)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := first.teardown.run(first.log); err != nil {
			t.Error(err)
		}
	}()
	_, err = New(t.Context(), cfg, newLog(&out), &out)
	var unusable *unusableError
	if !errors.As(err, &unusable) {
		t.Errorf("a second instance gives %v, want an error of exit code 2", err)
	}
}

func TestWhatServersSayCannotSteerTheTerminal(t *testing.T) {
	server := brokertest.NewServer(t, brokertest.V42)
	server.Reply("whoami", `{"name": "\u001b[2Jwatcher\r", "tags": ["ends\u202e"]}`)
	path := filepath.Join(t.TempDir(), "dashboard.yaml")
	text := fmt.Sprintf("brokers:\n- {name: main, management_url: %q, username: %s, password: %s}\n", server.URL, brokertest.User, brokertest.Password)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, log output
	run(t.Context(), []string{"check", "-config", path}, streams{strings.NewReader(""), &out, &log})
	if got := out.String(); strings.ContainsAny(got, "\x1b\r\u202e") || !strings.Contains(got, `account \x1b[2Jwatcher\r, tags ends\u202e`) {
		t.Errorf("printed %q", got)
	}
}

func TestTextForTheTerminalKeepsWhatPrints(t *testing.T) {
	var out output
	fmt.Fprintf(plainWriter{&out}, "cluster %s, node %s\n", "ends\xff", "ä")
	if got := out.String(); !utf8.ValidString(got) || !strings.Contains(got, "node ä\n") {
		t.Errorf("printed %q", got)
	}
}

func TestTeardownRunsLastInFirstOutAndLeavesAHangingStepBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var order []string
		var td teardown
		release := make(chan struct{})
		td.add("first", func(context.Context) error { order = append(order, "first"); return nil })
		td.add("hanging", func(context.Context) error { <-release; return nil })
		td.add("failing", func(context.Context) error { order = append(order, "failing"); return errors.New("broken") })
		var log output
		start := time.Now()
		err := td.run(newLog(&log))
		if took := time.Since(start); took != stepBound {
			t.Errorf("took %v, want exactly the bound of the hanging step, %v", took, stepBound)
		}
		if err == nil || !strings.Contains(err.Error(), "stop hanging") || !strings.Contains(err.Error(), "stop failing: broken") {
			t.Errorf("error is %v", err)
		}
		if got := strings.Join(order, " "); got != "failing first" {
			t.Errorf("order is %q", got)
		}
		close(release)
	})
}

func status(t *testing.T, client *http.Client, url string) int {
	t.Helper()
	resp, err := client.Get(url)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

// await waits until the condition holds, at most two minutes: the machine may be busy.
func await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-deadline:
			t.Fatalf("no %s within two minutes", what)
		case <-tick.C:
		}
	}
}
