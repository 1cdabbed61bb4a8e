package marker_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/marker"
	"dedup-dashboard/internal/dedup"
)

func TestAPlanIsCarriedOutOnce(t *testing.T) {
	d := newDesk(t, nil)
	d.shelf.put(processing("1"))
	p := d.plan(t, ada, "1")
	ids := make([]string, 8)
	var posts sync.WaitGroup
	for i := range ids {
		posts.Go(func() {
			id, err := d.Execute(context.Background(), []admin.Caller{ada, bob}[i%2], marker.ExecuteRequest{PlanID: p.ID, Reason: why})
			if err != nil {
				t.Error(err)
			}
			ids[i] = id
		})
	}
	posts.Wait()
	if len(slices.Compact(ids)) != 1 {
		t.Errorf("operations %v, want one", ids)
	}
	d.ended(t, ids[0])
	if d.shelf.clears["msg:1"] != 1 {
		t.Errorf("cleared %d times", d.shelf.clears["msg:1"])
	}
	d.clock.Advance(time.Hour)
	if id, err := d.Execute(t.Context(), ada, marker.ExecuteRequest{PlanID: p.ID, Reason: why}); err != nil || id != ids[0] {
		t.Errorf("a late second click: %q, %v", id, err)
	}
	if _, operation, err := d.Planned(t.Context(), ada, p.ID); err != nil || operation != ids[0] {
		t.Errorf("the plan names %q, %v", operation, err)
	}
}

func TestATokenStartsOneOperation(t *testing.T) {
	d := newDesk(t, nil)
	d.shelf.put(processing("1"))
	d.shelf.put(processing("2"))
	first, second := d.plan(t, ada, "1"), d.plan(t, ada, "2")
	id, err := d.Execute(t.Context(), ada, marker.ExecuteRequest{PlanID: first.ID, Reason: why, Token: "t-1"})
	if err != nil {
		t.Fatal(err)
	}
	again, err := d.Execute(t.Context(), ada, marker.ExecuteRequest{PlanID: first.ID, Reason: why, Token: "t-1"})
	if err != nil || again != id {
		t.Errorf("the repeated request started %q, not %q: %v", again, id, err)
	}
	wrong, err := d.Execute(t.Context(), ada, marker.ExecuteRequest{PlanID: second.ID, Reason: why, Token: "t-1"})
	if dedup.KindOf(err) != dedup.Conflict || wrong != "" || !strings.Contains(dedup.PublicText(err), "token has started another plan") {
		t.Errorf("another plan with the same token: %q, %v", wrong, err)
	}
	if !d.shelf.has("msg:2") {
		t.Error("another plan with the same token was carried out")
	}
	other, err := d.Execute(t.Context(), bob, marker.ExecuteRequest{PlanID: second.ID, Reason: why, Token: "t-1"})
	if err != nil || other == id {
		t.Errorf("the token of another person is taken: %q, %v", other, err)
	}
	d.ended(t, id)
	d.ended(t, other)
	if _, err := d.Execute(t.Context(), bob, marker.ExecuteRequest{PlanID: first.ID, Reason: why, Token: "t-1"}); dedup.KindOf(err) != dedup.Conflict {
		t.Errorf("a plan that was carried out, with the token of another: %v", err)
	}
}

func TestATokenThatIsUsedTwiceAtOnceStartsOnePlan(t *testing.T) {
	d := newDesk(t, nil)
	var plans []marker.Plan
	for i := range 8 {
		id := fmt.Sprint(i)
		d.shelf.put(processing(id))
		plans = append(plans, d.plan(t, ada, id))
	}
	ids, errs := make([]string, len(plans)), make([]error, len(plans))
	var posts sync.WaitGroup
	for i := range plans {
		posts.Go(func() {
			ids[i], errs[i] = d.Execute(context.Background(), ada, marker.ExecuteRequest{PlanID: plans[i].ID, Reason: why, Token: "t-1"})
		})
	}
	posts.Wait()
	started := 0
	for i, id := range ids {
		switch {
		case id != "":
			started++
			d.ended(t, id)
		case dedup.KindOf(errs[i]) != dedup.Conflict:
			t.Errorf("error is %v", errs[i])
		}
	}
	if left := len(plans) - started; started != 1 || left != 7 {
		t.Errorf("%d plans were started", started)
	}
}
