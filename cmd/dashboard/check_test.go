package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/lab/markerstest"
	"dedup-dashboard/lab/servers"
	"dedup-dashboard/lab/servers/serverstest"
)

// TestCheckOnARealBroker runs the whole command on a broker of its own.
func TestCheckOnARealBroker(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	rabbit := serverstest.RabbitMQ(t, servers.RabbitMQOptions{StatisticsInterval: time.Second,
		Config: []string{"log.exchange = true", "log.exchange.level = warning"}})
	t.Run("the steps of the README lead to a check without a problem", func(t *testing.T) { followReadme(ctx, t, rabbit) })
	t.Run("dead-letter queues are found", func(t *testing.T) { findDeadLetters(ctx, t, rabbit) })
	t.Run("acting accounts are tried", func(t *testing.T) { tryActingAccounts(ctx, t, rabbit) })
	t.Run("the account of the log is tried", func(t *testing.T) { tryLogAccount(ctx, t, rabbit) })
}

// findDeadLetters checks pipelines whose dead-letter queues are named by arguments, by a policy, and wrongly.
func findDeadLetters(ctx context.Context, t *testing.T, rabbit *servers.RabbitMQ) {
	nothing := servers.Permissions{Configure: "^$", Write: "^$", Read: "^$"}
	for _, err := range []error{
		rabbit.PutUser(ctx, "watcher", "right", "monitoring"), rabbit.PutPermissions(ctx, "/", "watcher", nothing),
		declare(ctx, rabbit, "by-argument", map[string]any{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead-by-argument"}),
		declare(ctx, rabbit, "by-policy", map[string]any{}), declare(ctx, rabbit, "astray", map[string]any{"x-dead-letter-exchange": "nowhere"}),
		declare(ctx, rabbit, "bare", map[string]any{}), declare(ctx, rabbit, "dead-by-argument", map[string]any{}), declare(ctx, rabbit, "dead-by-policy", map[string]any{}),
		rabbit.PutPolicy(ctx, "/", "dead", servers.Policy{Pattern: "^by-policy$", Definition: map[string]any{"dead-letter-exchange": "", "dead-letter-routing-key": "dead-by-policy"}, ApplyTo: "queues"}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	await(t, "policy and depths of the new queues", func() bool {
		var queues []struct {
			Name, Policy string
			Messages     *int64
			Consumers    *int64
		}
		if err := rabbit.API(ctx, http.MethodGet, "/api/queues", nil, &queues); err != nil {
			t.Fatal(err)
		}
		for _, q := range queues {
			if q.Messages == nil || q.Consumers == nil || q.Name == "by-policy" && q.Policy == "" {
				return false
			}
		}
		return true
	})
	redis, _ := markerstest.StartRedis(t)
	check := func(pipelines string) (int, string, string) {
		path := filepath.Join(t.TempDir(), "dashboard.yaml")
		text := fmt.Sprintf("brokers:\n- {name: main, management_url: %q, username: watcher, password: right}\nstores:\n- {name: orders, preset: redis-flag, redis: {url: %q}}\npipelines:\n%s",
			rabbit.ManagementURL(), redis.URL(), pipelines)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var out, stderr output
		code := run(ctx, []string{"check", "-config", path}, streams{strings.NewReader(""), &out, &stderr})
		return code, out.String(), stderr.String()
	}
	for _, tt := range []struct {
		name, pipelines string
		code            int
		want            []string
	}{
		{"those of an argument and of a policy", "- {name: a, queues: [by-argument], dead_letter_queues: auto}\n- {name: b, queues: [by-policy], dead_letter_queues: auto}\n", exitOK, []string{
			"configuration: valid, 1 broker, 1 store, 2 pipelines\n",
			`dead-letter queue "dead-by-argument": classic, 0 messages, 0 consumers; found by argument x-dead-letter-exchange of`,
			`dead-letter queue "dead-by-policy": classic, 0 messages, 0 consumers; found by policy dead-letter-exchange of`,
			"nothing needs fixing\n",
		}},
		{"one that is listed", "- {name: a, queues: [bare], dead_letter_queues: [dead-by-policy]}\n", exitOK, []string{
			`dead-letter queue "dead-by-policy": classic, 0 messages, 0 consumers; listed in dead_letter_queues`, "NOTE dead_letter_exchange_none",
		}},
		{"none of a queue without an exchange", "- {name: a, queues: [bare], dead_letter_queues: auto}\n", exitOK, []string{
			"dead-letter queues: none found", "NOTE dead_letter_exchange_none", "Set dead-letter-exchange in a policy",
		}},
		{"an exchange that does not exist", "- {name: a, queues: [astray], dead_letter_queues: auto}\n", exitFailed, []string{
			"PROBLEM dead_letter_exchange_missing", "dead-letter queues: none found", "1 thing needs fixing\n",
			"dashboard: check found what needs fixing: pipeline a: dead_letter_exchange_missing\n",
		}},
		{"queues that do not exist", "- {name: a, queues: [gone], dead_letter_queues: [gone.dead]}\n- {name: b, queues: [lost]}\n", exitFailed, []string{
			`PROBLEM queue "gone": not found in vhost "/"`, `PROBLEM dead-letter queue "gone.dead": not found`, "2 things need fixing\n",
			`check found what needs fixing: pipeline a: queue "gone" not found, dead-letter queue "gone.dead" not found; pipeline b: queue "lost" not found` + "\n",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, out, stderr := check(tt.pipelines)
			if code != tt.code || strings.Count(stderr, "\n") > 1 {
				t.Errorf("exit code %d, want %d, and on one line %q", code, tt.code, stderr)
			}
			for _, want := range tt.want {
				if !strings.Contains(out+stderr, want) {
					t.Errorf("does not say %q", want)
				}
			}
			if t.Failed() {
				t.Logf("printed\n%s%s", out, stderr)
			}
		})
	}
}

func declare(ctx context.Context, rabbit *servers.RabbitMQ, queue string, arguments map[string]any) error {
	return rabbit.API(ctx, http.MethodPut, "/api/queues/%2F/"+queue, map[string]any{"durable": true, "arguments": arguments}, nil)
}
