package servers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// rabbitPrograms are the programs of an installed RabbitMQ and of its Erlang; call is empty where erl_call is missing.
type rabbitPrograms struct{ server, ctl, epmd, call string }

// findRabbitPrograms prefers the package's own scripts over those in PATH: Debian's in PATH switch to the user
// rabbitmq, who cannot write our folder. The programs of another root folder run within it.
func findRabbitPrograms(root string) (rabbitPrograms, error) {
	if root != "" {
		return rabbitProgramsIn(root)
	}
	const advice = "(Debian and Ubuntu: apt-get install rabbitmq-server)"
	var found rabbitPrograms
	const debian = "/usr/lib/rabbitmq/bin/"
	if _, err := os.Stat(debian + "rabbitmq-server"); err == nil {
		found.server, found.ctl = debian+"rabbitmq-server", debian+"rabbitmqctl"
	} else {
		server, err := exec.LookPath("rabbitmq-server")
		if err != nil {
			return found, fmt.Errorf("install rabbitmq-server %s: %w", advice, err)
		}
		found.server, found.ctl = server, filepath.Join(filepath.Dir(server), "rabbitmqctl")
	}
	epmd, err := exec.LookPath("epmd")
	if err != nil {
		return found, fmt.Errorf("install Erlang, epmd is missing %s: %w", advice, err)
	}
	found.epmd = epmd
	found.call, _ = exec.LookPath("erl_call")
	return found, nil
}

// rabbitProgramsIn returns the programs of a Debian in a folder, as paths within it.
func rabbitProgramsIn(root string) (rabbitPrograms, error) {
	const scripts = "/usr/lib/rabbitmq/bin/"
	if _, err := os.Stat(filepath.Join(root, scripts, "rabbitmq-server")); err != nil {
		return rabbitPrograms{}, fmt.Errorf("the root folder has no RabbitMQ (mmdebstrap --include=rabbitmq-server makes one): %w", err)
	}
	if _, err := os.Stat(filepath.Join(root, "proc", "self")); err != nil {
		return rabbitPrograms{}, fmt.Errorf("run: mount --bind /proc %[1]s/proc; mount --bind /dev %[1]s/dev: %w", root, err)
	}
	found := rabbitPrograms{server: scripts + "rabbitmq-server", ctl: scripts + "rabbitmqctl", epmd: "/usr/bin/epmd"}
	const call = "/usr/bin/erl_call"
	if _, err := os.Stat(filepath.Join(root, call)); err == nil {
		found.call = call
	}
	return found, nil
}

// command runs a program of the broker, in its root folder if it has one of its own.
func (r *RabbitMQ) command(cmd *exec.Cmd) *exec.Cmd {
	cmd.Env, cmd.Dir = r.environment(), r.options.Dir
	if r.options.Root != "" {
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: r.options.Root}
	}
	return cmd
}

// writeFiles lays out an empty folder for the node: a database of an earlier server there has another password.
func (r *RabbitMQ) writeFiles() error {
	if err := os.RemoveAll(r.outside("mnesia")); err != nil {
		return fmt.Errorf("clear the broker's folder: %w", err)
	}
	for _, dir := range []string{"mnesia", "log", "schema", "generated"} {
		if err := os.MkdirAll(r.outside(dir), 0o700); err != nil {
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
		if err := os.WriteFile(r.outside(name), []byte(text), 0o600); err != nil {
			return fmt.Errorf("write the broker's configuration: %w", err)
		}
	}
	return nil
}

// path is where the broker finds a file of its folder, outside is where we do: within its root folder.
func (r *RabbitMQ) path(name string) string { return filepath.Join(r.options.Dir, name) }

func (r *RabbitMQ) outside(name string) string { return filepath.Join(r.options.Root, r.path(name)) }

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
	programs := os.Getenv("PATH")
	if r.options.Root != "" {
		programs = "/usr/sbin:/usr/bin:/sbin:/bin"
	}
	return []string{
		"PATH=" + programs,
		"LANG=C.UTF-8", "LC_ALL=C.UTF-8",
		"HOME=" + r.options.Dir, // the Erlang cookie is written here
		"ERL_EPMD_PORT=" + strconv.Itoa(r.ports.epmd),
		"ERL_EPMD_ADDRESS=127.0.0.1",
		"ERL_CRASH_DUMP_SECONDS=0",
		"RABBITMQ_NODENAME=" + nodeName,
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
		"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=-kernel inet_dist_use_interface {127,0,0,1}",
		// Makes the start script replace itself by the Erlang machine, so that our process id is the broker's.
		"RUNNING_UNDER_SYSTEMD=true",
	}
}
