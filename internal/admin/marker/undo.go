package marker

import (
	"context"
	"slices"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
)

// planRestore fills a plan that undoes a clear.
func (m *Markers) planRestore(ctx context.Context, st *Store, p *Plan) error {
	// Asked first: what was not live then has written all that this process will write of it.
	live := m.operations.Live(p.Request.Operation) != nil
	o, ok, err := m.deps.Journal.Operation(ctx, p.Request.Operation)
	if err != nil {
		return admin.JournalError("The operation cannot be read", err)
	}
	switch {
	case !ok || o.Plan.Request.Store != st.Name:
		return admin.NotFound("There is no such operation on store " + st.Name)
	case o.Plan.Request.Deed != admin.ClearMarkers:
		return admin.Invalid("Only a clear can be undone")
	case o.Ended.IsZero() && live:
		return admin.Conflict("The operation is still running; undo it when it has ended")
	}
	images, err := m.deps.Journal.Images(ctx, o.ID)
	if err != nil {
		return admin.JournalError("The images of the cleared markers cannot be read", err)
	}
	earlier, err := m.earlierRestores(ctx, images)
	if err != nil {
		return admin.JournalError("The earlier undo of the operation cannot be read", err)
	}
	numbers := p.Request.Items
	if len(numbers) == 0 {
		for i := range o.Plan.Items {
			numbers = append(numbers, i)
		}
	}
	u := undoing{operation: o, images: images, earlier: earlier, scheme: st.Scheme, now: m.deps.Now().Add(m.stores.view(st.Name).evidence.ClockOffset)}
	if err := u.choose(numbers, p); err != nil {
		return err
	}
	return u.look(ctx, st, p)
}

// A claim is how far the restore came that has an image; zero when none has it.
type claim uint8

const (
	// restoring: it is under way in this process.
	restoring claim = iota + 1
	restored
	// interrupted: whether it restored the marker is not known, or it did not and could not give the image back.
	interrupted
)

// earlierRestores returns what became of the restores that have claimed images, by item.
func (m *Markers) earlierRestores(ctx context.Context, images map[int]KeptImage) (map[int]claim, error) {
	claims, operations := map[int]claim{}, map[string]Operation{}
	for item, image := range images {
		id := image.RestoredBy
		if id == "" {
			continue
		}
		if m.operations.Live(id) != nil {
			claims[item] = restoring
			continue
		}
		o, known := operations[id]
		if !known {
			var err error
			if o, _, err = m.deps.Journal.Operation(ctx, id); err != nil {
				return nil, err
			}
			operations[id] = o
		}
		claims[item] = o.claim(item)
	}
	return claims, nil
}

// claim says how far a restore that is over came with an item of the operation that it undoes.
func (o Operation) claim(item int) claim {
	at := slices.Index(o.Plan.Request.Items, item)
	if at >= 0 && at < len(o.Outcomes) && o.Outcomes[at].Outcome.Result == dedup.Restored {
		return restored
	}
	return interrupted
}

// undoing is the choice of what can be restored of an operation.
type undoing struct {
	operation Operation
	images    map[int]KeptImage
	earlier   map[int]claim
	scheme    dedup.Scheme
	now       time.Time // by the store's clock
}

// choose takes the items whose images can be restored, as far as the journal tells.
func (u undoing) choose(numbers []int, p *Plan) error {
	p.Request.Items = nil
	done := 0
	for _, n := range slices.Compact(slices.Sorted(slices.Values(numbers))) {
		if n < 0 || n >= len(u.operation.Plan.Items) || n >= len(u.operation.Outcomes) {
			return admin.Invalid("The operation has no such item")
		}
		was := u.operation.Plan.Items[n].Seen
		if u.earlier[n] == restored {
			done++
		}
		if why := u.leaveOut(n); why != "" {
			p.LeftOut = append(p.LeftOut, LeftOut{Key: was.Key, ID: was.ID, Why: why})
			continue
		}
		p.Items = append(p.Items, u.item(u.images[n], u.earlier[n]))
		p.Request.Items = append(p.Request.Items, n)
	}
	if len(p.Items) == 0 && done > 0 {
		return admin.Conflict("This was undone already")
	}
	return nil
}

// item is the plan for one image, and for that of an interrupted restore says what is not known.
func (u undoing) item(image KeptImage, earlier claim) PlanItem {
	it := PlanItem{Seen: *admin.WithoutValue(image.Seen), Hash: image.Hash, Size: image.Size, Effect: restoreEffect(u.scheme, image.Seen)}
	if earlier == interrupted {
		it.Interrupted = image.RestoredBy
		it.Effect += ". Operation " + image.RestoredBy + " was to restore it and its outcome is not known: if it did, and the marker has been worked off since, it comes back a second time"
	}
	return it
}

// leaveOut says why an item cannot be restored. One that was begun and has no outcome may have been cleared.
func (u undoing) leaveOut(n int) string {
	image, kept := u.images[n]
	o := u.operation.Outcomes[n]
	result := o.Outcome.Result
	if o.Begun {
		result = dedup.UnknownOutcome
	}
	switch {
	case o.At.IsZero() && !o.Begun:
		return "was not tried"
	case result != dedup.Cleared && result != dedup.UnknownOutcome:
		return "was not cleared: " + string(result)
	case !kept:
		return "its image is not kept any more"
	case u.earlier[n] == restored:
		return "restored already"
	case u.earlier[n] == restoring:
		return "is being restored by operation " + image.RestoredBy
	case image.Seen.ExpiresMillis != dedup.NoExpiry && image.Seen.ExpiresMillis <= u.now.UnixMilli():
		return "already expired, nothing to restore"
	}
	return ""
}

// look leaves out what has a marker again.
func (u undoing) look(ctx context.Context, st *Store, p *Plan) error {
	items, numbers := p.Items, p.Request.Items
	p.Items, p.Request.Items = nil, nil
	for at := 0; at < len(items); at += lookBatch {
		batch := items[at:min(at+lookBatch, len(items))]
		keys := make([]string, len(batch))
		for i := range batch {
			keys[i] = batch[i].Seen.Key
		}
		seen, err := look(ctx, st, keys)
		if err != nil {
			return err
		}
		for i, s := range seen {
			if s != nil {
				p.LeftOut = append(p.LeftOut, LeftOut{Key: keys[i], ID: batch[i].Seen.ID, Why: "has a marker again: " + admin.Describe(s)})
				continue
			}
			p.Items, p.Request.Items = append(p.Items, batch[i]), append(p.Request.Items, numbers[at+i])
		}
	}
	return nil
}
