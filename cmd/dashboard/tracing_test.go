package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/broker/trace"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/servers"
	"dedup-dashboard/lab/servers/serverstest"
)

// traceWord makes the test program trace, as the dashboard does, and guardCommand makes it the guard of that.
const traceWord = "trace-of-a-test"

// anotherProgram makes the test program something else where its arguments say so.
func anotherProgram(args []string) {
	if len(args) != 2 || args[1] != traceWord && args[1] != guardCommand {
		return
	}
	if args[1] == guardCommand {
		os.Exit(run(context.Background(), args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
	}
	if err := traceUntilKilled(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// A traceOrder is what a process that traces is told.
type traceOrder struct{ Management, AMQP, User, Password, Vhost, Data string }

func (o traceOrder) open() (*trace.Tracer, error) {
	return trace.OpenTracer(broker.Config{Name: "main", ManagementURL: o.Management, Username: o.User, Password: secret.New(o.Password),
		Act: broker.Act{AMQPURL: o.AMQP, Username: o.User, Password: secret.New(o.Password)},
	}, trace.Options{DataDir: o.Data, Guard: []string{guardProgram(), guardCommand}, Log: slog.New(slog.DiscardHandler)})
}

// guardProgram is this test program unless DASHBOARD names a dashboard that was built.
func guardProgram() string {
	if program := os.Getenv("DASHBOARD"); program != "" {
		return program
	}
	return os.Args[0]
}

func traceUntilKilled(in io.Reader, out io.Writer) error {
	var o traceOrder
	if err := json.NewDecoder(in).Decode(&o); err != nil {
		return err
	}
	tracer, err := o.open()
	if err != nil {
		return err
	}
	defer tracer.Close()
	fmt.Fprintln(out, "tracing")
	_, err = tracer.Trace(context.Background(), dedup.TraceRequest{For: dedup.MinTrace,
		Queues:  []dedup.TracedQueue{{QueueRef: dedup.QueueRef{Vhost: o.Vhost, Name: "q"}}},
		Started: func(time.Time) { fmt.Fprintln(out, "began") }})
	return err
}

// TestTracingEndsWithTheProcessThatBeganIt whenever that is killed: the guard switches it off, and the next start tells.
func TestTracingEndsWithTheProcessThatBeganIt(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	rabbit := serverstest.RabbitMQ(t, servers.RabbitMQOptions{})
	user, password := rabbit.Admin()
	seen := 0
	for i := range 10 {
		o := traceOrder{rabbit.ManagementURL(), "amqp://" + rabbit.AMQPAddr(), user, password, fmt.Sprintf("moment %d", i), t.TempDir()}
		for _, err := range []error{
			rabbit.PutVHost(ctx, o.Vhost),
			rabbit.API(ctx, http.MethodPut, "/api/queues/moment%20"+fmt.Sprint(i)+"/q", map[string]any{}, nil),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		// The first two are killed once all is on, and once nothing is; the others at any moment.
		moment := rand.N(1500 * time.Millisecond)
		switch i {
		case 0:
			moment = -1
		case 1:
			moment = 0
		}
		killed := killTracing(t, o, moment)
		wasOn, off := tracingAfter(t, rabbit, o.Vhost, killed)
		cleared, some := clearAgain(ctx, t, o)
		if wasOn {
			seen++
		}
		if off > 5*time.Second && !some || off > 30*time.Second || some && cleared.Off.IsZero() || i == 0 && !some { // the guard may have been quicker than our look
			t.Errorf("moment %s: tracing was on for %s more; told: %t, %+v", moment, off, some, cleared)
		}
		t.Logf("killed after %s: tracing was on: %t, off after %s; told at the next start: %t", moment, wasOn, off.Round(time.Millisecond), some)
	}
	if seen == 0 {
		t.Error("tracing was never on")
	}
}

// killTracing starts a process that traces and kills it after a while, or once the trace has begun where that is below 0.
func killTracing(t *testing.T, o traceOrder, moment time.Duration) (killed time.Time) {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], traceWord)
	cmd.Stdin, cmd.Stderr = strings.NewReader(string(text)), os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Scan()
	if moment < 0 {
		lines.Scan()
	} else {
		<-time.After(moment)
	}
	killed = time.Now()
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	return killed
}

// tracingAfter reports whether a vhost was traced after a moment, and for how long. It looks until it was not for a while.
func tracingAfter(t *testing.T, rabbit *servers.RabbitMQ, vhost string, killed time.Time) (was bool, off time.Duration) {
	t.Helper()
	calm := 0
	await(t, "calm after a trace", func() bool {
		var all []struct {
			Name    string
			Tracing bool
		}
		if err := rabbit.API(t.Context(), http.MethodGet, "/api/vhosts?columns=name,tracing", nil, &all); err != nil {
			t.Fatal(err)
		}
		for _, v := range all {
			if v.Name == vhost && v.Tracing {
				was, off, calm = true, time.Since(killed), 0
			}
		}
		calm++
		return calm >= 60 || time.Since(killed) > time.Minute
	})
	return was, off
}

// clearAgain is the next start. Neither the intent nor anything else holds a password.
func clearAgain(ctx context.Context, t *testing.T, o traceOrder) (dedup.ClearedTrace, bool) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(o.Data, "traces", "*"))
	for _, name := range files {
		if text, _ := os.ReadFile(name); strings.Contains(string(text), o.Password) {
			t.Errorf("a password is in %s", name)
		}
	}
	tracer, err := o.open()
	if err != nil {
		t.Fatal(err)
	}
	defer tracer.Close()
	cleared, some, err := tracer.Clear(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return cleared, some
}
