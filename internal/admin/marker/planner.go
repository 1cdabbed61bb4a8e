package marker

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
)

const (
	// planTimeout bounds the making of a plan. lookBatch is how many markers are read at once: values of a megabyte each
	// must not fill the memory.
	planTimeout = 30 * time.Second
	lookBatch   = 16
	minTTL      = time.Minute
	maxTTL      = 366 * 24 * time.Hour
)

// Plan freezes a selection and says what would happen to each marker. It changes nothing. Admins may.
func (m *Markers) Plan(ctx context.Context, who admin.Caller, req PlanRequest) (Plan, error) {
	act := admin.Action{Name: "plan", Target: admin.Printable(req.Store, 64), Needs: auth.Admin}
	p, err := m.plan(ctx, who, req, act)
	if err != nil {
		return Plan{}, m.deps.Gate.Refuse(ctx, who, act, err)
	}
	return p, nil
}

func (m *Markers) plan(ctx context.Context, who admin.Caller, req PlanRequest, act admin.Action) (Plan, error) {
	if err := admin.Lacks(who, act.Needs); err != nil {
		return Plan{}, err
	}
	if err := req.check(); err != nil {
		return Plan{}, err
	}
	st, err := m.stores.acting(req.Store)
	if err != nil {
		return Plan{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, planTimeout)
	defer cancel()
	p := Plan{ID: rand.Text(), Made: m.deps.Now(), By: who.Name, Request: req}
	if req.Deed == admin.RestoreMarkers {
		err = m.planRestore(ctx, st, &p)
	} else {
		err = m.planChange(ctx, st, &p)
	}
	if err != nil {
		return Plan{}, err
	}
	p.Takes = takes(p)
	e := admin.NewEntry(who, act)
	e.Operation, e.Action, e.Hash = p.ID, "plan_"+string(req.Deed), planHash(p)
	e.Detail = fmt.Sprintf("%s, %d left out, %d beyond the limit", admin.Plural(len(p.Items), "marker"), len(p.LeftOut), p.Truncated)
	if err := m.plans.Keep(ctx, p, e); err != nil {
		return Plan{}, err
	}
	return p, nil
}

// Planned returns a plan again, and the operation that carried it out or "". A plan that is over is of kind not found.
// Admins may.
func (m *Markers) Planned(ctx context.Context, who admin.Caller, id string) (Plan, string, error) {
	if err := m.allow(ctx, who, auth.Admin, "read_plan", id); err != nil {
		return Plan{}, "", err
	}
	return m.plans.Planned(ctx, id)
}

// check returns what is wrong with a request, before anything is read.
func (r PlanRequest) check() error {
	ways := 0
	for _, given := range []bool{len(r.Keys) > 0, r.Filter != nil, r.Operation != ""} {
		if given {
			ways++
		}
	}
	lists := []List{ProcessingList, FailedList, PermanentList, GaveUpList}
	switch {
	case !slices.Contains([]admin.Deed{admin.ClearMarkers, admin.SetExpiry, admin.RestoreMarkers}, r.Deed):
		return admin.Invalid("A plan clears markers, sets an expiry or restores markers")
	case ways != 1:
		return admin.Invalid("Select markers either one by one, or by a filter, or by the operation to undo")
	case (r.Deed == admin.RestoreMarkers) != (r.Operation != ""):
		return admin.Invalid("To restore markers name the operation that cleared them, and no other way of selecting")
	case len(r.Keys) > MaxPlanned || len(r.Items) > MaxPlanned:
		return admin.Invalid(fmt.Sprintf("A plan has at most %d markers", MaxPlanned))
	case slices.ContainsFunc(r.Keys, func(k string) bool { return k == "" || len(k) > maxKey }):
		return admin.Invalid(fmt.Sprintf("A key has 1 to %d bytes", maxKey))
	case r.Filter != nil && !slices.Contains(lists, r.Filter.List):
		return admin.Invalid("There is no such list of markers")
	case r.AlsoRetry && r.Deed != admin.ClearMarkers:
		return admin.Invalid("Retry counters are cleared along with markers only")
	case r.TTL != 0 && (r.TTL < minTTL || r.TTL > maxTTL):
		return admin.Invalid("The time to live must be between a minute and a year")
	case r.Deed != admin.SetExpiry && r.TTL != 0:
		return admin.Invalid("A time to live belongs to setting an expiry only")
	}
	return nil
}

// single reports whether the request names one marker: some markers can be cleared only so.
func (r PlanRequest) single() bool { return len(r.Keys) == 1 }

// planChange fills a plan that clears markers or sets their expiry.
func (m *Markers) planChange(ctx context.Context, st *Store, p *Plan) error {
	v := m.stores.view(st.Name)
	keys, err := m.selectKeys(v, st, p)
	if err != nil {
		return err
	}
	rules := rules{scheme: st.Scheme, view: v, request: p.Request, now: p.Made}
	for batch := range slices.Chunk(keys, lookBatch) {
		seen, err := look(ctx, st, batch)
		if err != nil {
			return err
		}
		for i, s := range seen {
			if s == nil {
				p.LeftOut = append(p.LeftOut, LeftOut{Key: batch[i], Why: "gone"})
				continue
			}
			m.planItem(st, rules, *s, p)
		}
	}
	return nil
}

// planItem adds a marker to the plan, or to what is left out.
func (m *Markers) planItem(st *Store, r rules, s dedup.Sighting, p *Plan) {
	item := newItem(s)
	item.Verdict, item.Reasons = m.stores.judge(r.view, st, s.Marker, s.At)
	item.Seen.Marker = r.view.dated(item.Seen.Marker, st.Scheme)
	if why := r.leaveOut(item); why != "" {
		p.LeftOut = append(p.LeftOut, LeftOut{Key: s.Key, ID: s.ID, Why: why})
		return
	}
	if r.request.Deed == admin.SetExpiry {
		item.TTL = r.ttl(s.State)
	}
	item.Effect = r.effect(item)
	p.Items = append(p.Items, item)
	if r.confirms(item) {
		p.Confirm = admin.Confirmation(s)
	}
}

// newItem returns an item with the hash of the value instead of the value.
func newItem(s dedup.Sighting) PlanItem {
	return PlanItem{Seen: *admin.WithoutValue(s), Hash: admin.ValueHash(s.Value), Size: int64(len(s.Value))}
}

// selectKeys returns the keys of the request without repetitions, and those of a filter frozen from the last pass.
func (m *Markers) selectKeys(v view, st *Store, p *Plan) ([]string, error) {
	if p.Request.Filter == nil {
		keys := slices.Clone(p.Request.Keys)
		taken := make(map[string]bool, len(keys))
		return slices.DeleteFunc(keys, func(k string) bool {
			double := taken[k]
			taken[k] = true
			return double
		}), nil
	}
	f := *p.Request.Filter
	if v.pass == nil {
		return nil, admin.Unavailable("Store " + st.Name + " has not been walked over completely yet, so there is no list to select from")
	}
	var keys []string
	for _, mk := range v.list(f.List) {
		if f.Match != "" && !strings.Contains(mk.ID, f.Match) && !strings.Contains(mk.BusinessKey, f.Match) {
			continue
		}
		if verdict, _ := m.stores.judgeListed(v, st, mk); f.Verdict != "" && verdict != f.Verdict {
			continue
		}
		if mk.Key == "" || len(mk.Key) > maxKey {
			p.LeftOut = append(p.LeftOut, LeftOut{ID: mk.Name()[:min(len(mk.Name()), maxKey)], Why: "its key is too long to be acted on"})
			continue
		}
		if len(keys) == MaxPlanned {
			p.Truncated++
			continue
		}
		keys = append(keys, mk.Key)
	}
	if f.Match == "" && f.Verdict == "" {
		p.Truncated, p.Undecoded = p.Truncated+v.beyond(f.List), v.undecoded(f.List)
	}
	return keys, nil
}

const (
	// watched is how long a marker that never expires is watched before it is changed; quick the time of any other item.
	watched = 5 * time.Second
	quick   = 100 * time.Millisecond
)

// takes estimates how long a plan takes with atOnce items at once.
func takes(p Plan) time.Duration {
	slow := 0
	for _, it := range p.Items {
		if p.Request.Deed != admin.RestoreMarkers && it.Seen.ExpiresMillis == dedup.NoExpiry && it.Seen.Type != admin.TypeRow {
			slow++
		}
	}
	rounds := func(n int) time.Duration { return time.Duration((n + atOnce - 1) / atOnce) }
	return rounds(slow)*watched + rounds(len(p.Items)-slow)*quick
}

// planHash returns the SHA-256 over what a plan will touch: each marker's key, type, expiry and value.
func planHash(p Plan) string {
	h := sha256.New()
	for _, it := range p.Items {
		admin.WriteField(h, it.Seen.Key)
		admin.WriteField(h, it.Seen.Type)
		admin.WriteField(h, fmt.Sprint(it.Seen.ExpiresMillis))
		admin.WriteField(h, it.Hash)
	}
	return hex.EncodeToString(h.Sum(nil))
}
