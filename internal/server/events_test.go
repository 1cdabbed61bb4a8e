package server

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/server/session"
	"dedup-dashboard/internal/server/web"
)

// memoryListener hands out connections without a network, so that streams can be tested on the clock of a bubble.
type memoryListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newMemoryListener() *memoryListener {
	return &memoryListener{conns: make(chan net.Conn), done: make(chan struct{})}
}

func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *memoryListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *memoryListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080} }

// dial opens a connection and asks for the stream.
func (l *memoryListener) dial(t *testing.T, topics, headers string) net.Conn {
	t.Helper()
	mine, theirs := net.Pipe()
	l.conns <- theirs
	if _, err := fmt.Fprintf(mine, "GET /events?topics=%s HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n%s\r\n\r\n", topics, headers); err != nil {
		t.Fatal(err)
	}
	return mine
}

// lines reads what the stream sends into a channel, until it ends.
func lines(c io.Reader) <-chan string {
	out := make(chan string, 1000)
	go func() {
		defer close(out)
		in := bufio.NewScanner(c)
		for in.Scan() {
			out <- in.Text()
		}
	}()
	return out
}

// drain returns what has arrived once everything is at rest.
func drain(in <-chan string) string {
	synctest.Wait()
	var b strings.Builder
	for {
		select {
		case line, ok := <-in:
			if !ok {
				return b.String() + "END"
			}
			b.WriteString(line + "\n")
		default:
			return b.String()
		}
	}
}

// inBubble runs f against a server that listens in memory, with sessions in memory.
func inBubble(t *testing.T, f func(t *testing.T, s *site, l *memoryListener)) {
	s := newSite(t, nil, testUsers())
	*s.sessions = *session.New(s.cfg.Sessions(), &memoryStore{})
	synctest.Test(t, func(t *testing.T) {
		// The channels of the hub must belong to the bubble.
		s.Server.hub = newHub()
		l := newMemoryListener()
		s.http.Protocols = new(http.Protocols)
		s.http.Protocols.SetHTTP1(true)
		s.http.Protocols.SetUnencryptedHTTP2(true) // as over TLS, without a certificate
		served := make(chan error)
		go func() { served <- s.Serve(l) }()
		defer func() { // also after a test that stopped half way: what it left running would hide why
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
			defer cancel()
			if err := s.Shutdown(ctx); err != nil {
				t.Errorf("shutdown: %v", err)
			}
			if err := <-served; err != nil {
				t.Errorf("serve: %v", err)
			}
		}()
		f(t, s, l)
	})
}

const bearerLine = "Accept-Encoding: gzip\r\nAuthorization: Bearer " + viewerToken

func TestStreamSendsHintsOfItsTopicsOnly(t *testing.T) {
	inBubble(t, func(t *testing.T, s *site, l *memoryListener) {
		c := l.dial(t, "overview,pipeline:orders", bearerLine)
		defer func() { _ = c.Close() }()
		in := lines(c)
		head := drain(in)
		for _, want := range []string{"200 OK", "Content-Type: text/event-stream", "X-Accel-Buffering: no", "Cache-Control: no-store", "retry: 2000"} {
			if !strings.Contains(head, want) {
				t.Errorf("the stream begins without %q:\n%s", want, head)
			}
		}
		if strings.Contains(head, "Content-Encoding") {
			t.Error("the stream is compressed")
		}
		s.Changed("pipeline:other")
		if got := drain(in); got != "" {
			t.Errorf("a topic that was not asked for: %q", got)
		}
		s.Changed("overview")
		if got := drain(in); !strings.Contains(got, "id: 2\nevent: overview\ndata: {}\n") {
			t.Errorf("overview: %q", got)
		}
		s.Changed("pipeline:orders")
		if got := drain(in); !strings.Contains(got, "event: pipeline\ndata: {}\n") || strings.Contains(got, "orders") {
			t.Errorf("pipeline: %q", got)
		}
	})
}

func TestStreamPingsAndOutlivesTheTimeoutsOfTheServer(t *testing.T) {
	inBubble(t, func(t *testing.T, s *site, l *memoryListener) {
		c := l.dial(t, "overview", bearerLine)
		defer func() { _ = c.Close() }()
		in := lines(c)
		drain(in)
		for range 20 {
			time.Sleep(pingEvery)
			if got := drain(in); !strings.Contains(got, ": ping") || strings.Contains(got, "END") {
				t.Fatalf("after a quarter of a minute: %q", got)
			}
		}
	})
}

func TestStreamNeverHoldsUpAProducerAndMergesHintsForASlowReader(t *testing.T) {
	inBubble(t, func(t *testing.T, s *site, l *memoryListener) {
		stalled := l.dial(t, "overview", bearerLine) // and never reads: the pipe holds nothing
		defer func() { _ = stalled.Close() }()
		synctest.Wait()
		for range 100_000 {
			s.Changed("overview") // a producer that blocked would hang the test
		}
		in := lines(stalled) // reads again before its time is up
		if got := strings.Count(drain(in), "event: overview"); got != 1 {
			t.Errorf("100,000 changes became %d events for a reader that was away, want 1", got)
		}
	})
}

