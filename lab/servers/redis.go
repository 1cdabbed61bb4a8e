package servers

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// bootAttempts is how often a server is started with new ports before a port conflict is given up on.
const bootAttempts = 4

// RedisOptions says how a private Redis is started.
type RedisOptions struct {
	// Dir is the folder for everything that the server writes; it is created.
	Dir string
	// Root is the folder of another Debian, whose Redis, or else Valkey, is started instead of the machine's; empty takes the
	// environment's REDIS_ROOT. It needs root.
	Root string
	// Args are further arguments of redis-server, as "--maxmemory", "4mb". They win over our own: without them the
	// server keeps nothing on disk.
	Args []string
	// Log, when not nil, also receives what the server prints; the file redis.log in Dir always does.
	Log io.Writer
	// sentinel is the configuration of a Sentinel, which is started instead.
	sentinel string
	// bus is for a node of a cluster, which takes a second port.
	bus bool
}

// Redis is a private Redis server on a free loopback port. Its methods must not be called at the same time.
type Redis struct {
	options RedisOptions
	root    root
	program string
	port    int
	process *Process
	logFile func() error
}

// StartRedis starts a private Redis and returns when it answers PING.
func StartRedis(ctx context.Context, options RedisOptions) (*Redis, error) {
	dir, err := filepath.Abs(options.Dir)
	if err != nil {
		return nil, fmt.Errorf("start Redis: %w", err)
	}
	options.Dir = dir
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("start Redis: make its folder: %w", err)
	}
	within, err := rootOf(options.Root, "REDIS")
	if err != nil {
		return nil, fmt.Errorf("start Redis: %w", err)
	}
	program, ok := within.find(cmp.Or(os.Getenv("REDIS_PROGRAM"), "redis-server"), "valkey-server")
	if !ok {
		return nil, fmt.Errorf("start Redis: redis-server is missing%s: install it (Debian and Ubuntu: apt-get install redis-server)", within.place())
	}
	for attempt := 1; ; attempt++ {
		port, err := redisPort(options.bus)
		if err != nil {
			return nil, fmt.Errorf("start Redis: %w", err)
		}
		server := &Redis{options: options, root: within, program: program, port: port}
		err = server.boot(ctx)
		if err == nil {
			return server, nil
		}
		if attempt == bootAttempts || !isPortConflict(err.Error()) {
			return nil, err
		}
	}
}

// redisPort returns a free port, and for a node of a cluster one whose second port is free too and below the ephemeral range.
func redisPort(bus bool) (int, error) {
	for range bootAttempts * bootAttempts {
		ports, err := freePorts(16)
		if err != nil {
			return 0, err
		}
		for _, port := range ports {
			if !bus || port+redisBus <= lastPort && portIsFree(port+redisBus) {
				return port, nil
			}
		}
	}
	return 0, errNoPort
}

// Addr is the host and port of the server.
func (r *Redis) Addr() string { return loopback(r.port) }

// URL is the address of logical database 0 as a redis:// URL.
func (r *Redis) URL() string { return "redis://" + r.Addr() + "/0" }

// PID is the process id of the server as it was last started.
func (r *Redis) PID() int { return r.process.PID() }

// Stop ends the server, by SIGKILL when it does not end before ctx does or within half a minute.
func (r *Redis) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	return errors.Join(r.process.Stop(ctx), r.logFile())
}

// Kill ends the server at once, as a crash would.
func (r *Redis) Kill() {
	r.process.Kill()
	_ = r.logFile()
}

// Restart starts the server again on its port, after stopping it if it still runs. Data survives only if the
// arguments ask Redis to write it, as "--appendonly", "yes" does.
func (r *Redis) Restart(ctx context.Context) error {
	if err := r.Stop(ctx); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return r.boot(ctx)
}

func (r *Redis) boot(ctx context.Context) error {
	logName := filepath.Join(r.options.Dir, "redis.log")
	out, closeLog, err := output(logName, r.options.Log)
	if err != nil {
		return fmt.Errorf("start Redis: %w", err)
	}
	var args []string
	if r.options.sentinel != "" {
		args = append(args, r.options.sentinel, "--sentinel")
	}
	args = append(args, "--port", strconv.Itoa(r.port), "--bind", "127.0.0.1", "--dir", r.options.Dir,
		"--daemonize", "no", "--logfile", "")
	if r.options.sentinel == "" {
		args = append(args, "--save", "", "--appendonly", "no")
	}
	cmd := r.root.command(context.Background(), r.options.Dir, nil, r.program, append(args, r.options.Args...)...)
	cmd.Stdout, cmd.Stderr = out, out
	process, err := startServer("Redis", cmd)
	if err != nil {
		return errors.Join(fmt.Errorf("start Redis: %w", err), closeLog())
	}
	r.process, r.logFile = process, closeLog
	waiting, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := poll(waiting, process, r.ping); err != nil {
		r.Kill()
		return fmt.Errorf("start Redis on %s: %w\nits log ends with:\n%s", r.Addr(), err, tail(logName))
	}
	return nil
}

// ping sends an inline PING. A server that asks for a password is up too; one that is still loading is not. The
// answer must come from our own child: a stranger that took the port before it answers while the child has not ended yet.
func (r *Redis) ping(ctx context.Context) error {
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", r.Addr())
	if err != nil {
		return err
	}
	defer connection.Close()
	if deadline, ok := ctx.Deadline(); ok {
		if err := connection.SetDeadline(deadline); err != nil {
			return err
		}
	}
	if _, err := io.WriteString(connection, "PING\r\nINFO server\r\n"); err != nil {
		return err
	}
	lines := bufio.NewReader(connection)
	answer, err := lines.ReadString('\n')
	if err != nil {
		return err
	}
	if !strings.HasPrefix(answer, "+PONG") && !strings.HasPrefix(answer, "-NOAUTH") {
		return fmt.Errorf("answer to PING: %q", answer)
	}
	return r.isOurs(lines)
}

// isOurs reads the answer to INFO up to the number of the server's process. One that does not tell it to us is taken for ours.
func (r *Redis) isOurs(lines *bufio.Reader) error {
	for {
		line, err := lines.ReadString('\n')
		if err != nil || strings.HasPrefix(line, "-") {
			return err
		}
		if id, ok := strings.CutPrefix(strings.TrimSpace(line), "process_id:"); ok && id != strconv.Itoa(r.process.PID()) {
			return fmt.Errorf("process %s answers on the port, and ours is %d", id, r.process.PID())
		} else if ok {
			return nil
		}
	}
}
