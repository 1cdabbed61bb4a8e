package notify

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

const (
	// defaultEndsAfter is longer than we are likely to be away.
	defaultEndsAfter = 9 * time.Hour
	// sayAgain is how often Alertmanager is told all that stands. It keeps alerts in memory alone, and a member that was away missed what
	// the others were told: so it knows all again before it has waited for the next message of a group (5 minutes unless configured), and
	// there is no more to it than what Prometheus does, which says everything again each minute.
	sayAgain = time.Minute
	// shortly is for how long Alertmanager believes what must be said again and again, or is said once: the watchdog and tests.
	shortly = 5 * time.Minute
	// clocksApart is how far Alertmanager's clock may be behind ours: an end that lies ahead for it does not count against the one that
	// it was told before.
	clocksApart = 30 * time.Second
	// endsAgain is how long after its end what is over is told again to a member that has taken it, as Prometheus does: the member may be
	// restarted before it told anybody. Told for longer, each message to people would list it again.
	endsAgain = 15 * time.Minute
	// grace is how long others may still answer once one member has taken a message: one that hangs must not hold up the next message.
	grace = 2 * time.Second
	// maxBatch is the most alerts of one request, as for Prometheus: a proxy before Alertmanager often takes no more than 1 MB.
	maxBatch = 256
	// maxManagers is the most members of a cluster.
	maxManagers = 16
)

// An alertmanager hands alerts to all members of an Alertmanager cluster, which do not tell each other of alerts.
type alertmanager struct {
	*client
	config  Config
	members []*member
	// hold is for how long what fires is believed, grace for how long other members are waited for once one has taken a message.
	hold, grace time.Duration
}

// A member is one Alertmanager of a cluster.
type member struct {
	target *url.URL
	// name is its host, for people; urls may hold secrets.
	name string
	// took is when the newest message of what stands was made that it has taken, in milliseconds since 1970; 0 where none is known.
	took atomic.Int64
	// fault is why it does not take what it is sent; nil while it does.
	fault atomic.Pointer[rule.ReceiverFault]
}

// Faults returns those of its members, in the order of the configuration.
func (a *alertmanager) Faults() []rule.ReceiverFault {
	var faults []rule.ReceiverFault
	for _, m := range a.members {
		if f := m.fault.Load(); f != nil {
			faults = append(faults, *f)
		}
	}
	if len(faults) == len(a.members) { // then Send says so
		return nil
	}
	return faults
}

// Resume tells it when a message was last taken, before a restart: what was over long before is not told again. Of a cluster that is
// when one member took it. Another that runs and was cut off at the time, and until the restart, believes an end that it missed for
// Config.EndsAfter; one that was started anew holds nothing.
func (a *alertmanager) Resume(taken time.Time) {
	for _, m := range a.members {
		m.took.Store(taken.UnixMilli())
	}
}

// errLate is why a member that has not answered is not waited for.
var errLate = errors.New("others have taken it")

// note keeps whether a member took what it was sent. That we were stopped is not its fault.
func (a *alertmanager) note(ctx context.Context, m *member, err error) {
	if err == nil {
		m.fault.Store(nil)
		return
	}
	now := time.Now()
	fault := &rule.ReceiverFault{Channel: a.config.Name, Receiver: m.name, Text: err.Error(), Since: now, Last: now}
	d, worded := errors.AsType[*alerts.DeliveryError](err)
	switch {
	case errors.Is(context.Cause(ctx), errLate):
		fault.Text = fmt.Sprintf("did not answer within %s after another one had", a.grace)
	case errors.Is(ctx.Err(), context.Canceled):
		return
	case worded:
		fault.Text = strings.TrimPrefix(d.Public, a.who+": ")
	}
	if before := m.fault.Load(); before != nil {
		fault.Since = before.Since
	}
	m.fault.Store(fault)
}

// noneTook notes that none of its members took what it was sent: a fault is one only while another member takes it, and begins anew.
func (a *alertmanager) noneTook() {
	for _, m := range a.members {
		if f := m.fault.Load(); f != nil {
			anew := *f
			anew.Since = anew.Last
			m.fault.Store(&anew)
		}
	}
}

