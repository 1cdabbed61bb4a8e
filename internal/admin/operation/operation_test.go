package operation_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/operation"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
)

var ann = admin.Caller{Principal: auth.Principal{Name: "ann", Role: auth.Admin}}

// A diary keeps the phases of what was recorded, and plans.
type diary struct {
	phases  []string
	refuses bool
	plan    plan
	holder  string
	token   string // of plan "other"
}

type plan struct {
	id, confirm string
	made        time.Time
}

func (d *diary) Record(_ context.Context, e admin.Entry) error {
	if d.refuses {
		return errors.New("full")
	}
	d.phases = append(d.phases, e.Phase)
	return nil
}

func (d *diary) SavePlan(_ context.Context, p plan) error { d.plan = p; return nil }

func (d *diary) Plan(_ context.Context, id string) (plan, string, bool, error) {
	if id != d.plan.id {
		return plan{}, "", false, nil
	}
	return d.plan, d.holder, true, nil
}

func (d *diary) ByToken(_ context.Context, _, token string) (string, error) {
	if token == d.token {
		return "other", nil
	}
	return "", nil
}

func (d *diary) gate() *admin.Gate {
	return admin.NewGate(d, nil, slog.New(slog.NewTextHandler(io.Discard, nil)))
}

func (d *diary) plans(now time.Time) operation.Plans[plan] {
	return operation.Plans[plan]{
		Gate: d.gate(), Journal: d, Now: func() time.Time { return now },
		Terms: func(p plan) (time.Time, string) { return p.made, p.confirm },
	}
}

func TestAPlanIsReviewedBeforeItIsCarriedOut(t *testing.T) {
	made := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		change func(*diary, *operation.Start)
		holder string
		kind   dedup.Kind
	}{
		"as it should be":                    {func(*diary, *operation.Start) {}, "", ""},
		"without a reason":                   {func(_ *diary, s *operation.Start) { s.Reason = "" }, "", dedup.Invalid},
		"that there is not":                  {func(_ *diary, s *operation.Start) { s.PlanID = "none" }, "", dedup.NotFound},
		"that is carried out already":        {func(d *diary, _ *operation.Start) { d.holder = "first" }, "first", ""},
		"with the token of another":          {func(_ *diary, s *operation.Start) { s.Token = "t" }, "", dedup.Conflict},
		"with a token that is free":          {func(_ *diary, s *operation.Start) { s.Token = "u" }, "", ""},
		"that was made too long ago":         {func(d *diary, _ *operation.Start) { d.plan.made = made.Add(-admin.PlanLife) }, "", dedup.Conflict},
		"without what is to be typed":        {func(d *diary, _ *operation.Start) { d.plan.confirm = "m-1" }, "", dedup.Invalid},
		"with what is to be typed and space": {func(d *diary, s *operation.Start) { d.plan.confirm, s.Confirm = "m-1", " m-1 " }, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := &diary{plan: plan{id: "p", made: made}, token: "t"}
			req := operation.Start{PlanID: "p", Reason: "because of a test"}
			c.change(d, &req)
			plans := d.plans(made.Add(time.Second))
			act := admin.Action{Needs: auth.Admin}
			p, holder, err := plans.Review(t.Context(), ann, req, &act)
			if err == nil && holder == "" {
				err = plans.InForce(p, req.Confirm)
			}
			if holder != c.holder || (err == nil) != (c.kind == "") || err != nil && dedup.KindOf(err) != c.kind {
				t.Errorf("%q, %v", holder, err)
			}
		})
	}
}

func TestNothingIsClaimedWithoutAnIntent(t *testing.T) {
	for name, c := range map[string]struct {
		refuses bool
		holder  string
		err     error
		live    bool
		phases  []string
	}{
		"claimed":                     {false, "", nil, true, []string{admin.Intent}},
		"the audit takes nothing":     {true, "", nil, false, nil},
		"another one has the plan":    {false, "first", nil, false, []string{admin.Intent, admin.Failed}},
		"the journal takes nothing":   {false, "", errors.New("full"), false, []string{admin.Intent, admin.Failed}},
		"the token was used meantime": {false, "", admin.ErrTokenUsed, false, []string{admin.Intent, admin.Failed}},
	} {
		t.Run(name, func(t *testing.T) {
			d, set := &diary{refuses: c.refuses}, operation.NewSet[int]("job")
			e := admin.NewEntry(ann, admin.Action{Name: "test"})
			begun := false
			holder, err := set.Claim(t.Context(), d.gate(), e, new(int), func(context.Context) (string, error) {
				begun = true
				if set.Live(e.Operation) == nil {
					t.Error("it is not live before it is claimed")
				}
				if c.holder != "" {
					return c.holder, nil
				}
				return e.Operation, operation.NotBegun(c.err)
			})
			if begun == c.refuses || (set.Live(e.Operation) != nil) != c.live || (err == nil) != (c.live || c.holder != "") {
				t.Errorf("begun %t, live %t, %v", begun, set.Live(e.Operation) != nil, err)
			}
			if c.holder != "" && holder != c.holder || len(d.phases) != len(c.phases) {
				t.Errorf("%q, %v", holder, d.phases)
			}
			for i := range d.phases {
				if d.phases[i] != c.phases[i] {
					t.Errorf("%v", d.phases)
				}
			}
		})
	}
}

func TestASetLetsNothingBeginTwiceOrAfterItIsClosed(t *testing.T) {
	set := operation.NewSet[int]("job")
	one := new(int)
	if !set.Enlist("a", one) || set.Enlist("a", one) {
		t.Error("begun twice, or not at all")
	}
	gone := set.Gone("a")
	set.Owe("a", one)
	set.LetGo("a")
	<-gone
	if set.Live("a") != nil || set.Known("a") != one || set.Enlist("a", one) {
		t.Error("it begins before its end is written")
	}
	set.Written("a")
	if !set.Enlist("a", one) {
		t.Error("it cannot go on")
	}
	set.Close()
	set.Close()
	<-set.Stopping()
	if set.Enlist("b", one) {
		t.Error("begun after the end")
	}
	set.Background(func() { t.Error("background work after the end") })
	short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if set.Wait(short) == nil {
		t.Error("it did not wait for what is live")
	}
	set.Retire("a")
	if err := set.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestTidyingUpIsDoneAtOnceWhenSomethingRetiresAndWhenItIsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set, times, began := operation.NewSet[int]("job"), []time.Duration{}, time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			set.Tend(ctx, func(context.Context) time.Duration {
				times = append(times, time.Since(began))
				return time.Minute
			})
		}()
		time.Sleep(10 * time.Second)
		set.Enlist("a", new(int))
		set.Retire("a")
		time.Sleep(61 * time.Second)
		cancel()
		<-ended
		if len(times) != 3 || times[0] != 0 || times[1] != 10*time.Second || times[2] != 70*time.Second {
			t.Error(times)
		}
	})
}
