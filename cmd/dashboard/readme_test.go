package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/lab/markerstest"
	"dedup-dashboard/lab/servers"
)

// followReadme does what the README says under "Your own systems in five minutes": the accounts, the configuration and the
// environment are taken from its text, only the addresses are replaced.
func followReadme(ctx context.Context, t *testing.T, rabbit *servers.RabbitMQ) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, steps, found := strings.Cut(string(text), "## Your own systems in five minutes")
	blocks := regexp.MustCompile("(?ms)^   ```(sh|yaml)\n(.*?)^   ```").FindAllStringSubmatch(steps, 4)
	if !found || len(blocks) != 4 {
		t.Fatalf("the README has %d blocks of commands in its steps, want 4", len(blocks))
	}
	redis, rdb := markerstest.StartRedis(t)
	for _, key := range []string{"msg:0", "msg:1", "msg:2"} {
		if err := rdb.Set(ctx, key, "done", 24*time.Hour).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := declare(ctx, rabbit, "orders", map[string]any{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "orders.dead"}); err != nil {
		t.Fatal(err)
	}
	if err := declare(ctx, rabbit, "orders.dead", map[string]any{}); err != nil {
		t.Fatal(err)
	}

	for line := range strings.Lines(blocks[0][2]) {
		args := words(line)
		if args[0] != "rabbitmqctl" {
			t.Fatalf("step 1 has the command %q", line)
		}
		if _, err := rabbit.Ctl(ctx, args[1:]...); err != nil {
			t.Fatal(err)
		}
	}
	_, port, _ := strings.Cut(redis.Addr(), ":")
	command := strings.Replace(blocks[1][2], "redis-cli ", "redis-cli -e -p "+port+" ", 1)
	if out, err := exec.CommandContext(ctx, "sh", "-c", command).CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "OK" {
		t.Fatalf("step 2 says %s (%v)", out, err)
	}
	addresses := strings.NewReplacer("http://rabbit.internal:15672", rabbit.ManagementURL(), "redis.internal:6379", redis.Addr())
	path := filepath.Join(t.TempDir(), "my.yaml")
	if err := os.WriteFile(path, []byte(addresses.Replace(blocks[2][2])), 0o600); err != nil {
		t.Fatal(err)
	}
	exports := regexp.MustCompile(`(?m)^ *export ([A-Z_]+)='(.*)'$`).FindAllStringSubmatch(blocks[3][2], -1)
	if len(exports) != 2 {
		t.Fatalf("step 4 sets %d variables", len(exports))
	}
	for _, e := range exports {
		t.Setenv(e[1], addresses.Replace(e[2]))
	}

	var out output
	code := run(ctx, []string{"check", "-config", path}, streams{strings.NewReader(""), &out, &out})
	for _, want := range []string{"configuration: valid, 1 broker, 1 store, 1 pipeline\n", "account watcher, tags monitoring", "done       3\n", `dead-letter queue "orders.dead"`, "nothing needs fixing\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("check does not say %q", want)
		}
	}
	if code != exitOK || strings.Contains(out.String(), "PROBLEM") {
		t.Errorf("exit code %d", code)
	}
	if t.Failed() {
		t.Logf("printed\n%s", out.String())
	}
}

// words splits a command as a shell does, with single quotes alone.
func words(line string) []string {
	var all []string
	for _, m := range regexp.MustCompile(`'([^']*)'|(\S+)`).FindAllStringSubmatch(line, -1) {
		all = append(all, m[1]+m[2])
	}
	return all
}
