package notify

import (
	"errors"
	"strings"
	"testing"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/secret"
)

// TestANameThatLeadsToALinkLocalAddressIsNotConnectedTo opens channels past the check of what is configured, as a name passes it.
func TestANameThatLeadsToALinkLocalAddressIsNotConnectedTo(t *testing.T) {
	address := secret.New("http://169.254.169.254:80/?access_token=x")
	c := Config{Name: "oncall", URL: address, URLs: []secret.Secret{address}, SMTP: SMTP{Host: "169.254.169.254"}, From: "a@example.org", To: []string{"b@example.org"}}
	for name, kind := range kinds() {
		channel, err := kind.open(c)
		if err != nil {
			t.Fatal(err)
		}
		var d *alerts.DeliveryError
		err = channel.Send(t.Context(), alerts.Notification{Kind: alerts.NotifyTest, Text: "a test"})
		if !errors.As(err, &d) || !d.Permanent || !strings.Contains(d.Public, "link-local") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
