package marker_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/marker"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
)

// slow is a reader that answers when it is let, and counts who reads at once.
type slow struct {
	*shelf
	let  chan struct{}
	mu   sync.Mutex
	now  int
	most int
}

func (s *slow) wait(ctx context.Context) error {
	s.mu.Lock()
	s.now++
	s.most = max(s.most, s.now)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.now--
		s.mu.Unlock()
	}()
	select {
	case <-s.let:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// reading returns how many read at the moment, and how many did at most.
func (s *slow) reading() (now, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now, s.most
}

func (s *slow) Look(ctx context.Context, keys []string) ([]*dedup.Sighting, error) {
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	return s.shelf.Look(ctx, keys)
}

func (s *slow) Lookup(ctx context.Context, term string) ([]dedup.Sighting, error) {
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	return s.shelf.Lookup(ctx, term)
}

func (s *slow) Browse(ctx context.Context, q dedup.MarkerQuery) (dedup.MarkerPage, error) {
	if err := s.wait(ctx); err != nil {
		return dedup.MarkerPage{}, err
	}
	return s.shelf.Browse(ctx, q)
}

// silent is an audit that takes everything and holds nothing.
type silent struct{}

func (silent) Record(context.Context, admin.Entry) error                        { return nil }
func (silent) Acts(context.Context, admin.TrailQuery) ([]admin.Act, error)      { return nil, nil }
func (silent) Entries(context.Context, admin.TrailQuery) ([]admin.Entry, error) { return nil, nil }
func (silent) Check(context.Context) (admin.AuditState, error)                  { return admin.AuditState{}, nil }
func (silent) CreateFirstAdmin(context.Context, auth.User) error                { return nil }
func (silent) SetPassword(context.Context, string, admin.PasswordChange) error  { return nil }
func (silent) Snapshot() *dedup.Snapshot                                        { return nil }

// readOnce reads a store by way of one of the three pages that do.
func readOnce(ctx context.Context, m *marker.Markers, page int) error {
	switch page % 3 {
	case 0:
		_, err := m.Browse(ctx, viewer, "orders", dedup.MarkerQuery{Limit: 10})
		return err
	case 1:
		_, err := m.Look(ctx, viewer, "orders", "msg:1")
		return err
	}
	found, err := m.Lookup(ctx, viewer, "1")
	if err == nil && found.Stores[0].Err != "" {
		err = &dedup.Error{Kind: dedup.Unavailable, Public: found.Stores[0].Err}
	}
	return err
}

func TestPagesReadAStoreTwoAtATimeAndSayWhenTheyWaitedTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader := &slow{shelf: newShelf(), let: make(chan struct{})}
		m := marker.New(marker.Deps{
			Gate: admin.NewGate(silent{}, silent{}, nil), Trail: silent{}, Snapshots: silent{},
			Stores: []marker.Store{{Name: "orders", Scheme: scheme, Reader: reader}},
		})
		defer func() { _ = m.Close(context.Background()) }()
		errs := make(chan error, 9)
		for i := range 9 {
			go func() { errs <- readOnce(t.Context(), m, i) }()
		}
		synctest.Wait()
		if now, _ := reader.reading(); now != 2 {
			t.Errorf("%d read at once", now)
		}
		busy, late := 0, 0
		for range 9 { // as the deadlines pass
			switch text := dedup.PublicText(<-errs); {
			case strings.Contains(text, "busy with other look-ups"):
				busy++
			case strings.Contains(text, "did not answer in time"):
				late++
			default:
				t.Error(text)
			}
		}
		if now, most := reader.reading(); busy < 4 || late < 2 || most != 2 || now != 0 {
			t.Errorf("%d were told that the store is busy, %d that it did not answer; %d read at once", busy, late, most)
		}
		close(reader.let)
		if err := readOnce(t.Context(), m, 0); err != nil {
			t.Errorf("the turns were not given back: %v", err)
		}
	})
}
