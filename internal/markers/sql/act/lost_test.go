package act_test

import (
	"bytes"
	"net"
	"strings"
	"sync"
	"testing"

	"dedup-dashboard/lab/markerstest"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/secret"
)

// answerCutter passes bytes on to a server until a client sends the word, in capitals or not; then it cuts that connection.
type answerCutter struct {
	listener net.Listener
	server   string
	word     string
	// after lets the server execute the statement first.
	after bool
	once  sync.Once
	wait  sync.WaitGroup
}

func newAnswerCutter(t *testing.T, server, word string, after bool) *answerCutter {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &answerCutter{listener: listener, server: server, word: word, after: after}
	c.wait.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			c.wait.Go(func() { c.pass(client) })
		}
	})
	return c
}

func (c *answerCutter) close() {
	_ = c.listener.Close()
	c.wait.Wait()
}

func (c *answerCutter) pass(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", c.server)
	if err != nil {
		return
	}
	defer server.Close()
	cut := make(chan struct{})
	answers := make(chan struct{})
	go func() {
		defer close(answers)
		defer client.Close()
		buffer := make([]byte, 64<<10)
		for {
			n, err := server.Read(buffer)
			select {
			case <-cut:
				return
			default:
			}
			if err != nil {
				return
			}
			if _, err := client.Write(buffer[:n]); err != nil {
				return
			}
		}
	}()
	buffer := make([]byte, 64<<10)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			break
		}
		// The isolation level READ COMMITTED is no COMMIT.
		said := bytes.ReplaceAll(bytes.ToUpper(buffer[:n]), []byte("COMMITTED"), nil)
		if bytes.Contains(said, []byte(c.word)) && c.first() {
			close(cut)
			if c.after {
				_, _ = server.Write(buffer[:n])
				<-answers
			}
			return
		}
		if _, err := server.Write(buffer[:n]); err != nil {
			break
		}
	}
	_ = server.Close()
	<-answers
}

// first is true for one connection only: the others are needed to read again.
func (c *answerCutter) first() (first bool) {
	c.once.Do(func() { first = true })
	return first
}

func TestAnActionWhoseAnswerIsLostSaysWhatIsKnown(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		word    string
		after   bool
		want    map[string]dedup.Result
		words   string
		cleared bool
	}{
		"cut before the DELETE arrives": {"DELETE FROM", false, map[string]dedup.Result{"mysql": dedup.NotDone, "postgres": dedup.NotDone}, "nothing was committed", false},
		"cut after the DELETE was done": {"DELETE FROM", true, map[string]dedup.Result{"mysql": dedup.NotDone, "postgres": dedup.NotDone}, "nothing was committed", false},
		"cut before the COMMIT arrives": {"COMMIT", false, map[string]dedup.Result{"mysql": dedup.NotDone, "postgres": dedup.NotDone}, "", false},
		"cut after the COMMIT was done": {"COMMIT", true, map[string]dedup.Result{"mysql": dedup.UnknownOutcome, "postgres": dedup.Cleared}, "", true},
	}
	onBoth(t, func(t *testing.T, driver string) {
		for name, c := range cases {
			t.Run(name, func(t *testing.T) {
				a := openDedup(t, driver)
				seen := a.look(t, a.insert(t, "m1", 0))
				actor := a.through(t, c.word, c.after)
				outcome := actor.Clear(t.Context(), seen, false, markerstest.KeepNothing)
				wantResult(t, outcome, c.want[driver], c.words)
				if gone := a.rows(t) == 0; gone != c.cleared {
					t.Errorf("gone: %v, want %v", gone, c.cleared)
				}
			})
		}
	})
}

func TestARestoreWhoseAnswerIsLostIsReadAgain(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, driver string) {
		for _, after := range []bool{false, true} {
			a := openDedup(t, driver)
			var kept keeper
			wantResult(t, a.actor.Clear(t.Context(), a.look(t, a.insert(t, "m1", 0)), false, kept.keep), dedup.Cleared, "")
			outcome := a.through(t, "COMMIT", after).Restore(t.Context(), kept.images[0])
			want, rows := dedup.NotDone, 0
			if after {
				want, rows = dedup.Restored, 1
			}
			wantResult(t, outcome, want, "")
			markerstest.WaitUntil(t, "the rows are as the outcome says", func() bool { return a.rows(t) == rows })
		}
	})
}

// through returns an actor whose connections a answerCutter passes on.
func (a *acted) through(t *testing.T, word string, after bool) markers.Actor {
	t.Helper()
	c := newAnswerCutter(t, a.Addr(), word, after)
	t.Cleanup(c.close)
	cfg := a.cfg
	cfg.Act.SQL.DSN = secret.New(strings.Replace(a.cfg.Act.SQL.DSN.Reveal(), a.Addr(), c.listener.Addr().String(), 1))
	return newActor(t, cfg)
}

func TestAnActorWithoutAServerSaysSo(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, driver string) {
		a := openDedup(t, driver)
		seen := a.look(t, a.insert(t, "m1", 0))
		cfg := a.cfg
		cfg.Act.SQL.DSN = secret.New(strings.Replace(a.cfg.Act.SQL.DSN.Reveal(), a.Addr(), "127.0.0.1:1", 1))
		outcome := newActor(t, cfg).Clear(t.Context(), seen, false, markerstest.KeepNothing)
		wantResult(t, outcome, dedup.NotDone, "127.0.0.1:1")
		if strings.Contains(outcome.Text, "secret") {
			t.Errorf("the password shows: %s", outcome.Text)
		}
		cfg.Act.SQL.DSN = secret.New(strings.Replace(a.cfg.Act.SQL.DSN.Reveal(), "secret", "wrong", 1))
		wantResult(t, newActor(t, cfg).Clear(t.Context(), seen, false, markerstest.KeepNothing), dedup.Refused, "act.sql.dsn")
	})
}
