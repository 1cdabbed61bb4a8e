package check

import (
	"strings"
	"testing"

	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/brokertest"
)

func TestEachOfSeveralAddressesIsTried(t *testing.T) {
	one, two := brokertest.NewServer(t, brokertest.V310), brokertest.NewServer(t, brokertest.V42)
	for name, c := range map[string]struct {
		addresses []string
		says      []string
		fails     string
	}{
		"one address is the one that was read": {[]string{one.URL}, nil, ""},
		"both answer":                          {[]string{one.URL, two.URL}, []string{"management at " + one.URL + ": node ", "management at " + two.URL + ": node "}, ""},
		"the second does not": {[]string{one.URL, "http://127.0.0.1:1"}, []string{"management at " + one.URL, "PROBLEM management_urls: http://127.0.0.1:1: ", "connection refused"},
			"management_urls: http://127.0.0.1:1"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			err := tryManagement(t.Context(), &out, broker.Config{Name: "main", ManagementURLs: c.addresses, Username: brokertest.User, Password: secret.New(brokertest.Password)})
			if (err == nil) != (c.fails == "") || err != nil && err.Error() != c.fails {
				t.Errorf("%v", err)
			}
			for _, s := range c.says {
				if !strings.Contains(out.String(), s) {
					t.Errorf("%q lacks %q", out.String(), s)
				}
			}
			if c.says == nil && out.Len() > 0 {
				t.Errorf("%q", out.String())
			}
		})
	}
}
