package deadletter

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"dedup-dashboard/internal/dedup"
)

func scanOfSize(id, queue string, bytes int) Scan {
	l := Letter{}
	l.Ref, l.Body = "r", make([]byte, bytes)
	return Scan{ID: id, Pipeline: "orders", Queue: dedup.QueueRef{Vhost: "/", Name: queue}, Letters: []Letter{l}}
}

func TestAScanIsKeptForItsTimeAndANewerOneComesBeforeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewKeptScans()
		s.keep(scanOfSize("a", "q", 10), Scan{})
		s.keep(scanOfSize("b", "other", 10), Scan{})
		time.Sleep(ScanLife - time.Second)
		s.keep(scanOfSize("c", "q", 10), Scan{})
		if s.Find("a") == nil || s.Find("b") == nil || s.Newest("orders", dedup.QueueRef{Vhost: "/", Name: "q"}).Raw.ID != "c" {
			t.Error("the newer scan does not come before the older one, or none is kept")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if s.Find("b") != nil || s.Find("c") == nil {
			t.Error("a scan lives too long or too short")
		}
		time.Sleep(ScanLife)
		synctest.Wait()
		if s.Find("c") != nil || s.bytes != 0 || len(s.order) != 0 {
			t.Errorf("%d bytes are held after the end", s.bytes)
		}
	})
}

func TestAllScansTogetherAreBounded(t *testing.T) {
	s := NewKeptScans()
	defer s.Clear()
	for i := range 10 {
		s.keep(scanOfSize(fmt.Sprint(i), fmt.Sprint(i), MaxScanBytes/2), Scan{})
		if s.bytes > maxKeptBytes {
			t.Fatalf("%d bytes are held", s.bytes)
		}
	}
	if s.Find("9") == nil || s.Find("0") != nil || len(s.order) < 2 {
		t.Errorf("held: %v", s.order)
	}
}
