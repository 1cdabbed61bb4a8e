package move

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
)

// needs returns the role that may carry the plan out.
func (pl *planning) needs(who admin.Caller) auth.Role {
	return pl.plan.RoleNeeded(who, pl.planner.deps.OperatorLimit)
}

// RoleNeeded returns the role that may carry the plan of somebody out, where an operator may requeue so many. A filter also selects what
// the look did not see: of an admin's that may move more than an operator may, all is meant.
func (p Plan) RoleNeeded(who admin.Caller, limit int) auth.Role {
	req := p.Request
	bounded := req.Most > 0 && req.Most <= int64(limit)
	many := req.Whole || p.Matching > limit || req.Filter != "" && who.Can(auth.Admin) && p.MostOf(p.Ready) > int64(limit)
	switch {
	case req.Do != admin.Requeue, req.Edit != nil, !bounded && many,
		slices.Contains(slices.Collect(maps.Values(p.Choices)), preflight.ClearFirst):
		return auth.Admin
	}
	return auth.Operator
}

// most returns the most messages that the plan moves; 0 for no bound. A filter also selects what arrives after the look, so that the
// limit of an operator bounds every plan that an operator may start, whoever made it.
func (pl *planning) most() int64 {
	asked, limit := pl.plan.Request.Most, int64(pl.planner.deps.OperatorLimit)
	if pl.plan.Needs != auth.Operator || pl.plan.Request.Filter == "" {
		return asked
	}
	if asked == 0 {
		return limit
	}
	return min(asked, limit)
}

const (
	// canaryAbove is from how many messages on a canary is preset, canarySize how large that is.
	canaryAbove = 20
	canarySize  = 5
)

// presetCanary settles the usual canary where that was asked for.
func (pl *planning) presetCanary() {
	p := &pl.plan
	if p.Request.Canary != PresetCanary {
		return
	}
	p.Request.Canary = 0
	if p.Request.Do == admin.Requeue && ExtentOf(*p, p.Ready).Messages > canaryAbove {
		p.Request.Canary = canarySize
	}
}

// park names the parking queue of a discard. One that is not there is declared when the job starts: a plan changes nothing. One that is there
// is declared again as the start will do it, which changes nothing either, and says whether the start will be refused.
func (pl *planning) park(ctx context.Context) error {
	if pl.plan.Request.Do != admin.Discard {
		return nil
	}
	parking, err := dedup.ParkingQueue(pl.line.Dead.QueueRef)
	if err != nil {
		return err
	}
	pl.plan.Parking = parking.Name
	_, err = pl.line.Live(ctx, parking)
	switch {
	case dedup.KindOf(err) == dedup.NotFound:
		pl.plan.Guards = append(pl.plan.Guards, warn("There is no parking queue yet. The start declares it, and is refused where the acting account may not, "+
			"or where a policy could drop what is put there"))
		return nil
	case err != nil:
		return err
	}
	if err := pl.line.DeclareParking(ctx); err != nil {
		pl.plan.Guards = append(pl.plan.Guards, block("%s", dedup.PublicText(err)))
	}
	return nil
}

// clearsDone reports whether the plan clears the marker of done work: of one message that was selected by itself, whose id is typed.
func (pl *planning) clearsDone() bool {
	p := &pl.plan
	if p.Request.Do != admin.Requeue || len(p.Request.Refs) != 1 || len(pl.selected) != 1 {
		return false
	}
	letter := &pl.selected[0]
	return p.Choices[letter.Prediction.Class] == preflight.ClearFirst && letter.Prediction.ClearDone && letter.Marker != nil
}

// manyMessages is from how many messages on the name of the queue must be typed.
const manyMessages = 100

// confirm returns what must be typed.
func (pl *planning) confirm() string {
	if pl.plan.ClearsDone {
		return admin.Confirmation(*pl.selected[0].Marker)
	}
	return pl.plan.typed()
}

// typed returns what must be typed because of how many messages a plan may move, and of which kind.
func (p Plan) typed() string {
	queue := p.Source.Name
	if !admin.Plain(queue) || len(queue) > 128 || strings.TrimSpace(queue) != queue { // what is typed loses the space around it
		queue = "move"
	}
	keptUnsafe := slices.ContainsFunc(preflight.UnsafeClasses(), func(c preflight.Class) bool {
		return p.Request.Do == admin.Requeue && p.Choices[c] == preflight.KeepAsIs && (p.Classes[c] > 0 || p.beyond())
	})
	if p.UpTo > manyMessages || p.Request.Do == admin.Discard || keptUnsafe {
		return queue
	}
	return ""
}

// MostOf is the most messages that the plan may move of a queue that holds so many.
func (p Plan) MostOf(ready int64) int64 {
	n := int64(p.Matching - p.Nowhere - p.Worn)
	switch {
	case len(p.Request.Refs) > 0: // what is left out stays, whatever becomes of its marker
		n = 0
		for _, goes := range p.Targets {
			n += int64(goes)
		}
	case p.Request.Whole:
		n = max(0, ready-int64(p.Nowhere+p.Worn))
	case p.Request.Filter != "":
		n += max(0, ready-int64(p.Scanned))
	}
	if p.Most > 0 {
		n = min(n, p.Most)
	}
	return n
}

// beyond reports whether the plan may move messages that were not looked at; what will happen to those is not known.
func (p Plan) beyond() bool {
	return p.Request.Whole || p.Request.Filter != "" && p.Ready > int64(p.Scanned)
}

// takes estimates how long the plan takes at its rate, with the time for which the first messages are watched.
func (pl *planning) takes() time.Duration {
	p := pl.plan
	takes := time.Duration(float64(p.UpTo) / p.perSecond() * float64(time.Second))
	if p.Request.Canary > 0 {
		takes += pl.line.Patience(pl.planner.deps.Watch)
	}
	return takes.Round(time.Second)
}

// Rate returns the most messages per second; 0 for no limit.
func (p Plan) Rate() float64 {
	switch {
	case p.Request.Rate < 0:
		return 0
	case p.Request.Rate == 0:
		return DefaultRate
	}
	return p.Request.Rate
}
