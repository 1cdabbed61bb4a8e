package servers

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// nodeName is the name of every private node that is no member of a cluster: each has a port mapper of its own.
const nodeName = "private@localhost"

// adminUser is the broker's first user; its password is drawn anew for every server.
const adminUser = "playground-admin"

// RabbitMQOptions says how a private RabbitMQ is started.
type RabbitMQOptions struct {
	// Dir is the folder for everything that the broker writes: data, logs, cookie, configuration. It is created.
	Dir string
	// Root is the folder of another Debian, whose RabbitMQ is started instead of the machine's; empty takes the environment's
	// RABBITMQ_ROOT. It needs root.
	Root string
	// Log, when not nil, also receives what the broker prints; the file rabbitmq.log in Dir always does.
	Log io.Writer
	// StatisticsInterval is collect_statistics_interval; 0 leaves RabbitMQ's default of 5 s.
	StatisticsInterval time.Duration
	// Prometheus also enables the plugin rabbitmq_prometheus, on a port of its own.
	Prometheus bool
	// Plugins are further plugins to enable, as in "rabbitmq_shovel".
	Plugins []string
	// Config are further lines of rabbitmq.conf.
	Config []string
	// ErlangArgs are further arguments of the Erlang machine, as in "-kernel net_ticktime 8".
	ErlangArgs string
}

// RabbitMQ is a private one-node broker with the management plugin. Its methods must not be called at the same time,
// except those that only read an address and those of the management API.
type RabbitMQ struct {
	options  RabbitMQOptions
	name     string
	root     root
	ports    rabbitPorts
	password string
	programs rabbitPrograms
	epmd     *Process // nil for the member of a cluster, which has one for all
	node     *Process
	logFile  func() error
}

type rabbitPorts struct{ amqp, dist, management, prometheus, epmd int }

// StartRabbitMQ starts a private broker and returns when its management API says that AMQP is listening, which takes
// 5 to 15 s on an idle machine.
func StartRabbitMQ(ctx context.Context, options RabbitMQOptions) (*RabbitMQ, error) {
	for attempt := 1; ; attempt++ {
		ports, err := freePorts(portsOfNode)
		if err != nil {
			return nil, fmt.Errorf("start RabbitMQ: %w", err)
		}
		server, err := newRabbitMQ(options, ports)
		if err != nil {
			return nil, fmt.Errorf("start RabbitMQ: %w", err)
		}
		if err := server.writeFiles(); err != nil {
			return nil, fmt.Errorf("start RabbitMQ: %w", err)
		}
		if err = server.boot(ctx); err == nil {
			return server, nil
		}
		if attempt == bootAttempts || !isPortConflict(err.Error()) {
			return nil, err
		}
	}
}

// portsOfNode is how many ports a node takes.
const portsOfNode = 5

// newRabbitMQ returns a broker on some ports, which is not started.
func newRabbitMQ(options RabbitMQOptions, ports []int) (*RabbitMQ, error) {
	var err error
	if options.Dir, err = filepath.Abs(options.Dir); err != nil {
		return nil, err
	}
	within, err := rootOf(options.Root, "RABBITMQ")
	if err != nil {
		return nil, err
	}
	programs, err := findRabbitPrograms(within)
	if err != nil {
		return nil, err
	}
	return &RabbitMQ{
		options: options, name: nodeName, root: within, programs: programs, password: rand.Text(),
		ports: rabbitPorts{amqp: ports[0], dist: ports[1], management: ports[2], prometheus: ports[3], epmd: ports[4]},
	}, nil
}

// ManagementURL is the root of the management API, without a path.
func (r *RabbitMQ) ManagementURL() string { return "http://" + loopback(r.ports.management) }

// PrometheusURL is the root of the Prometheus endpoint; it answers only if the options asked for it.
func (r *RabbitMQ) PrometheusURL() string { return "http://" + loopback(r.ports.prometheus) }

// AMQPAddr is the host and port of AMQP.
func (r *RabbitMQ) AMQPAddr() string { return loopback(r.ports.amqp) }

// AMQPURL is the AMQP address of the virtual host "/" for a user.
func (r *RabbitMQ) AMQPURL(user, password string) string {
	return (&url.URL{Scheme: "amqp", User: url.UserPassword(user, password), Host: r.AMQPAddr(), Path: "/"}).String()
}

// Admin is the name and password of a user that may do everything.
func (r *RabbitMQ) Admin() (user, password string) { return adminUser, r.password }

// PID is the process id of the broker as it was last started.
func (r *RabbitMQ) PID() int { return r.node.PID() }

