package shop_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.yaml.in/yaml/v3"

	"dedup-dashboard/lab/servers/serverstest"
	"dedup-dashboard/lab/shop"
)

// roleVariable makes the test's own program play another part: the dashboard, or a whole playground to be killed.
const roleVariable = "PLAYGROUND_TEST_ROLE"

func TestMain(m *testing.M) {
	// A child of the playground is called as the dashboard is, whatever the part of its parent.
	if os.Getenv(roleVariable) != "" && len(os.Args) > 1 && os.Args[1] == "serve" {
		exitWith(fakeDashboard(os.Args[3]))
	}
	if dir := os.Getenv(roleVariable); filepath.IsAbs(dir) {
		exitWith(shop.Up(context.Background(), upOptions(dir, os.Stdout)))
	}
	code := m.Run()
	shop.StopSharedBroker()
	os.Exit(code)
}

func exitWith(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// fakeDashboard reads its configuration, leaves a one-time link and answers /healthz, as the dashboard does.
func fakeDashboard(configFile string) error {
	var config struct {
		Server struct {
			Listen  string `yaml:"listen"`
			DataDir string `yaml:"data_dir"`
		} `yaml:"server"`
		Pipelines []struct {
			Name  string `yaml:"name"`
			Store string `yaml:"store"`
		} `yaml:"pipelines"`
	}
	text, err := os.ReadFile(configFile)
	if err != nil {
		return err
	}
	if err := yaml.Unmarshal(text, &config); err != nil || len(config.Pipelines) != len(shop.DefaultConfig().Pipelines) {
		return fmt.Errorf("the configuration does not fit: %+v, %w", config, err)
	}
	if err := os.MkdirAll(config.Server.DataDir, 0o700); err != nil {
		return err
	}
	link := "http://" + config.Server.Listen + "/first-admin?token=abc\n"
	if err := os.WriteFile(filepath.Join(config.Server.DataDir, "first-admin-link"), []byte(link), 0o600); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	server := &http.Server{Addr: config.Server.Listen, Handler: http.NewServeMux()}
	server.Handler.(*http.ServeMux).HandleFunc("/healthz", func(http.ResponseWriter, *http.Request) {})
	context.AfterFunc(ctx, func() { server.Close() })
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func upOptions(dir string, out io.Writer) shop.Options {
	return shop.Options{Dir: dir, Dashboard: os.Args[0], Listen: "127.0.0.1:0", Config: shop.DefaultConfig(), Out: out}
}

// transcript is what a playground printed so far.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (t *transcript) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.Write(p)
}

func (t *transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

func TestAPlaygroundIsAloneInItsFolderAndOutlivesNoKill(t *testing.T) {
	serverstest.Needed(t)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	dir := filepath.Join(t.TempDir(), "ground")
	t.Setenv(roleVariable, dir)
	var killed transcript
	child := exec.Command(os.Args[0])
	child.Stdout, child.Stderr = &killed, &killed
	must(t, child.Start())
	waitUntil(t, 3*time.Minute, "the first playground is up", func() bool { return strings.Contains(killed.String(), "first-admin?token") })

	err := shop.Up(t.Context(), upOptions(dir, &transcript{}))
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("already runs in %s (process %d, http://127.0.0.1:", dir, child.Process.Pid)) {
		t.Errorf("a second playground in the folder: %v", err)
	}

	must(t, child.Process.Kill())
	_ = child.Wait() // it says that it was killed
	waitUntil(t, 3*time.Minute, "nothing of the killed playground listens", func() bool { return len(listening(t, dir, killed.String())) == 0 })

	var out transcript
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- shop.Up(ctx, upOptions(dir, &out)) }()
	waitUntil(t, 3*time.Minute, "the playground is up again in the folder", func() bool { return strings.Contains(out.String(), "first-admin?token") })
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if !strings.HasPrefix(lines[len(lines)-2], "Dashboard: http://127.0.0.1:") {
		t.Errorf("the last line but one is %q", lines[len(lines)-2])
	}
	waitUntil(t, 3*time.Minute, "the ledger's file is written", func() bool {
		text, err := os.ReadFile(filepath.Join(dir, "ledger.json"))
		return err == nil && bytes.Contains(text, []byte(`"published"`))
	})
	if ports := listening(t, dir, out.String()); len(ports) < 5 {
		t.Errorf("the running playground listens on %v, want dashboard, ledger, Redis, AMQP and management", ports)
	}
	started := time.Now()
	cancel()
	must(t, <-ended)
	if took := time.Since(started); took > 60*time.Second {
		t.Errorf("the stop took %s, want at most a minute", took)
	}
	if ports := listening(t, dir, out.String()); len(ports) > 0 {
		t.Errorf("after the stop somebody still listens on %v", ports)
	}
}

func TestCtrlCWhileThePlaygroundStartsLeavesNothing(t *testing.T) {
	serverstest.Needed(t)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	dir := filepath.Join(t.TempDir(), "ground")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- shop.Up(ctx, upOptions(dir, &transcript{})) }()
	waitUntil(t, 3*time.Minute, "the broker is on its way up", func() bool {
		log, err := os.ReadFile(filepath.Join(dir, "rabbitmq", "rabbitmq.log"))
		return err == nil && len(log) > 0
	})
	cancel()
	must(t, <-ended)
	if ports := listening(t, dir, ""); len(ports) > 0 {
		t.Errorf("somebody still listens on %v", ports)
	}
}

func TestAMissingDashboardIsSaidWithTheRemedy(t *testing.T) {
	options := upOptions(filepath.Join(t.TempDir(), "ground"), &transcript{})
	options.Dashboard = filepath.Join(t.TempDir(), "nothing")
	if err := shop.Up(t.Context(), options); err == nil || !strings.Contains(err.Error(), "make build") {
		t.Errorf("error = %v, want one that says make build", err)
	}
}

var address = regexp.MustCompile(`127\.0\.0\.1:[0-9]+`)

// listening returns the addresses in a playground's files and output that accept connections.
func listening(t *testing.T, dir, printed string) []string {
	t.Helper()
	text := printed
	for _, name := range []string{"rabbitmq/rabbitmq.conf", "dashboard.yaml"} {
		// A playground that was cut short has not written all of them.
		if file, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			text += string(file)
		}
	}
	if match := regexp.MustCompile(`management.tcp.port = ([0-9]+)`).FindStringSubmatch(text); match != nil {
		text += " 127.0.0.1:" + match[1]
	}
	seen := make(map[string]bool)
	var open []string
	for _, a := range address.FindAllString(text, -1) {
		if seen[a] {
			continue
		}
		seen[a] = true
		if connection, err := net.DialTimeout("tcp", a, time.Second); err == nil {
			connection.Close()
			open = append(open, a)
		}
	}
	return open
}
