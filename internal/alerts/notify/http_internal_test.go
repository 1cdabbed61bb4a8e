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

// TestNoPartOfAnAddressIsRepeated opens channels past the check of what is configured, so that also an address is hidden that is refused.
func TestNoPartOfAnAddressIsRepeated(t *testing.T) {
	const token = "s3cr3t-t0ken"
	for _, text := range []string{
		"https://chat.example/robot/send?access_token=" + token, "https://chat.example/hooks/" + token, "https://chat.example/" + token + "/x y",
		"https://chat.example/robot/send?access_token=" + token + " ", "https://chat.example/robot/send?a=b&access_token=" + token + "%0A",
	} {
		target, err := parseURL(secret.New(text))
		if err != nil {
			t.Fatal(err)
		}
		v := newVoice(Config{Name: "oncall", URL: secret.New(text)})
		for _, said := range []string{text, target.String(), target.RequestURI(), target.Path, target.Query().Get("access_token")} {
			if got := v.say("refused: " + said); strings.Contains(got, token) {
				t.Errorf("%q is repeated as %q", said, got)
			}
		}
	}
}
