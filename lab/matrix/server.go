package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A family is a kind of server with the suites that need it.
type family struct {
	name   string
	suites []suite
}

// A suite are the tests of one capability.
type suite struct {
	capability string
	packages   []string
	tests      string // a pattern of names; empty for all
	tags       string // build tags: matrix is that of tests which make test leaves out, as they take a cluster or a newer version
}

// A server is a version of one.
type server struct {
	name   string // as in "RabbitMQ 4.0"
	of     *family
	debian string // the suite of Debian that has it, as scripts/servers takes it; empty for the machine's own
	pkg    string // the Debian package that tells the exact version
	env    []string
}

func servers() []server {
	broker := &family{"RabbitMQ", []suite{
		{"queues, topology, policies, counters", []string{"./internal/broker"}, "", ""},
		{"live counts", []string{"./internal/broker/live"}, "", ""},
		{"ack timeouts from the log", []string{"./internal/broker/log"}, "", ""},
		{"measurement by tracing", []string{"./internal/broker/trace"}, "", ""},
		{"looks at dead letters, moves", []string{"./internal/broker/amqp"}, "", ""},
		{"requeue jobs", []string{"./internal/admin/jobs"}, "", ""},
		{"dead-letter routes and hazards", []string{"./internal/collector"}, "DeadLetters|ARealBroker|Topology|Operator|AMQP10", "matrix"},
		{"a cluster of three nodes: killed, hung, cut off", []string{"./internal/broker/amqp", "./internal/collector"}, "OutlivesTheNodes|ComesBack", "matrix"},
		{"ledger of every scheme", []string{"./lab/schemes"}, "", ""},
	}}
	cache := &family{"Redis", []suite{
		{"sweep, look-up, clear, restore", []string{"./internal/markers/redis", "./internal/markers/redis/hash"}, "", ""},
		{"a Redis Cluster: fail-overs in mid-clear", []string{"./internal/markers/redis"}, "AHundredFailOvers", "matrix"},
		{"store events", []string{"./internal/markers/redis/events", "./internal/markers/redis/client"}, "", ""},
	}}
	tables := &family{"SQL", []suite{
		{"sweep, statements, id gap", []string{"./internal/markers/sql", "./internal/markers/sql/digest", "./internal/markers/sql/effect"}, "", ""},
		{"clear, restore", []string{"./internal/markers/sql/act"}, "", ""},
	}}
	return []server{
		{"RabbitMQ 3.10", broker, "", "rabbitmq-server", nil},
		{"RabbitMQ 4.0", broker, "trixie", "rabbitmq-server", []string{"RABBITMQ_ROOT"}},
		{"RabbitMQ 4.3", broker, "sid", "rabbitmq-server", []string{"RABBITMQ_ROOT"}},
		{"Redis 7.0", cache, "", "redis-server", nil},
		{"Redis 8.0", cache, "trixie", "redis-server", []string{"REDIS_ROOT"}},
		{"Valkey 8.1", cache, "trixie", "valkey-server", []string{"REDIS_ROOT", "REDIS_PROGRAM=valkey-server"}},
		{"Valkey 9.1", cache, "sid", "valkey-server", []string{"REDIS_ROOT", "REDIS_PROGRAM=valkey-server"}},
		{"MariaDB 10.11, PostgreSQL 15", tables, "", "mariadb-server-core postgresql-15", nil},
		{"MariaDB 11.8, PostgreSQL 17", tables, "trixie", "mariadb-server-core postgresql-17", []string{"MARIADB_ROOT", "POSTGRES_ROOT"}},
		{"MySQL 9.7, PostgreSQL 18", tables, "sid", "mysql-server-core postgresql-18", []string{"MARIADB_ROOT", "POSTGRES_ROOT"}},
	}
}

// run runs the suites of the server that the book does not have yet.
func (s *server) run(ctx context.Context, b book) error {
	var root string
	if s.debian != "" {
		out, err := exec.CommandContext(ctx, "scripts/servers", s.debian).Output()
		if err != nil {
			return fmt.Errorf("%s cannot be had: scripts/servers %s: %w", s.name, s.debian, err)
		}
		root = strings.TrimSpace(string(out))
	}
	versions, err := s.versions(ctx, root)
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	failed := 0
	for _, suite := range s.of.suites {
		r, known := b.read(s.name, suite.capability)
		if !known {
			fmt.Printf("==> %s: %s\n", s.name, suite.capability)
			if r, err = suite.runKeeping(ctx, s.environment(root), b.output(s.name, suite.capability)); err != nil {
				return err
			}
			r.Versions, r.Commit = versions, b.commit
			if err := b.write(s.name, suite.capability, r); err != nil {
				return err
			}
		}
		if len(r.Failed) > 0 {
			failed++
			fmt.Printf("    failed: %s; what they print is in %s\n", strings.Join(r.Failed, ", "), b.output(s.name, suite.capability))
		}
	}
	if failed > 0 {
		return fmt.Errorf("%s: %d of %d suites failed", s.name, failed, len(s.of.suites))
	}
	return ctx.Err()
}

func (s *server) environment(root string) []string {
	env := os.Environ()
	for _, name := range s.env {
		if !strings.Contains(name, "=") {
			name += "=" + root
		}
		env = append(env, name)
	}
	return env
}

// versions are the exact ones, by the packages of the machine or of the root.
func (s *server) versions(ctx context.Context, root string) (string, error) {
	var out []string
	for pkg := range strings.FieldsSeq(s.pkg) {
		cmd := exec.CommandContext(ctx, "dpkg-query", "--admindir="+filepath.Join("/", root, "var/lib/dpkg"), "-W", "-f", "${source:Upstream-Version}", pkg)
		version, err := cmd.Output()
		if err != nil {
			return "", fmt.Errorf("ask for the version of %s: %w", pkg, err)
		}
		number, _, _ := strings.Cut(string(version), "+")
		out = append(out, number)
	}
	return strings.Join(out, ", "), nil
}