// knows reports whether a member has long known of an end that is said again.
func (m *member) knows(one *alerts.NotifiedAlert, n alerts.Notification) bool {
	return n.Kind == alerts.NotifyStanding && !one.Firing && one.EndsAt.Add(endsAgain).UnixMilli() < m.took.Load()
}

func checkAlertmanager(c Config, p *problems) {
	const example = "http://alertmanager:9093"
	if len(c.URLs) == 0 {
		p.add("urls: is missing; list the address of every member of the cluster, e.g. %s", example)
	}
	if len(c.URLs) > maxManagers {
		p.add("urls: must be at most %d", maxManagers)
	}
	for i, u := range c.URLs {
		key := fmt.Sprintf("urls[%d]", i)
		checkURL(p, key, u, example)
		if strings.Contains(u.Reveal(), "/api/v") {
			p.add("%s: must not hold /api/v2, which is added to it, e.g. %s", key, example)
		}
	}
	if !c.Token.IsZero() && c.Username != "" {
		p.add("token: cannot be together with username; keep one of them")
	}
	if c.Username == "" && given(c.Password) {
		p.add("username: is missing; the password is sent with it")
	}
	if c.EndsAfter < 0 || c.EndsAfter > 0 && c.EndsAfter < 10*time.Minute || c.EndsAfter > 7*24*time.Hour {
		p.add("ends_after: must be between 10m and 168h, or 0s, which means %s", defaultEndsAfter)
	}
}

func openAlertmanager(c Config) (Channel, error) {
	client, err := newClient(c)
	if err != nil {
		return nil, err
	}
	a := &alertmanager{client: client, config: c, hold: c.endsAfter(), grace: grace}
	hosts := make(map[string]bool)
	for i, text := range c.URLs {
		root, err := parseURL(text)
		if err != nil {
			return nil, err
		}
		m := &member{target: root.JoinPath("api", "v2", "alerts"), name: root.Host}
		if hosts[m.name] {
			m.name += fmt.Sprintf(" (urls[%d])", i)
		}
		hosts[root.Host] = true
		a.members = append(a.members, m)
	}
	return a, nil
}

// Send posts the alerts to every member at once. One that takes them is enough, as for Prometheus.
func (a *alertmanager) Send(ctx context.Context, n alerts.Notification) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var once sync.Once
	failures := make([]error, len(a.members))
	var sending sync.WaitGroup
	for i, member := range a.members {
		sending.Go(func() {
			if failures[i] = a.postTo(ctx, member, n); failures[i] == nil {
				once.Do(func() { time.AfterFunc(a.grace, func() { cancel(errLate) }) })
			}
		})
	}
	sending.Wait()
	err := a.all(failures)
	if err != nil {
		a.noneTook()
	}
	return err
}

// postTo posts to one member. A panic is a failure of that member alone: the outbox keeps the program from ending by one in Send, but not
// by one in what Send has started.
func (a *alertmanager) postTo(ctx context.Context, m *member, n alerts.Notification) (err error) {
	defer func() {
		if recover() != nil {
			err = a.again(0, "%s could not be told, in a way that nobody foresaw", m.target.Host)
		}
		a.note(ctx, m, err)
	}()
	batches := slices.Collect(slices.Chunk(a.postable(n, m), maxBatch))
	if len(batches) == 0 { // it is asked all the same: that it was told counts as that it can be
		batches = [][]postableAlert{{}}
	}
	for _, batch := range batches {
		if failed := a.postBatch(ctx, m, n, batch); failed != nil {
			err = cmp.Or(err, failed)
			if d, ok := errors.AsType[*alerts.DeliveryError](failed); !ok || !d.Permanent { // else the others may be taken still
				return failed
			}
		}
	}
	if n.Kind == alerts.NotifyStanding && err == nil {
		m.took.Store(n.At.UnixMilli())
	}
	return err
}

func (a *alertmanager) postBatch(ctx context.Context, m *member, n alerts.Notification, batch []postableAlert) error {
	body, err := json.Marshal(batch)
	if err != nil {
		return a.permanent("the alerts cannot be written")
	}
	_, err = a.post(ctx, m.target, a.header(n), body)
	return err
}

func (a *alertmanager) header(n alerts.Notification) http.Header {
	header := jsonHeader()
	header.Set(headerID, clean(n.ID, maxName))
	switch {
	case !a.config.Token.IsZero():
		header.Set("Authorization", "Bearer "+a.config.Token.Reveal())
	case a.config.Username != "":
		request := http.Request{Header: header}
		request.SetBasicAuth(a.config.Username, a.config.Password.Reveal())
	}
	return header
}

