package servers

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// AlertmanagerOptions says how a private Alertmanager is started.
type AlertmanagerOptions struct {
	// Dir is the folder for everything that the server reads and writes; it is created.
	Dir string
	// Config is the text of its alertmanager.yml.
	Config string
	// Cluster makes it a member of a cluster, together with Peers: the cluster addresses of members that run already.
	Cluster bool
	Peers   []string
	// Args are further arguments, as "--alerts.gc-interval=1s".
	Args []string
	// Log, when not nil, also receives what the server prints; the file alertmanager.log in Dir always does.
	Log io.Writer
}

// Alertmanager is a private Prometheus Alertmanager on free loopback ports. Its methods must not be called at the same time, save those
// that return addresses.
type Alertmanager struct {
	options       AlertmanagerOptions
	port, cluster int
	// prefix begins every path. It is drawn anew for every server, so that no other one is taken for this one, which lost its port to it.
	prefix  string
	process *Process
	logFile func() error
}

// StartAlertmanager starts a private Alertmanager and returns when it says that it is ready, which takes less than a second.
func StartAlertmanager(ctx context.Context, options AlertmanagerOptions) (*Alertmanager, error) {
	dir, err := filepath.Abs(options.Dir)
	if err != nil {
		return nil, fmt.Errorf("start Alertmanager: %w", err)
	}
	options.Dir = dir
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("start Alertmanager: make its folder: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "alertmanager.yml"), []byte(options.Config), 0o600); err != nil {
		return nil, fmt.Errorf("start Alertmanager: write its configuration: %w", err)
	}
	for attempt := 1; ; attempt++ {
		ports, err := freePorts(2)
		if err != nil {
			return nil, fmt.Errorf("start Alertmanager: %w", err)
		}
		server := &Alertmanager{options: options, port: ports[0], cluster: ports[1], prefix: "/" + rand.Text()}
		err = server.boot(ctx)
		if err == nil {
			return server, nil
		}
		if attempt == bootAttempts || !isPortConflict(err.Error()) {
			return nil, err
		}
	}
}

// URL is the root of the server: /api/v2 is under it.
func (a *Alertmanager) URL() string { return "http://" + loopback(a.port) + a.prefix }

// ClusterAddr is the host and port by which other members reach this one.
func (a *Alertmanager) ClusterAddr() string { return loopback(a.cluster) }

// PID is the process id of the server as it was last started.
func (a *Alertmanager) PID() int { return a.process.PID() }

// Stop ends the server, by SIGKILL when it does not end before ctx does or within half a minute. It keeps silences and whom it notified,
// but no alerts.
func (a *Alertmanager) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	return errors.Join(a.process.Stop(ctx), a.logFile())
}

// Kill ends the server at once, as a crash would.
func (a *Alertmanager) Kill() {
	a.process.Kill()
	_ = a.logFile()
}

// Restart starts the server again on its ports and with its data, after stopping it if it still runs.
func (a *Alertmanager) Restart(ctx context.Context) error {
	if err := a.Stop(ctx); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return a.boot(ctx)
}

func (a *Alertmanager) boot(ctx context.Context) error {
	program, err := findAlertmanager()
	if err != nil {
		return fmt.Errorf("start Alertmanager: %w", err)
	}
	logName := filepath.Join(a.options.Dir, "alertmanager.log")
	out, closeLog, err := output(logName, a.options.Log)
	if err != nil {
		return fmt.Errorf("start Alertmanager: %w", err)
	}
	cmd := exec.Command(program, a.arguments()...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = a.options.Dir, out, out
	process, err := startServer("Alertmanager", cmd)
	if err != nil {
		return errors.Join(fmt.Errorf("start Alertmanager: %w", err), closeLog())
	}
	a.process, a.logFile = process, closeLog
	waiting, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := poll(waiting, process, a.ready); err != nil {
		a.Kill()
		return fmt.Errorf("start Alertmanager on %s: %w\nits log ends with:\n%s", a.URL(), err, tail(logName))
	}
	return nil
}

func (a *Alertmanager) arguments() []string {
	args := []string{"--config.file=" + filepath.Join(a.options.Dir, "alertmanager.yml"),
		"--storage.path=" + filepath.Join(a.options.Dir, "data"),
		"--web.listen-address=" + loopback(a.port), "--web.route-prefix=" + a.prefix}
	if a.options.Cluster {
		args = append(args, "--cluster.listen-address="+a.ClusterAddr(), "--cluster.advertise-address="+a.ClusterAddr())
		for _, peer := range a.options.Peers {
			args = append(args, "--cluster.peer="+peer)
		}
	} else {
		args = append(args, "--cluster.listen-address=")
	}
	return append(args, a.options.Args...)
}

// ready asks whether the server is, and no other one that got the port before it.
func (a *Alertmanager) ready(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.URL()+"/-/ready", nil)
	if err != nil {
		return err
	}
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("answer to /-/ready: status %d", response.StatusCode)
	}
	return nil
}

// findAlertmanager finds the program by the name that Debian gives it, or by its own.
func findAlertmanager() (string, error) {
	for _, name := range []string{"prometheus-alertmanager", "alertmanager"} {
		if program, err := exec.LookPath(name); err == nil {
			return program, nil
		}
	}
	return "", errors.New("alertmanager is missing: install it (Debian and Ubuntu: apt-get install prometheus-alertmanager)")
}
