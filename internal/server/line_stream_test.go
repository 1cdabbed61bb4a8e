package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"dedup-dashboard/internal/server/web"
)

// A narrow is a client that notes the longest piece that was written to it, and how much in all.
type narrow struct {
	*httptest.ResponseRecorder
	longest, all int
	full         int // how much it takes before it is gone; 0 for all
}

func (n *narrow) SetWriteDeadline(time.Time) error { return nil }

func (n *narrow) Write(b []byte) (int, error) {
	n.longest, n.all = max(n.longest, len(b)), n.all+len(b)
	if n.full > 0 && n.all > n.full {
		return 0, errors.New("connection reset")
	}
	return len(b), nil
}

// manyLines yields so many lines of a length, and counts how many were made.
func manyLines(n, length int, made *int) iter.Seq[any] {
	text := strings.Repeat("x", length)
	return func(yield func(any) bool) {
		for range n {
			*made++
			if !yield(text) {
				return
			}
		}
	}
}

// opened gives lines to send.
func opened(lines iter.Seq[any]) func(func(iter.Seq[any]) error) error {
	return func(send func(iter.Seq[any]) error) error { return send(lines) }
}

// serveStream answers with a stream as a handler of the dashboard does.
func serveStream(t *testing.T, stream web.Lines) (*httptest.Server, *site) {
	t.Helper()
	s := stocked(t, nil)
	e := echo.New()
	e.Use(s.observe)
	e.GET("/", func(c echo.Context) error { return stream.Write(c.Response(), s.newRequest(c)) })
	srv := httptest.NewServer(e)
	t.Cleanup(srv.Close)
	return srv, s
}

func TestAStreamThatFailsInItsMidstIsCut(t *testing.T) {
	made := 0
	whole, _ := serveStream(t, web.Lines{Name: "a.ndjson", Open: opened(manyLines(1000, 1000, &made))})
	res, err := whole.Client().Get(whole.URL)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if n := bytes.Count(body, []byte("\n")); err != nil || n != 1000 || !json.Valid(body[:bytes.IndexByte(body, '\n')]) {
		t.Errorf("%d lines, %v", n, err)
	}
	broken, s := serveStream(t, web.Lines{Name: "a.ndjson", Open: opened(func(yield func(any) bool) {
		_ = yield(strings.Repeat("x", 3*web.StreamBuffer)) && yield(func() {}) // which no JSON can hold
	})})
	res, err = broken.Client().Get(broken.URL)
	if err != nil {
		t.Fatal(err)
	}
	body, err = io.ReadAll(res.Body)
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK || err == nil {
		t.Errorf("%s with %d bytes, read without an error", res.Status, len(body))
	}
	if last := string(body[max(0, len(body)-80):]); !strings.HasSuffix(last, `{"cut":"This file is not whole: it was cut after 1 line."}`+"\n") {
		t.Errorf("the file ends with %q", last)
	}
	broken.Close() // after which the request has been observed
	if text := s.body(s.do("GET", "/metrics", "", "Authorization", "Bearer "+viewerToken)); !strings.Contains(text, `_count{code="500",method="GET",route="/"} 1`) {
		t.Error("the answer that was cut is in no metric")
	}
}

func TestAStreamHoldsLittleAndEndsWithItsClient(t *testing.T) {
	for name, c := range map[string]struct{ full, most int }{"one that reads all": {0, 5000}, "one that goes": {1 << 20, 200}} {
		made := 0
		client := &narrow{ResponseRecorder: httptest.NewRecorder(), full: c.full}
		err := web.Lines{Name: "a.ndjson", Open: opened(manyLines(5000, 10_000, &made))}.Write(client, nil)
		var gone *web.Gone
		if client.longest > web.StreamBuffer || made > c.most || errors.As(err, &gone) != (c.full > 0) {
			t.Errorf("%s: %d lines were made, up to %d bytes held, %v", name, made, client.longest, err)
		}
	}
}
