package redis_test

import (
	"strings"
	"testing"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/markerstest"
)

func TestAKeyTooLongToBeActedOnIsListedWithItsBeginningAndHasNoVerdict(t *testing.T) {
	t.Parallel()
	server, rdb := markerstest.StartRedis(t)
	long := "msg:" + strings.Repeat("seed", 2560)
	for _, key := range []string{long, "msg:" + strings.Repeat("k", 4092)} {
		if err := rdb.Set(t.Context(), key, "processing", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	store := markerstest.OpenStore(t, markerstest.Config(t, "redis-text-status", server.URL()))
	list := markerstest.MustPass(t, store).OldestProcessing
	if len(list) != 2 {
		t.Fatalf("listed %+v", list)
	}
	for _, m := range list {
		if m.Key != "" {
			if len(m.Key) != 4096 || m.TooLong != "" {
				t.Errorf("a key that can be acted on has %d bytes and the note %q", len(m.Key), m.TooLong)
			}
			continue
		}
		if m.ID != "" || !strings.HasPrefix(m.Name(), `"msg:seedseed`) || len(m.Name()) > 200 || m.Detail != "its key of 10244 bytes is too long to be acted on" {
			t.Errorf("%+v is called %q", m, m.Name())
		}
		verdict, why := dedup.Judge(m, dedup.Evidence{}, store.Scheme())
		if verdict != dedup.CannotTell || len(why) != 1 || !strings.Contains(why[0], "too long to be acted on") {
			t.Errorf("verdict %s: %v", verdict, why)
		}
	}
}