// TestStreamThatStallsIsDroppedWithinTheDeadlineOfOneWrite lets the stream outlive the timeout of a whole answer first, so
// that only a deadline that each write sets anew can end it when it should: neither before nor after.
func TestStreamThatStallsIsDroppedWithinTheDeadlineOfOneWrite(t *testing.T) {
	inBubble(t, func(t *testing.T, s *site, l *memoryListener) {
		c := l.dial(t, "overview", bearerLine)
		defer func() { _ = c.Close() }()
		in := bufio.NewReader(c)
		until := func(want string) {
			for {
				line, err := in.ReadString('\n')
				if err != nil {
					t.Fatalf("before %q: %v", want, err)
				}
				if strings.Contains(line, want) {
					return
				}
			}
		}
		for range 4 {
			until(": ping") // the last one after a minute, twice the timeout of an answer
		}
		start := time.Now()
		s.Changed("overview") // and from here on nobody reads
		time.Sleep(streamWrite - time.Second)
		synctest.Wait()
		if n := s.hub.count(); n != 1 {
			t.Fatalf("%d streams %v after the stall, want 1: it is dropped before its time", n, time.Since(start))
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n := s.hub.count(); n != 0 {
			t.Errorf("%d streams %v after the stall, want none", n, time.Since(start))
		}
	})
}

func TestStreamEndsWithItsSession(t *testing.T) {
	inBubble(t, func(t *testing.T, s *site, l *memoryListener) {
		out, idle := s.signInAs("viewer"), s.signInAs("viewer")
		a, b := l.dial(t, "overview", "Cookie: "+out), l.dial(t, "overview", "Cookie: "+idle)
		defer func() { _, _ = a.Close(), b.Close() }()
		inA, inB := lines(a), lines(b)
		drain(inA)
		drain(inB)
		s.do("POST", "/logout", "", "Cookie", out)
		synctest.Wait()
		if n := s.hub.count(); n != 1 {
			t.Errorf("%d streams after one of two signed out", n)
		}
		time.Sleep(31 * time.Minute)
		synctest.Wait()
		if n := s.hub.count(); n != 0 {
			t.Errorf("%d streams after the session expired", n)
		}
	})
}

func TestStreamsEndOnShutdown(t *testing.T) {
	inBubble(t, func(t *testing.T, s *site, l *memoryListener) {
		c := l.dial(t, "overview", bearerLine)
		in := lines(c)
		drain(in)
		start := time.Now()
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("took %v", took)
		}
		if got := drain(in); !strings.HasSuffix(got, "END") {
			t.Errorf("the stream goes on: %q", got)
		}
		_ = c.Close()
	})
}

func TestStreamsAreLimitedPerUserAndInAll(t *testing.T) {
	h := newHub()
	var open []*stream
	for i := range maxStreamsPerUser {
		st, err := h.add("ann", []string{"overview"})
		if err != nil {
			t.Fatalf("stream %d: %v", i, err)
		}
		open = append(open, st)
	}
	if _, err := h.add("ann", nil); describe(err).Status != http.StatusServiceUnavailable {
		t.Errorf("one too many of a user: %v", err)
	}
	h.remove(open[0])
	if _, err := h.add("ann", nil); err != nil {
		t.Errorf("after one closed: %v", err)
	}
	for i := len(h.streams); i < maxStreams; i++ {
		if _, err := h.add(fmt.Sprint("user", i), nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.add("late", nil); describe(err).Status != http.StatusServiceUnavailable {
		t.Errorf("one too many in all: %v", err)
	}
	h.close()
	h.close()
	if _, err := h.add("later", nil); err == nil {
		t.Error("a closed hub admits streams")
	}
}

func TestTopicsAreChecked(t *testing.T) {
	for list, ok := range map[string]bool{
		"overview": true, "alerts": true, "overview,pipeline:orders": true, "pipeline:a.b-c_d": true,
		"": false, "alarms": false, "pipeline:": false, "pipeline:A": false, "overview,": false, "overview\n": false, strings.Repeat("overview,", 60) + "overview": false,
	} {
		if _, err := parseTopics(list); (err == nil) != ok {
			t.Errorf("%q: %v", list, err)
		}
	}
}

func TestManyStreamsAndProducersAtOnce(t *testing.T) {
	h := newHub()
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			st, err := h.add(fmt.Sprint(i), []string{"overview", "pipeline:p"})
			if err != nil {
				t.Error(err)
				return
			}
			for range 20 {
				<-st.wake
				h.take(st)
			}
			h.remove(st)
		})
	}
	stop := make(chan struct{})
	var producers sync.WaitGroup
	for range 4 {
		producers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					h.changed("overview")
					h.changed("pipeline:p")
				}
			}
		})
	}
	wg.Wait()
	close(stop)
	producers.Wait()
	if h.count() != 0 || len(h.perUser) != 0 {
		t.Errorf("%d streams and %d users are left", h.count(), len(h.perUser))
	}
}

func TestATokenThatExpiresEndsItsStream(t *testing.T) {
	s := newSite(t, nil, testUsers())
	r := &web.Request{Request: must(http.NewRequest("GET", "/events", nil))}
	r.Header.Set("Authorization", "Bearer "+viewerToken)
	if !s.sessions.StillAllowed(r, s.auth, auth.Viewer)() || s.sessions.StillAllowed(r, s.auth, auth.Admin)() {
		t.Error("a viewer's token counts as viewer and no more")
	}
	r.Header.Set("Authorization", "Bearer "+expiredToken)
	if s.sessions.StillAllowed(r, s.auth, auth.Viewer)() {
		t.Error("an expired token is still allowed")
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
