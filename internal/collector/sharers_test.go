package collector

import (
	"testing"

	"dedup-dashboard/internal/dedup"
)

func TestOnlyStoresOfTheSameServerAndCommandShare(t *testing.T) {
	watch := func(store, run, ask string) *storeWatch {
		return &storeWatch{store: namedStore{&fakeSource{scheme: dedup.Scheme{Ask: ask}}, store}, served: dedup.StoreHealth{RunID: run}}
	}
	orders := watch("orders", "r1", "SETNX")
	c := &Collector{stores: []*storeWatch{orders, watch("shipping", "r1", "SETNX"), watch("elsewhere", "r2", "SETNX"), watch("looks", "r1", "GET"), watch("unread", "", "SETNX")}}
	if got := c.maker().sharers(orders); len(got) != 1 || got[0] != "shipping" {
		t.Errorf("got %q", got)
	}
	for _, w := range []*storeWatch{watch("unread", "", "SETNX"), watch("silent", "r1", "")} {
		if got := c.maker().sharers(w); got != nil {
			t.Errorf("%s: %q", w.store.Name(), got)
		}
	}
}
