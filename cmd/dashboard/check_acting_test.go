package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dedup-dashboard/lab/markerstest"
	"dedup-dashboard/lab/servers"
)

// tryActingAccounts checks a pipeline with two dead-letter queues, of which the acting account may read one, on the broker that
// findDeadLetters has filled.
func tryActingAccounts(ctx context.Context, t *testing.T, rabbit *servers.RabbitMQ) {
	for _, err := range []error{
		rabbit.PutUser(ctx, "mover", "right", ""),
		rabbit.PutPermissions(ctx, "/", "mover", servers.Permissions{Configure: "^$", Write: "^amq.default$", Read: "^dead-by-argument$"}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	redis, _ := markerstest.StartRedis(t)
	for _, tt := range []struct {
		name, password string
		code           int
		want           []string
	}{
		{"what it may do is said for each queue", "right", exitFailed, []string{
			`acting account mover may publish to queues of vhost "/"`, `acting account mover may take messages from "dead-by-argument"`,
			`PROBLEM acting account mover may not take messages from "dead-by-policy"`, "it needs read on the dead-letter queues",
			"the log of the broker has an [error] of mover about x-priority",
		}},
		{"a wrong password is said", "wrong-canary", exitFailed, []string{`PROBLEM acting account mover may not publish`, "check act.username and act.password"}},
		{"without one, dead letters are only shown", "", exitOK, []string{"dead letters are shown and not moved: broker main has no act section"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			act := ""
			if tt.password != "" {
				act = fmt.Sprintf(", act: {amqp_url: %q, username: mover, password: %s}", "amqp://"+rabbit.AMQPAddr()+"/", tt.password)
			}
			path := filepath.Join(t.TempDir(), "dashboard.yaml")
			text := fmt.Sprintf("brokers:\n- {name: main, management_url: %q, username: watcher, password: right%s}\nstores:\n- {name: orders, preset: redis-flag, redis: {url: %q}}\npipelines:\n- {name: a, queues: [bare], dead_letter_queues: [dead-by-argument, dead-by-policy]}\n",
				rabbit.ManagementURL(), act, redis.URL())
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			var out, stderr output
			code := run(ctx, []string{"check", "-config", path}, streams{strings.NewReader(""), &out, &stderr})
			printed := out.String() + stderr.String()
			if code != tt.code || strings.Contains(printed, "canary") {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			for _, want := range tt.want {
				if !strings.Contains(printed, want) {
					t.Errorf("does not say %q", want)
				}
			}
			if t.Failed() {
				t.Logf("printed\n%s", printed)
			}
		})
	}
}
