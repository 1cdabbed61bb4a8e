package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dedup-dashboard/lab/markerstest"
	"dedup-dashboard/lab/servers"
)

// tryLogAccount checks an account of the broker's log that may do nothing, and gives it what the check prints, on the broker that
// findDeadLetters has filled.
func tryLogAccount(ctx context.Context, t *testing.T, rabbit *servers.RabbitMQ) {
	await(t, "exchange of the log", func() bool {
		return rabbit.API(ctx, http.MethodGet, "/api/exchanges/%2F/amq.rabbitmq.log", nil, nil) == nil
	})
	for _, err := range []error{
		rabbit.PutUser(ctx, "ear", "right", ""), rabbit.PutPermissions(ctx, "/", "ear", servers.Permissions{Configure: "^$", Write: "^$", Read: "^$"}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	redis, _ := markerstest.StartRedis(t)
	check := func(log string) (int, string) {
		path := filepath.Join(t.TempDir(), "dashboard.yaml")
		text := fmt.Sprintf("brokers:\n- {name: main, management_url: %q, username: watcher, password: right%s}\nstores:\n- {name: orders, preset: redis-flag, redis: {url: %q}}\npipelines:\n- {name: a, queues: [bare]}\n", rabbit.ManagementURL(), log, redis.URL())
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var out, stderr output
		code := run(ctx, []string{"check", "-config", path}, streams{strings.NewReader(""), &out, &stderr})
		return code, out.String() + stderr.String()
	}
	says := func(log string, code int, want ...string) string {
		t.Helper()
		got, printed := check(log)
		if got != code || strings.Contains(printed, "canary") {
			t.Errorf("exit code %d, want %d:\n%s", got, code, printed)
		}
		for _, w := range want {
			if !strings.Contains(printed, w) {
				t.Errorf("does not say %q:\n%s", w, printed)
			}
		}
		return printed
	}
	account := func(password string) string {
		return fmt.Sprintf(", log: {amqp_url: %q, username: ear, password: %s}", "amqp://"+rabbit.AMQPAddr()+"/", password)
	}
	says("", exitOK, "ack timeouts are not counted: broker main has no log section")
	says(account("wrong-canary"), exitFailed, "PROBLEM log account ear: ", "check log.username and log.password")
	printed := says(account("right"), exitFailed, "PROBLEM log account ear: the account of the broker's log lacks a permission: ", "broker main: its log cannot be followed")
	command := regexp.MustCompile(`fix: rabbitmqctl set_permissions -p / 'ear' '(.+)' '(.+)' '(.+)' \(`).FindStringSubmatch(printed)
	if command == nil {
		t.Fatalf("no command that fixes it:\n%s", printed)
	}
	if err := rabbit.PutPermissions(ctx, "/", "ear", servers.Permissions{Configure: command[1], Write: command[2], Read: command[3]}); err != nil {
		t.Fatal(err)
	}
	says(account("right"), exitOK, "log account ear may listen to the broker's log")
}
