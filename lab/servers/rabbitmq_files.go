package servers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// rabbitPrograms are the programs of an installed RabbitMQ and of its Erlang; call is empty where erl_call is missing.
type rabbitPrograms struct{ server, ctl, epmd, call string }

// findRabbitPrograms prefers the package's own scripts over those in the path: Debian's in the path switch to the user rabbitmq, who
// cannot write our folder.
func findRabbitPrograms(within root) (rabbitPrograms, error) {
	const advice = "(Debian and Ubuntu: apt-get install rabbitmq-server)"
	const debian = "/usr/lib/rabbitmq/bin/"
	server, ok := within.find(debian+"rabbitmq-server", "rabbitmq-server")
	if !ok {
		return rabbitPrograms{}, fmt.Errorf("rabbitmq-server is missing%s: install it %s", within.place(), advice)
	}
	epmd, ok := within.find("epmd")
	if !ok {
		return rabbitPrograms{}, fmt.Errorf("Erlang's epmd is missing%s: install it %s", within.place(), advice)
	}
	call, _ := within.find("erl_call")
	return rabbitPrograms{server: server, ctl: filepath.Join(filepath.Dir(server), "rabbitmqctl"), epmd: epmd, call: call}, nil
}

// command is a program of the broker.
func (r *RabbitMQ) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := r.root.command(ctx, r.options.Dir, nil, program, args...)
	cmd.Env = r.environment()
	return cmd
}

// writeFiles lays out an empty folder for the node: a database of an earlier server there has another password.
func (r *RabbitMQ) writeFiles() error {
	if err := os.RemoveAll(r.path("mnesia")); err != nil {
		return fmt.Errorf("clear the broker's folder: %w", err)
	}
	for _, dir := range []string{"mnesia", "log", "schema", "generated"} {
		if err := os.MkdirAll(r.path(dir), 0o700); err != nil {
			return fmt.Errorf("make the broker's folder: %w", err)
		}
	}
	plugins := append([]string{"rabbitmq_management"}, r.options.Plugins...)
	if r.options.Prometheus {
		plugins = append(plugins, "rabbitmq_prometheus")
	}
	files := map[string]string{
		"rabbitmq.conf":     strings.Join(r.configLines(), "\n") + "\n",
		"rabbitmq-env.conf": "",
		"enabled_plugins":   "[" + strings.Join(plugins, ",") + "].\n",
	}
	for name, text := range files {
		if err := os.WriteFile(r.path(name), []byte(text), 0o600); err != nil {
			return fmt.Errorf("write the broker's configuration: %w", err)
		}
	}
	return nil
}

func (r *RabbitMQ) path(name string) string { return filepath.Join(r.options.Dir, name) }

func (r *RabbitMQ) configLines() []string {
	lines := []string{
		"listeners.tcp.local = " + loopback(r.ports.amqp),
		"management.tcp.ip = 127.0.0.1",
		"management.tcp.port = " + strconv.Itoa(r.ports.management),
		"default_user = " + adminUser,
		"default_pass = " + r.password,
		"loopback_users = none",
		"log.console = true",
		"log.file = false",
		// The alarm's default watches for less than 50 MB; a laptop's nearly full disk must not block the samples.
		"disk_free_limit.absolute = 32MB",
	}
	if r.options.Prometheus {
		lines = append(lines, "prometheus.tcp.ip = 127.0.0.1", "prometheus.tcp.port = "+strconv.Itoa(r.ports.prometheus))
	}
	if interval := r.options.StatisticsInterval; interval > 0 {
		lines = append(lines, "collect_statistics_interval = "+strconv.FormatInt(interval.Milliseconds(), 10))
	}
	return append(lines, r.options.Config...)
}

// environment is built from nothing: RABBITMQ_ and ERL_ variables of the caller would reach the machine's own broker.
func (r *RabbitMQ) environment() []string {
	return []string{
		"PATH=" + r.root.path(),
		"LANG=C.UTF-8", "LC_ALL=C.UTF-8",
		"HOME=" + r.options.Dir, // the Erlang cookie is written here
		"ERL_EPMD_PORT=" + strconv.Itoa(r.ports.epmd),
		"ERL_EPMD_ADDRESS=127.0.0.1",
		"ERL_CRASH_DUMP_SECONDS=0",
		"RABBITMQ_NODENAME=" + r.name,
		"RABBITMQ_DIST_PORT=" + strconv.Itoa(r.ports.dist),
		"RABBITMQ_CTL_DIST_PORT_MIN=0", "RABBITMQ_CTL_DIST_PORT_MAX=0",
		"RABBITMQ_CONF_ENV_FILE=" + r.path("rabbitmq-env.conf"),
		"RABBITMQ_CONFIG_FILE=" + r.path("rabbitmq.conf"),
		"RABBITMQ_ADVANCED_CONFIG_FILE=" + r.path("advanced.config"),
		"RABBITMQ_ENABLED_PLUGINS_FILE=" + r.path("enabled_plugins"),
		"RABBITMQ_MNESIA_BASE=" + r.path("mnesia"),
		"RABBITMQ_PLUGINS_EXPAND_DIR=" + r.path("plugins-expand"),
		"RABBITMQ_GENERATED_CONFIG_DIR=" + r.path("generated"),
		"RABBITMQ_SCHEMA_DIR=" + r.path("schema"),
		"RABBITMQ_LOG_BASE=" + r.path("log"),
		// Left to itself each node binds its first thread to the first processor, and several nodes wait there for each other.
		"RABBITMQ_SCHEDULER_BIND_TYPE=u",
		"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=-kernel inet_dist_use_interface {127,0,0,1} " + r.options.ErlangArgs,
		// Makes the start script replace itself by the Erlang machine, so that our process id is the broker's.
		"RUNNING_UNDER_SYSTEMD=true",
	}
}
