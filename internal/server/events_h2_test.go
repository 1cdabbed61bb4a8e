package server

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestStreamOverHTTP2OutlivesTheDeadlineOfItsLastWrite guards a difference between the protocols: of HTTP/1 a deadline that
// passes between two writes does nothing, of HTTP/2 it resets the stream the moment it passes.
func TestStreamOverHTTP2OutlivesTheDeadlineOfItsLastWrite(t *testing.T) {
	inBubble(t, func(t *testing.T, s *site, l *memoryListener) {
		only := new(http.Protocols)
		only.SetUnencryptedHTTP2(true)
		transport := &http.Transport{Protocols: only, DisableCompression: true, DialContext: func(context.Context, string, string) (net.Conn, error) {
			mine, theirs := net.Pipe()
			l.conns <- theirs
			return mine, nil
		}}
		defer transport.CloseIdleConnections()
		r, err := http.NewRequestWithContext(t.Context(), "GET", "http://127.0.0.1:8080/events?topics=overview", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+viewerToken)
		res, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		if res.ProtoMajor != 2 || res.StatusCode != http.StatusOK {
			t.Fatalf("%s %s, want a stream over HTTP/2", res.Proto, res.Status)
		}
		in := lines(res.Body)
		drain(in)
		for range 8 {
			time.Sleep(pingEvery)
			synctest.Wait()
			if got := drain(in); !strings.Contains(got, ": ping") || strings.Contains(got, "END") {
				t.Fatalf("after a quarter of a minute: %q, want a ping", got)
			}
		}
		s.Changed("overview")
		if got := drain(in); !strings.Contains(got, "event: overview") {
			t.Errorf("two minutes later a change arrives as %q", got)
		}
	})
}
