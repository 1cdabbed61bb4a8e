package notify

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/secret"
)

// AwaitAll lets a channel wait for each of its receivers as long as an attempt may take: on a busy machine one answers seconds after another.
func AwaitAll(c Channel) {
	if a, ok := c.(*alertmanager); ok {
		a.grace = a.timeout
	}
}

// A tripwire panics on the way to one host, and takes everything for the others.
type tripwire struct{ host string }

func (w tripwire) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host == w.host {
		panic("nobody foresaw this")
	}
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Header: http.Header{}, Request: r}, nil
}

func TestAPanicOnTheWayToOneMemberIsAFailureOfThatMemberAlone(t *testing.T) {
	const bad = "bad.example:9093"
	for _, tt := range []struct {
		name, says string
		members    []string
	}{
		{"beside one that takes the alerts", "", []string{bad, "good.example:9093"}},
		{"alone", bad + " could not be told", []string{bad}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := Config{Name: "am", Type: "alertmanager"}
			for _, m := range tt.members {
				c.URLs = append(c.URLs, secret.New("http://"+m))
			}
			channel, err := Open(c)
			if err != nil {
				t.Fatal(err)
			}
			channel.(*alertmanager).http.Transport = tripwire{bad}
			err = channel.Send(t.Context(), alerts.Notification{Kind: alerts.NotifyTest, Text: "a test"})
			if tt.says == "" && err != nil || tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestAMemberThatTakesNothingBesideAnotherIsNamedUntilItDoes(t *testing.T) {
	const first, second = "first.example:9093", "second.example:9093"
	synctest.Test(t, func(t *testing.T) {
		channel, err := Open(Config{Name: "am", Type: "alertmanager", URLs: []secret.Secret{secret.New("http://" + first), secret.New("http://" + second)}})
		if err != nil {
			t.Fatal(err)
		}
		am := channel.(*alertmanager)
		began := time.Now()
		for minute, step := range []struct {
			fails, named string
			since        int // the minute of it
		}{{"", "", 0}, {second, second, 1}, {second, second, 1}, {"both", "", 0}, {second, second, 3}, {first, first, 5}, {"", "", 0}} {
			am.http.Transport = refusing{step.fails}
			_ = am.Send(t.Context(), alerts.Notification{Kind: alerts.NotifyTest, Text: "a test"})
			for _, m := range am.members {
				m.took.Store(time.Now().UnixMilli())
			}
			over := alerts.NotifiedAlert{Key: rule.Key{Rule: "r"}, Was: dedup.Severe, EndsAt: time.Now().Add(-time.Hour)}
			known := alerts.Notification{Kind: alerts.NotifyStanding, At: time.Now(), Alerts: []alerts.NotifiedAlert{over}} // of which nothing is posted
			if err := am.Send(t.Context(), known); (err != nil) != (step.fails == "both") {
				t.Errorf("while %q fails, what holds no news counts as told: %v", step.fails, err)
			}
			var named []string
			for _, f := range am.Faults() {
				named = append(named, f.Receiver)
				if !strings.Contains(f.Text, "503") {
					t.Errorf("%s: %q", f.Receiver, f.Text)
				}
				if since, last := f.Since.Sub(began).Minutes(), f.Last.Sub(began).Minutes(); since != float64(step.since) || last != float64(minute) {
					t.Errorf("from minute %v to %v, want from when it first took nothing while another did, %d, to the last message, %d", since, last, step.since, minute)
				}
			}
			if strings.Join(named, " ") != step.named {
				t.Errorf("while %q fails %q are named", step.fails, named)
			}
			time.Sleep(time.Minute)
		}
	})
}

// refusing refuses for one host, or for both.
type refusing struct{ host string }

func (r refusing) RoundTrip(request *http.Request) (*http.Response, error) {
	answer := &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Header: http.Header{}, Request: request}
	if r.host == request.URL.Host || r.host == "both" {
		answer.StatusCode = http.StatusServiceUnavailable
	}
	return answer, nil
}

func TestManyAlertsGoInSeveralRequestsOfWhichOneRefusedHoldsUpNone(t *testing.T) {
	channel, err := Open(Config{Name: "am", Type: "alertmanager", URLs: []secret.Secret{secret.New("http://am.example:9093")}})
	if err != nil {
		t.Fatal(err)
	}
	am, sizes := channel.(*alertmanager), &counting{refuses: 1}
	am.http.Transport = sizes
	n := alerts.Notification{ID: "n", At: time.Now()}
	for i := range 2*maxBatch + 1 {
		n.Alerts = append(n.Alerts, alerts.NotifiedAlert{Key: rule.Key{Rule: "r", Kind: rule.OfPipeline, Subject: strconv.Itoa(i)}, Firing: true, Tier: dedup.Severe})
	}
	n.Kind = alerts.NotifyStanding
	if err := am.Send(t.Context(), n); err == nil || am.members[0].took.Load() != 0 {
		t.Errorf("%v, although one request was refused; taken at %d", err, am.members[0].took.Load())
	}
	if want := []int{maxBatch, maxBatch, 1}; !slices.Equal(sizes.of, want) {
		t.Errorf("requests of %v alerts, want %v", sizes.of, want)
	}
}

// counting counts the alerts of each request, and refuses one of them for good.
type counting struct {
	of      []int
	refuses int
}

func (c *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	var list []json.RawMessage
	if err := json.NewDecoder(r.Body).Decode(&list); err != nil {
		return nil, err
	}
	c.of = append(c.of, len(list))
	status := http.StatusOK
	if len(c.of) == c.refuses {
		status = http.StatusBadRequest
	}
	return &http.Response{StatusCode: status, Body: http.NoBody, Header: http.Header{}, Request: r}, nil
}

func TestAMemberThatHangsHoldsUpNoMessageThatAnotherHasTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		channel, err := Open(Config{Name: "am", Type: "alertmanager", URLs: []secret.Secret{secret.New("http://am.example/1"), secret.New("http://am.example/2")}})
		if err != nil {
			t.Fatal(err)
		}
		am := channel.(*alertmanager)
		am.http.Transport = hanging{"/2/api/v2/alerts"}
		began := time.Now()
		if err := am.Send(t.Context(), alerts.Notification{Kind: alerts.NotifyTest, Text: "a test"}); err != nil || time.Since(began) != grace {
			t.Errorf("%v after %s, want nothing after %s", err, time.Since(began), grace)
		}
		if f := am.Faults(); len(f) != 1 || f[0].Receiver != "am.example (urls[1])" || f[0].Text != "did not answer within 2s after another one had" {
			t.Errorf("%+v", f)
		}
	})
}

// hanging never answers at one path.
type hanging struct{ path string }

func (h hanging) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path == h.path {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Header: http.Header{}, Request: r}, nil
}

func TestWhatWasTakenBeforeARestartIsNotToldAgain(t *testing.T) {
	channel, err := Open(Config{Name: "am", Type: "alertmanager", URLs: []secret.Secret{secret.New("http://am.example:9093")}})
	if err != nil {
		t.Fatal(err)
	}
	am, sizes := channel.(*alertmanager), &counting{}
	am.http.Transport = sizes
	now := time.Now()
	over := alerts.NotifiedAlert{Key: rule.Key{Rule: "r"}, Was: dedup.Severe, EndsAt: now.Add(-time.Hour)}
	n := alerts.Notification{Kind: alerts.NotifyStanding, At: now, Alerts: []alerts.NotifiedAlert{over}}
	for _, taken := range []time.Time{now.Add(-50 * time.Minute), now.Add(-time.Minute)} {
		am.Resume(taken)
		if err := am.Send(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	if want := []int{1, 0}; !slices.Equal(sizes.of, want) {
		t.Errorf("requests of %v alerts, want %v: the first was not taken long enough after the end", sizes.of, want)
	}
}
