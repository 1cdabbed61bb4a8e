package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"dedup-dashboard/lab/servers"
)

// measureProgram measures the whole program: 200 pipelines on a real broker and store, 30 days of history, and a
// process before it that was killed.
func measureProgram(ctx context.Context, b *bench) error {
	p := &program{binary: filepath.Join(b.folder, "dashboard"), folder: filepath.Join(b.folder, "program")}
	if err := buildDashboard(ctx, p.binary); err != nil {
		return err
	}
	info, err := os.Stat(p.binary)
	if err != nil {
		return err
	}
	b.table.add("program: size of the stripped binary", float64(info.Size())/(1<<20), "MiB", target{})

	if _, err := b.makeHistory(ctx, filepath.Join(p.folder, "series"), time.Now()); err != nil {
		return err
	}
	b.note("starting RabbitMQ and Redis for 200 pipelines")
	store, err := servers.StartRedis(ctx, servers.RedisOptions{Dir: filepath.Join(b.folder, "program-redis")})
	if err != nil {
		return err
	}
	defer store.Kill()
	broker, err := servers.StartRabbitMQ(ctx, servers.RabbitMQOptions{Dir: filepath.Join(b.folder, "program-rabbitmq")})
	if err != nil {
		return err
	}
	defer broker.Kill()
	if err := p.configure(broker, store); err != nil {
		return err
	}
	return p.measure(ctx, b)
}

func buildDashboard(ctx context.Context, binary string) error {
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, "./cmd/dashboard")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the dashboard: %w\n%s", err, out)
	}
	return nil
}

// program is the dashboard as its users run it.
type program struct {
	binary, folder, config, listen string
}

func (p *program) configure(broker *servers.RabbitMQ, store *servers.Redis) error {
	port, err := servers.FreePort()
	if err != nil {
		return err
	}
	p.listen = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	user, password := broker.Admin()
	var queues []string
	var text strings.Builder
	fmt.Fprintf(&text, "server: {listen: %q, data_dir: %q}\n", p.listen, p.folder)
	fmt.Fprintf(&text, "brokers:\n  - {name: main, management_url: %q, username: %q, password: %q}\n", broker.ManagementURL(), user, password)
	fmt.Fprintf(&text, "stores:\n  - {name: main, preset: redis-text-status, redis: {url: %q}}\npipelines:\n", store.URL())
	for n := range historyPipelines {
		name := pipelineName(n)
		queues = append(queues, name, name+".dlq")
		fmt.Fprintf(&text, "  - {name: %s, broker: main, vhost: /, queues: [%s], store: main, dead_letter_queues: [%s.dlq], id: {from: message_id}}\n", name, name, name)
	}
	if err := declareQueues(broker, queues); err != nil {
		return err
	}
	p.config = filepath.Join(p.folder, "dashboard.yaml")
	return os.WriteFile(p.config, []byte(text.String()), 0o600)
}

// measure starts the program, kills it in its work, and measures the start after that.
func (p *program) measure(ctx context.Context, b *bench) error {
	b.note("starting the dashboard, killing it and starting it again")
	first, err := p.start(ctx)
	if err != nil {
		return err
	}
	if err := p.waitFor(ctx, first, p.ready); err != nil {
		return err
	}
	if err := sleep(ctx, 3*historyInterval); err != nil {
		return err
	}
	first.Kill()
	<-first.Done()

	start := time.Now()
	second, err := p.start(ctx)
	if err != nil {
		return err
	}
	defer second.Kill()
	if err := p.waitFor(ctx, second, p.listening); err != nil {
		return err
	}
	b.table.add("program: listening after kill -9", ms(time.Since(start)), "ms", target{atMost: 300})
	if err := p.waitFor(ctx, second, p.ready); err != nil {
		return err
	}
	b.table.add("program: /readyz answers 200", time.Since(start).Seconds(), "s", target{atMost: 2})
	b.note("letting it run for %s", b.rest)
	if err := sleep(ctx, b.rest); err != nil {
		return err
	}
	pid := strconv.Itoa(second.PID())
	b.table.add("program: memory (RSS) after "+b.rest.String(), memory(pid, "VmRSS"), "MiB", target{atMost: 150})
	b.table.add("program:   of it mapped files, which the system can take back", memory(pid, "RssFile"), "MiB", target{})
	b.table.add("program: processor time in that time, of one core", 100*cpuSeconds(second.PID())/time.Since(start).Seconds(), "%", target{})
	return nil
}

func (p *program) start(ctx context.Context) (*servers.Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	log, err := os.OpenFile(p.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(p.binary, "serve", "-config", p.config)
	cmd.Stdout, cmd.Stderr = log, log
	return servers.StartProcess(cmd)
}

func (p *program) log() string { return filepath.Join(p.folder, "dashboard.log") }

// waitFor asks again and again, each 2 ms, because the answer is a figure.
func (p *program) waitFor(ctx context.Context, process *servers.Process, is func(context.Context) bool) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for !is(ctx) {
		select {
		case <-process.Done():
			return fmt.Errorf("the dashboard ended: %w\n%s", process.Err(), tail(p.log()))
		default:
		}
		if err := sleep(ctx, 2*time.Millisecond); err != nil {
			return fmt.Errorf("the dashboard did not answer: %w\n%s", err, tail(p.log()))
		}
	}
	return nil
}

func (p *program) listening(ctx context.Context) bool {
	var dialer net.Dialer
	connection, err := dialer.DialContext(ctx, "tcp", p.listen)
	if err != nil {
		return false
	}
	return connection.Close() == nil && p.answers(ctx, "/healthz")
}

func (p *program) ready(ctx context.Context) bool { return p.answers(ctx, "/readyz") }

func (p *program) answers(ctx context.Context, path string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.listen+path, nil)
	if err != nil {
		return false
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return errors.Join(err, answer.Body.Close()) == nil && answer.StatusCode == http.StatusOK
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// tail returns the last lines of a file.
func tail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-2000):])
}
