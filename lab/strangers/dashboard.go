package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"dedup-dashboard/lab/servers"
)

// token lets the viewer in; the dashboard listens to this machine alone.
const token = "strangers-0123456789abcdef0123456789abcdef"

// A dashboard is the real program with its configuration.
type dashboard struct {
	folder, program, config string
	listen                  string
	process                 *servers.Process
	output                  *os.File
}

// newDashboard writes the configuration, finds or builds the program and has it check the configuration.
func newDashboard(ctx context.Context, o options, b *backends, pipelines []*pipeline, stores []string) (*dashboard, error) {
	port, err := servers.FreePort()
	if err != nil {
		return nil, err
	}
	d := &dashboard{folder: o.out, program: o.program, config: filepath.Join(o.out, "my.yaml"), listen: fmt.Sprintf("127.0.0.1:%d", port)}
	var text strings.Builder
	fmt.Fprintf(&text, "server: {listen: %q, data_dir: %q}\ncollector: {interval: %s}\n", d.listen, filepath.Join(o.out, "data"), o.interval)
	fmt.Fprintf(&text, "brokers:\n  - {name: main, management_url: %q, username: %s, password: %s, prometheus_urls: [%q]}\n",
		b.rabbit.ManagementURL(), watcher, watcherPassword, b.rabbit.PrometheusURL())
	fmt.Fprintf(&text, "auth: {tokens: [{name: strangers, role: operator, token: %q}]}\n", token)
	fmt.Fprintf(&text, "stores:\n  - %s\npipelines:\n", strings.Join(stores, "\n  - "))
	for _, p := range pipelines {
		fmt.Fprintf(&text, "  - %s\n", p.pipelineLine())
	}
	if err := os.WriteFile(d.config, []byte(text.String()), 0o600); err != nil {
		return nil, err
	}
	if d.program == "" {
		if d.program, err = servers.BuildDashboard(ctx, o.out); err != nil {
			return nil, err
		}
	}
	return d, d.check(ctx)
}

// check keeps what the program says of the configuration, and fails where it refuses it.
func (d *dashboard) check(ctx context.Context) error {
	const refused = 2
	text, err := exec.CommandContext(ctx, d.program, "check", "-config", d.config).CombinedOutput()
	if exit := new(exec.ExitError); errors.As(err, &exit) && exit.ExitCode() == refused {
		return fmt.Errorf("the configuration is refused:\n%s", text)
	}
	return os.WriteFile(filepath.Join(d.folder, "check.txt"), text, 0o600)
}

func (d *dashboard) start() (err error) {
	if d.output, err = os.Create(filepath.Join(d.folder, "dashboard.log")); err != nil {
		return err
	}
	cmd := exec.Command(d.program, "serve", "-config", d.config)
	cmd.Stdout, cmd.Stderr = d.output, d.output
	if d.process, err = servers.StartProcess(cmd); err != nil {
		return errors.Join(err, d.output.Close())
	}
	log.Printf("the dashboard runs as %d on %s", d.process.PID(), d.listen)
	return nil
}

// stays waits until a time, or until the context ends; it fails if the program ends before.
func (d *dashboard) stays(ctx context.Context, until time.Time) error {
	t := time.NewTimer(time.Until(until))
	defer t.Stop()
	select {
	case <-d.process.Done():
		return fmt.Errorf("the dashboard ended: %w", d.process.Err())
	case <-ctx.Done():
	case <-t.C:
	}
	return nil
}

// stop lets it end in peace.
func (d *dashboard) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	_ = d.process.Stop(ctx)
	d.output.Close()
}