// Stop ends the broker and its port mapper, by SIGKILL when they do not end before ctx does or within a minute.
func (r *RabbitMQ) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	err := r.node.Stop(ctx)
	if r.epmd != nil {
		err = errors.Join(err, r.epmd.Stop(ctx))
	}
	return errors.Join(err, r.logFile())
}

// Kill ends the broker and its port mapper at once, as a crash of the machine would.
func (r *RabbitMQ) Kill() {
	r.node.Kill()
	if r.epmd != nil {
		r.epmd.Kill()
	}
	_ = r.logFile()
}

// Restart starts the broker again on its ports with its data, after stopping it if it still runs.
func (r *RabbitMQ) Restart(ctx context.Context) error {
	if err := r.Stop(ctx); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return r.boot(ctx)
}

// Ctl runs rabbitmqctl against this broker and returns what it printed. It takes 1 to 3 s of a processor; the management API and
// Eval are quicker where they can do the same.
func (r *RabbitMQ) Ctl(ctx context.Context, args ...string) (string, error) {
	cmd := r.command(ctx, r.programs.ctl, args...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("rabbitmqctl %v: %w\n%s", args, err, out)
	}
	return string(out), nil
}

// Eval has the broker evaluate Erlang expressions, the last of which ends with a full stop, and returns how the last value prints. It takes
// some hundredths of a second, and as long as Ctl where Erlang's erl_call is missing.
func (r *RabbitMQ) Eval(ctx context.Context, expressions string) (string, error) {
	if r.programs.call == "" {
		return r.Ctl(ctx, "eval", expressions)
	}
	// A name drawn at random lets several call at once.
	cmd := r.command(ctx, r.programs.call, "-sname", r.name, "-r", "-e")
	cmd.Stdin = strings.NewReader(expressions + "\n") // without which the full stop is not seen
	out, err := cmd.CombinedOutput()
	value, ok := strings.CutPrefix(strings.TrimSpace(string(out)), "{ok, ")
	if err != nil || !ok {
		return "", fmt.Errorf("erl_call: %s: %w\n%s", expressions, cmp.Or(err, errors.New("the broker refused")), out)
	}
	return strings.TrimSuffix(value, "}"), nil
}

func (r *RabbitMQ) boot(ctx context.Context) error {
	logName := r.path("rabbitmq.log")
	out, closeLog, err := output(logName, r.options.Log)
	if err != nil {
		return fmt.Errorf("start RabbitMQ: %w", err)
	}
	r.logFile = closeLog
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	if r.name == nodeName {
		if r.epmd, err = r.bootEPMD(ctx, out); err != nil {
			return errors.Join(fmt.Errorf("start RabbitMQ: %w\nits log ends with:\n%s", err, tail(logName)), closeLog())
		}
	}
	cmd := r.command(context.Background(), r.programs.server)
	cmd.Stdout, cmd.Stderr = out, out
	r.node, err = startServer("RabbitMQ", cmd)
	if err != nil {
		if r.epmd != nil {
			r.epmd.Kill()
		}
		return errors.Join(fmt.Errorf("start RabbitMQ: %w", err), closeLog())
	}
	if err := poll(ctx, r.node, r.isListening); err != nil {
		r.Kill()
		return fmt.Errorf("start RabbitMQ on %s: %w\nits log ends with:\n%s", r.AMQPAddr(), err, tail(logName))
	}
	return nil
}

// bootEPMD starts Erlang's port mapper in the foreground as our own child: left to itself the broker would start one
// as a daemon that outlives it.
func (r *RabbitMQ) bootEPMD(ctx context.Context, out io.Writer) (*Process, error) {
	cmd := r.command(context.Background(), r.programs.epmd, "-port", strconv.Itoa(r.ports.epmd), "-address", "127.0.0.1")
	cmd.Stdout, cmd.Stderr = out, out
	mapper, err := StartProcess(cmd)
	if err != nil {
		return nil, err
	}
	answers := func(ctx context.Context) error {
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", loopback(r.ports.epmd))
		if err != nil {
			return err
		}
		return connection.Close()
	}
	if err := poll(ctx, mapper, answers); err != nil {
		mapper.Kill()
		return nil, fmt.Errorf("start epmd on port %d: %w", r.ports.epmd, err)
	}
	return mapper, nil
}

func (r *RabbitMQ) isListening(ctx context.Context) error {
	return r.API(ctx, http.MethodGet, "/api/health/checks/port-listener/"+strconv.Itoa(r.ports.amqp), nil, nil)
}
