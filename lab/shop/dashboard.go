package shop

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"dedup-dashboard/lab/servers"
)

// dashboardConfig is the dashboard's configuration for the shop, as YAML. Its notifications go to the address of the control.
func dashboardConfig(config Config, listen, dataDir, control string, broker *servers.RabbitMQ, stores stores, a access) string {
	var out strings.Builder
	fmt.Fprintf(&out, "# Written by the playground at each start; changes here are lost.\n")
	fmt.Fprintf(&out, "server: {listen: %q, data_dir: %q}\n", listen, dataDir)
	fmt.Fprintf(&out, "collector: {interval: 5s}\n")
	fmt.Fprintf(&out, "brokers:\n  - {name: main, management_url: %q, username: %q, password: %q, prometheus_urls: [%q],\n     act: {amqp_url: %[5]q, username: %[6]q, password: %[7]q},\n     measure: {amqp_url: %[5]q, username: %[8]q, password: %[9]q}}\n",
		broker.ManagementURL(), watcher, a.brokerPassword, broker.PrometheusURL(), "amqp://"+broker.AMQPAddr()+"/", mover, a.moverPassword, measurer, a.measurerPassword)
	fmt.Fprintf(&out, "stores:\n")
	for _, pipeline := range config.Pipelines {
		address := stores.of(pipeline.Name).Addr()
		fmt.Fprintf(&out, "  - {name: %s, preset: %s, redis: {url: %q}, act: {redis: {url: %q}}, %s, sweep: {every: 5s}, events: true}\n",
			pipeline.Name, pipeline.Scheme, a.redisURL(address, pipeline.DB), a.actorURL(address, pipeline.DB), keysOf(pipeline.Scheme))
	}
	fmt.Fprintf(&out, "alerts:\n  channels:\n    - {name: receiver, type: webhook, url: %q}\n", control+"/notifications")
	fmt.Fprintf(&out, "pipelines:\n")
	for _, pipeline := range config.Pipelines {
		fmt.Fprintf(&out, "  - {name: %s, broker: main, vhost: /, queues: [%s], store: %s, dead_letter_queues: %s, "+
			"id: {from: message_id}, max_processing: %s, labels: {team: shop}}\n", pipeline.Name, pipeline.Name, pipeline.Name, deadLettersOf(pipeline), pipeline.MaxProcessing)
	}
	return out.String()
}

// keysOf says which keys hold the markers of a scheme.
func keysOf(scheme SchemeName) string {
	switch scheme {
	case JSONStatus:
		return `match: "msg:dedup:*"`
	case Timestamp:
		return `match: "dedup:*"`
	}
	return `match: "msg:*", exclude: ["msg:dedup:*"]`
}

// deadLettersOf names the dead-letter queue where the dashboard cannot find it by itself.
func deadLettersOf(pipeline PipelineConfig) string {
	if pipeline.Astray() {
		return "[" + pipeline.DeadLetterQueue() + "]"
	}
	return "auto"
}

// chooseListen returns the wanted loopback address, or one with a free port if the wanted one is taken.
func chooseListen(wanted string) (listen string, moved bool, err error) {
	listener, err := net.Listen("tcp", wanted)
	if err == nil {
		// The listener's own address: the wanted port may be 0.
		return listener.Addr().String(), false, listener.Close()
	}
	host, _, splitErr := net.SplitHostPort(wanted)
	if splitErr != nil {
		return "", false, fmt.Errorf("listen on %q: %w", wanted, splitErr)
	}
	port, err := servers.FreePort()
	if err != nil {
		return "", false, fmt.Errorf("listen on %q: %w", wanted, err)
	}
	return net.JoinHostPort(host, strconv.Itoa(port)), true, nil
}

// startDashboard starts the dashboard as a child process and returns when it answers.
func startDashboard(ctx context.Context, program, listen string, f *folder) (*servers.Process, error) {
	log, err := os.OpenFile(f.file("dashboard.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start the dashboard: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(program, "serve", "-config", f.file("dashboard.yaml"))
	cmd.Stdout, cmd.Stderr = log, log
	process, err := servers.StartProcess(cmd)
	if err != nil {
		return nil, fmt.Errorf("start the dashboard: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for !answers(ctx, "http://"+listen+"/healthz") {
		select {
		case <-process.Done():
			return nil, fmt.Errorf("the dashboard ended at its start: %w\n%s", endOf(process), tailOf(f.file("dashboard.log")))
		default:
		}
		if !wait(ctx, 50*time.Millisecond) {
			process.Kill()
			return nil, fmt.Errorf("the dashboard did not answer: %w\n%s", ctx.Err(), tailOf(f.file("dashboard.log")))
		}
	}
	return process, nil
}

func answers(ctx context.Context, url string) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// firstAdminLink returns the one-time link that the dashboard leaves in its data folder while it has no admin, or an
// empty text if none comes within 3 s.
func firstAdminLink(ctx context.Context, f *folder) string {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	for {
		text, err := os.ReadFile(f.file("data/first-admin-link"))
		if link := strings.TrimSpace(string(text)); err == nil && link != "" {
			return link
		}
		if !wait(ctx, 50*time.Millisecond) {
			return ""
		}
	}
}

func endOf(process *servers.Process) error {
	if err := process.Err(); err != nil {
		return err
	}
	return errors.New("exit status 0")
}

// tailOf returns the end of a log for an error message.
func tailOf(name string) string {
	text, err := os.ReadFile(name)
	if err != nil {
		return "(no log: " + err.Error() + ")"
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-15):], "\n")
}