// all returns nil if one succeeded, else one error for all: for good only if every one is, and after the shortest wait asked for. It is
// never doubtful: what Alertmanager gets twice is one alert to it, so that it is tried again soon.
func (a *alertmanager) all(failures []error) error {
	joined := &alerts.DeliveryError{Permanent: true}
	var words []string
	for _, err := range failures {
		if err == nil {
			return nil
		}
		d, ok := errors.AsType[*alerts.DeliveryError](err)
		if !ok {
			return err
		}
		words = append(words, strings.TrimPrefix(d.Public, a.who+": "))
		if d.Permanent {
			continue
		}
		if joined.Permanent || d.RetryAfter < joined.RetryAfter {
			joined.RetryAfter = d.RetryAfter
		}
		joined.Permanent = false
	}
	joined.Public = a.who + ": " + strings.Join(words, "; ")
	return joined
}

// A postableAlert is one alert as POST /api/v2/alerts takes it (api/v2/openapi.yaml of Alertmanager). Its labels are its identity.
type postableAlert struct {
	StartsAt     time.Time         `json:"startsAt"`
	EndsAt       time.Time         `json:"endsAt"`
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations"`
	GeneratorURL string            `json:"generatorURL,omitempty"`
}

// postable returns what is posted to a member. Alertmanager resolves by itself what it does not hear of again, and we tell of edges and repeats
// alone, so everything that fires says until when it does. All times are counted from when the notification was made: what is delivered
// late must not keep a watchdog alive. The dispatcher makes neither digests nor messages of flapping for Alertmanager; of those that are
// in the outbox since the channel had another type the alerts are posted as they are.
func (a *alertmanager) postable(n alerts.Notification, m *member) []postableAlert {
	var out []postableAlert
	worstFirst := slices.SortedStableFunc(slices.Values(n.Alerts), func(x, y alerts.NotifiedAlert) int { return cmp.Compare(y.Tier, x.Tier) })
	for i := range worstFirst {
		if one := &worstFirst[i]; (one.Firing || worstOf(one) > dedup.Normal) && !m.knows(one, n) { // else it never had it, or has it no more
			out = append(out, a.both(one, n)...)
		}
	}
	if len(n.Alerts) == 0 {
		out = append(out, brief(standIn(n), n.At))
	}
	if n.LeftOut > 0 {
		rest := standIn(n)
		rest.Labels["alertname"], rest.Annotations["summary"] = "alerts_not_listed", plural(n.LeftOut, "more alert", "more alerts")+" of one digest; the dashboard shows all"
		out = append(out, brief(rest, n.At))
	}
	return out
}

// both returns an alert and, where its tier has changed, the end of the one under its old tier: the tier is a label, and with it part of
// what identifies the alert to Alertmanager.
func (a *alertmanager) both(one *alerts.NotifiedAlert, n alerts.Notification) []postableAlert {
	m := newMessageAlert(one, n)
	now := postableAlert{m.StartsAt, m.EndsAt, m.Labels, m.Annotations, m.GeneratorURL}
	if one.Firing {
		now.EndsAt = n.At.UTC().Add(a.hold)
	}
	past := n.At.UTC().Add(-clocksApart)
	if !one.Firing && now.EndsAt.After(past) {
		now.EndsAt = past
	}
	if !one.Firing || one.Was <= dedup.Normal || one.Was == one.Tier {
		return []postableAlert{now.ordered()}
	}
	old := now
	old.Labels, old.EndsAt = alertLabels(one, one.Was), past
	return []postableAlert{now.ordered(), old.ordered()}
}

// ordered sees to it that an alert does not end before it begins, which Alertmanager refuses.
func (p postableAlert) ordered() postableAlert {
	if p.EndsAt.Before(p.StartsAt) {
		p.StartsAt = p.EndsAt
	}
	return p
}

// brief makes an alert that ends by itself soon.
func brief(m messageAlert, at time.Time) postableAlert {
	return postableAlert{m.StartsAt, at.UTC().Add(shortly), m.Labels, m.Annotations, m.GeneratorURL}
}
