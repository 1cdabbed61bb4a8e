package deadletter

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"dedup-dashboard/internal/dedup"
)

func TestALookOfOnePersonOutlivesTheOneOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewKeptScans()
		defer s.Clear()
		queue := dedup.QueueRef{Vhost: "/", Name: "q"}
		s.keep(scanOfSize("ada's", "q", 10), Scan{})
		time.Sleep(5 * time.Minute)
		s.keep(scanOfSize("bob's", "q", 10), Scan{})
		if s.Find("ada's") == nil || s.Newest("orders", queue).Raw.ID != "bob's" {
			t.Error("a look does not outlive the next one, or is still the newest")
		}
		time.Sleep(ScanLife - 5*time.Minute)
		synctest.Wait()
		if s.Find("ada's") != nil || s.Find("bob's") == nil {
			t.Error("an older look is kept for longer or shorter than its time")
		}
	})
}

func TestOlderLooksOfAQueueAreFewAndMakeRoomFirst(t *testing.T) {
	s := NewKeptScans()
	defer s.Clear()
	for i := range 2 * looksKept {
		s.keep(scanOfSize(fmt.Sprint("small ", i), "small", 10), Scan{})
	}
	if n := len(s.order); n != looksKept {
		t.Errorf("%d looks of one queue are kept", n)
	}
	s.Clear()
	s.keep(scanOfSize("only", "other", 10), Scan{})
	for i := range 10 {
		s.keep(scanOfSize(fmt.Sprint(i), "q", MaxScanBytes/2), Scan{})
	}
	if s.Find("only") == nil || s.Find("9") == nil || s.bytes > maxKeptBytes {
		t.Errorf("held: %v", s.order)
	}
}

func TestALookUpTellsOfEachLetterOnceHoweverOftenItWasLookedAt(t *testing.T) {
	s := NewKeptScans()
	defer s.Clear()
	for _, id := range []string{"first", "second"} {
		scan := scanOfSize(id, "q", 10)
		s.keep(scan, scan)
	}
	other := scanOfSize("another queue", "other", 10)
	s.keep(other, other)
	if got := s.all(); len(got) != 2 || got[0].ID != "another queue" || got[1].ID != "second" {
		t.Errorf("%+v", got)
	}
}
