package notify

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/secret"
)

// Rest lets a channel send at once, as one does that has been open for a while.
func Rest(c Channel) {
	if d, ok := c.(*dingTalk); ok {
		d.pace.mu.Lock()
		defer d.pace.mu.Unlock()
		d.pace.passed = nil
	}
}

// A robot takes everything, and keeps when.
type robot struct{ took []time.Time }

func (r *robot) RoundTrip(q *http.Request) (*http.Response, error) {
	r.took = append(r.took, time.Now())
	answer := io.NopCloser(strings.NewReader(`{"errcode":0,"errmsg":"ok"}`))
	return &http.Response{StatusCode: http.StatusOK, Body: answer, Header: http.Header{}, Request: q}, nil
}

// most returns the most messages that the robot got within a minute.
func (r *robot) most() int {
	most := 0
	for i, from := range r.took {
		n := 0
		for _, at := range r.took[i:] {
			if at.Sub(from) <= time.Minute {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

func openRobot(t *testing.T, r *robot) *dingTalk {
	t.Helper()
	c, err := Open(Config{Name: "ding", Type: "dingtalk", URL: secret.New("https://robot.example/send?access_token=token")})
	if err != nil {
		t.Fatal(err)
	}
	d := c.(*dingTalk)
	d.http.Transport = r
	return d
}

func TestARobotIsNotBannedByARestartOrByTestsBesideIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r robot
		send := func(d *dingTalk, kind alerts.NotificationKind) {
			if err := d.Send(t.Context(), alerts.Notification{Kind: kind, Text: "said"}); err != nil {
				t.Fatal(err)
			}
		}
		first := openRobot(t, &r)
		began := time.Now()
		send(first, alerts.NotifyTest)
		if time.Since(began) != 0 {
			t.Errorf("a test after the start waited for %s", time.Since(began))
		}
		time.Sleep(2 * time.Minute)
		for range 20 {
			send(first, alerts.NotifyEdges)
		}
		again, beside := openRobot(t, &r), openRobot(t, &r)
		began = time.Now()
		for range 5 {
			send(beside, alerts.NotifyTest)
		}
		if time.Since(began) != 0 {
			t.Errorf("tests waited for %s", time.Since(began))
		}
		for range 40 {
			send(again, alerts.NotifyEdges)
		}
		if got := r.most(); got > 20 {
			t.Errorf("%d messages within a minute", got)
		}
	})
}
