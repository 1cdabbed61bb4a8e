package admin_test

import (
	"strings"
	"testing"

	"dedup-dashboard/internal/admin"
)

func TestATargetNamesItsMarkerUnlessTheKeyWasCut(t *testing.T) {
	for _, key := range []string{"msg:1", "a/b", "quo\"te", "back\\slash", "bidi\u202e", "\xff\x00", "línea\n", strings.Repeat("k", admin.MaxTarget)} {
		if store, got, ok := admin.MarkerOf(admin.MarkerTarget("orders", key)); !ok || store != "orders" || got != key {
			t.Errorf("%q becomes %q in %q, %t", key, got, store, ok)
		}
	}
	for _, target := range []string{admin.MarkerTarget("orders", strings.Repeat("k", admin.MaxTarget+1)), "orders", "orders/", `orders/a"b`} {
		if _, key, ok := admin.MarkerOf(target); ok {
			t.Errorf("%.40s gives %q", target, key)
		}
	}
}
