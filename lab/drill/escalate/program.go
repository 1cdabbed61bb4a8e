package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"dedup-dashboard/lab/servers"
)

// apiToken opens the API; the dashboard only gets its value from the environment.
const (
	apiToken      = "an-api-token-that-is-long-enough-for-256-bits-of-noise"
	tokenVariable = "DEDUP_ESCALATE_TOKEN"
)

// A program is the real dashboard in a process of its own, asked over its API.
type program struct {
	path    string
	config  string
	data    string
	listen  string
	process *servers.Process
}

// buildProgram builds the dashboard and chooses its address. It still needs a configuration.
func buildProgram(ctx context.Context, dir string) (*program, error) {
	port, err := servers.FreePort()
	if err != nil {
		return nil, fmt.Errorf("choose an address for the dashboard: %w", err)
	}
	p := &program{
		config: filepath.Join(dir, "dashboard.yaml"), data: filepath.Join(dir, "data"),
		listen: fmt.Sprintf("127.0.0.1:%d", port),
	}
	p.path, err = servers.BuildDashboard(ctx, dir)
	return p, err
}

// configure writes the configuration: what every one of ours has, and the rest.
func (p *program) configure(rest string) error {
	text := fmt.Sprintf("server: {listen: %q, data_dir: %q}\ncollector: {interval: %s}\n", p.listen, p.data, interval) +
		fmt.Sprintf("auth:\n  tokens: [{name: test, role: viewer, token: {env: %s}}]\n", tokenVariable) + rest
	if err := os.WriteFile(p.config, []byte(text), 0o600); err != nil {
		return fmt.Errorf("write the dashboard's configuration: %w", err)
	}
	return nil
}

// start starts the dashboard and waits for nothing.
func (p *program) start() error {
	log, err := os.OpenFile(p.config+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("start the dashboard: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(p.path, "serve", "-config", p.config)
	cmd.Env = append(os.Environ(), tokenVariable+"="+apiToken)
	cmd.Stdout, cmd.Stderr = log, log
	if p.process, err = servers.StartProcess(cmd); err != nil {
		return fmt.Errorf("start the dashboard: %w", err)
	}
	return nil
}

// kill ends the dashboard with SIGKILL, if it runs.
func (p *program) kill() {
	if p.process != nil {
		p.process.Kill()
	}
}

// ended says how the dashboard ended by itself; nil while it runs.
func (p *program) ended() error {
	select {
	case <-p.process.Done():
		log, _ := os.ReadFile(p.config + ".log")
		return fmt.Errorf("the dashboard ended: %w\n%s", errors.Join(p.process.Err(), errors.New("see its log")), log[max(0, len(log)-5000):])
	default:
		return nil
	}
}

// ask reads one answer of the API.
func (p *program) ask(ctx context.Context, path string, to any) error {
	body, err := p.read(ctx, path)
	if err == nil {
		err = json.Unmarshal(body, to)
	}
	if err != nil {
		return fmt.Errorf("ask for %s: %w", path, err)
	}
	return nil
}

// read returns one answer as it comes.
func (p *program) read(ctx context.Context, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.listen+path, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+apiToken)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %.300s", response.StatusCode, body)
	}
	return body, err
}

// awaitAnswer waits until a condition holds; an error of it is what it saw last, and no reason to give up.
func (p *program) awaitAnswer(ctx context.Context, patience time.Duration, what string, condition func() error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		err := condition()
		if err == nil {
			return nil
		}
		if ended := p.ended(); ended != nil {
			return fmt.Errorf("wait for %s: %w", what, ended)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not within %s: %s; last: %w", patience, what, err)
		case <-tick.C:
		}
	}
}
