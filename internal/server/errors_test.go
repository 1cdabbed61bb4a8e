package server

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"dedup-dashboard/internal/dedup"
)

func TestAFormThatComesTooSlowlyIsToldSo(t *testing.T) {
	inBubble(t, func(t *testing.T, s *site, l *memoryListener) {
		mine, theirs := net.Pipe()
		defer func() { _ = mine.Close() }()
		l.conns <- theirs
		if _, err := fmt.Fprintf(mine, "POST /login HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\nuser"); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		res, err := http.ReadResponse(bufio.NewReader(mine), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		if took := time.Since(start); took != readTimeout {
			t.Errorf("answered after %v, want %v", took, readTimeout)
		}
		if body := s.body(res); res.StatusCode != http.StatusBadRequest || !strings.Contains(body, "The form cannot be read") {
			t.Errorf("%s with %q, want 400 and a page that says why", res.Status, body)
		}
	})
}

func TestTheLogHasTheCauseOfWhatFailedHereAndOnlyOfThat(t *testing.T) {
	cause := errors.New("disk on fire")
	for _, tt := range []struct {
		name   string
		err    error
		level  string // empty: not logged
		status int
	}{
		{"a fault of the program", cause, "ERROR", 500},
		{"a part that is not available", &dedup.Error{Kind: dedup.Unavailable, Public: "Look at the program's log", Err: cause}, "WARN", 503},
		{"a request that is wrong", &dedup.Error{Kind: dedup.Invalid, Public: "Write it differently", Err: cause}, "", 400},
		{"a client that left", fmt.Errorf("%w: %w", cause, context.Canceled), "", 503},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, nil, testUsers())
			var log bytes.Buffer
			s.log = slog.New(slog.NewTextHandler(&log, nil))
			e := echo.New()
			e.Use(s.observe)
			e.GET("/", func(echo.Context) error { return tt.err })
			w := httptest.NewRecorder()
			e.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
			res := w.Result()
			if res.StatusCode != tt.status {
				t.Errorf("%s, want %d", res.Status, tt.status)
			}
			want := 0
			if tt.level != "" {
				want = 1
			}
			if strings.Count(log.String(), cause.Error()) != want || strings.Count(log.String(), "level="+tt.level) != want {
				t.Errorf("want the cause logged %d times at level %q: %s", want, tt.level, log.String())
			}
			if page := s.body(res); strings.Contains(page, cause.Error()) || strings.Contains(page, res.Header.Get("X-Request-Id")) != (tt.status >= 500) {
				t.Errorf("the page shows the cause, or names the log without need: %s", page)
			}
		})
	}
}
