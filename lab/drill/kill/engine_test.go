package kill

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"dedup-dashboard/lab/servers"
)

// An engine is a victim that is the settle loop and its ends alone, in a process of its own.
type engine struct {
	site    *site
	orders  childOrders
	log     string
	process *servers.Process
}

func newEngine(s *site, orders childOrders) *engine {
	orders.ManagementURL, orders.AMQPURL = s.broker.ManagementURL(), "amqp://"+s.broker.AMQPAddr()+"/"
	if orders.Run == "" {
		orders.Run = "run-" + filepath.Base(s.t.Name())
	}
	return &engine{site: s, orders: orders, log: filepath.Join(s.t.TempDir(), "engine.log")}
}

func (e *engine) begin() { e.start() }

func (e *engine) start() {
	t := e.site.t
	t.Helper()
	e.orders.Limit = int64(e.site.depth(deadQueue))
	orders, err := json.Marshal(e.orders)
	must(t, err)
	program, err := os.Executable()
	must(t, err)
	log, err := os.OpenFile(e.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	must(t, err)
	defer log.Close()
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), childVariable+"="+string(orders))
	cmd.Stdout, cmd.Stderr = log, log
	e.process, err = servers.StartProcess(cmd)
	must(t, err)
	t.Cleanup(e.kill)
}

func (e *engine) kill() { kill(e.process) }

func (e *engine) finished() bool {
	if !ended(e.process) {
		return false
	}
	if err := e.process.Err(); err != nil {
		e.site.t.Fatalf("the engine ended: %v\n%s", err, e.explain())
	}
	return true
}

func (e *engine) explain() string {
	log, _ := os.ReadFile(e.log)
	return string(log)
}

// killsEngine kills the settle loop at random moments.
func (s *site) killsEngine(t *testing.T) {
	s = s.in(t)
	r := newRound(s, newEngine(s, childOrders{Rate: *rate}), "random", smallLot)
	r.killAt(randomParts(4))
	r.check(r.close())
}

// killsAtEveryStep lets the engine kill itself at the end of each step, with one message in hand, so that what comes of it is certain.
func (s *site) killsAtEveryStep(t *testing.T) {
	const kills = 3
	for _, step := range []struct {
		point string
		// comes is how often the engine comes there at most before it is killed, rate its rate: reports are made four times a second.
		comes int
		rate  float64
		// least and most are the copies that kills there make, each.
		least, most int
	}{
		{pointTaken, 10, 0, 0, 0},
		{pointPublished, 10, 0, 0, 1},
		{pointConfirmed, 10, 0, 1, 1},
		{pointAcked, 10, 0, 0, 1},
		{pointReported, 1, 300, 0, 1},
	} {
		t.Run(step.point, func(t *testing.T) {
			s := s.in(t)
			e := newEngine(s, childOrders{Window: 1, Rate: step.rate, Point: step.point})
			e.orders.After = 1 + rand.IntN(step.comes)
			r := newRound(s, e, "step-"+step.point, 200)
			for range kills {
				<-e.process.Done()
				r.killOnceAt(0)
				e.orders.After = 1 + rand.IntN(step.comes)
				if len(r.killings) == kills {
					e.orders.Point = ""
				}
				e.start()
			}
			r.check(r.close())
			for i, k := range r.killings {
				if k.copies < step.least || k.copies > step.most {
					t.Errorf("kill %d made %d copies, want %d to %d", i+1, k.copies, step.least, step.most)
				}
			}
		})
	}
}

// tellsLoss is the control: with a requeue that acks before the broker has confirmed, the ledger must tell of lost messages.
func (s *site) tellsLoss(t *testing.T) {
	s = s.in(t)
	r := newRound(s, newEngine(s, childOrders{Rate: *rate, Hasty: true}), "hasty", smallLot)
	r.killAt(randomParts(4))
	b := r.close()
	t.Logf("%s\n%s", r.printed(), b)
	if len(b.lost) == 0 {
		t.Error("a requeue that acks too early lost nothing in 4 kills: the harness cannot tell loss")
	}
	if b.seeded != b.moved+b.left+len(b.lost) {
		t.Errorf("the balance does not add up: %s", b)
	}
	if want := fmt.Sprintf("%d lost", len(b.lost)); !strings.HasPrefix(b.faults(), want) {
		t.Errorf("faults %q, want them to begin with %q", b.faults(), want)
	}
}
