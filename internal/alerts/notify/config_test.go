package notify_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/alerts/notify"
	"dedup-dashboard/internal/secret"
)

func TestEveryMistakeIsToldWithItsKey(t *testing.T) {
	base := func(kind string) notify.Config {
		if kind == "email" {
			return mailConfig(nil, "mail.example:25")
		}
		return httpConfig(kind, "hooks.example:443")
	}
	leak := secret.New("ftp://" + canary)
	tests := []struct {
		name, kind string
		spoil      func(*notify.Config)
		want       []string
	}{
		{"no name", "slack", func(c *notify.Config) { c.Name = "" }, []string{"name: must not be empty"}},
		{"an unknown type", "slack", func(c *notify.Config) { c.Type = "pigeon" }, []string{"type: must be one of alertmanager, dingtalk, email, slack, webhook"}},
		{"no address", "slack", func(c *notify.Config) { c.URL = secret.Secret{} }, []string{"url: is missing"}},
		{"an address of another scheme", "webhook", func(c *notify.Config) { c.URL = leak }, []string{"url: must be http:// or https://"}},
		{"an address with a password", "webhook", func(c *notify.Config) { c.URL = secret.New("https://a:" + canary + "@b/") }, []string{"url: must not hold a user"}},
		{"an address with a fragment", "webhook", func(c *notify.Config) { c.URL = secret.New("https://b/#" + canary) }, []string{"url: must not have a fragment"}},
		{"a link-local address behind a proxy", "webhook", func(c *notify.Config) {
			c.URL, c.Proxy = secret.New("http://169.254.169.254/"+canary), secret.New("http://proxy.example:3128")
		}, []string{"url: is a link-local address"}},
		{"a link-local address of version 6", "slack", func(c *notify.Config) { c.URL = secret.New("http://[fe80::1%25eth0]/" + canary) }, []string{"url: is a link-local address"}},
		{"one within the other", "dingtalk", func(c *notify.Config) { c.URL = secret.New("http://[::ffff:169.254.169.254]/?access_token=" + canary) }, []string{"url: is a link-local address"}},
		{"the credentials of a cloud", "alertmanager", func(c *notify.Config) { c.URLs = []secret.Secret{secret.New("http://[fd00:ec2::254]/")} }, []string{"urls[0]: is a link-local address"}},
		{"a key of another type", "slack", func(c *notify.Config) { c.To, c.Token = []string{"a@b"}, secret.New(canary) }, []string{"to: means nothing to a channel of type slack", "token: means nothing"}},
		{"an address with a space before it", "webhook", func(c *notify.Config) { c.URL = secret.New(" https://b/" + canary) }, []string{"url: begins or ends with a space"}},
		{"an address with a line break after it", "dingtalk", func(c *notify.Config) {
			c.URL = secret.New("https://oapi.dingtalk.com/robot/send?access_token=" + canary + "\n")
		}, []string{"url: begins or ends with a space or a line break"}},
		{"a member with a tab after it", "alertmanager", func(c *notify.Config) { c.URLs = []secret.Secret{secret.New("http://a/" + canary + "\t")} }, []string{"urls[0]: begins or ends"}},
		{"an address with a line break in it", "slack", func(c *notify.Config) { c.URL = secret.New("https://b/" + canary + "\nx") }, []string{"url: holds a line break"}},
		{"a token with a line break after it", "webhook", func(c *notify.Config) { c.Token = secret.New(canary + "\n") }, []string{"token: begins or ends"}},
		{"a token with a control character in it", "webhook", func(c *notify.Config) { c.Token = secret.New(canary + "\x00x") }, []string{"token: holds"}},
		{"a key with a line break after it", "dingtalk", func(c *notify.Config) { c.Secret = secret.New("SEC" + canary + "\r\n") }, []string{"secret: begins or ends"}},
		{"a timeout beyond a minute", "slack", func(c *notify.Config) { c.Timeout = time.Hour }, []string{"timeout: must be between"}},
		{"a file of authorities that is not there", "slack", func(c *notify.Config) { c.CAFile = "/nowhere/ca.pem" }, []string{"ca_file: cannot be read"}},
		{"a file of authorities without any", "slack", func(c *notify.Config) { c.CAFile = "config_test.go" }, []string{"ca_file: holds no certificate"}},
		{"a proxy of no known scheme", "slack", func(c *notify.Config) { c.Proxy = leak }, []string{"proxy: must be http://"}},
		{"a robot without a token", "dingtalk", func(c *notify.Config) { c.URL = secret.New("https://oapi.dingtalk.com/robot/send") }, []string{"url: has no access_token"}},
		{"no Alertmanager", "alertmanager", func(c *notify.Config) { c.URLs = nil }, []string{"urls: is missing"}},
		{"an Alertmanager with its path", "alertmanager", func(c *notify.Config) { c.URLs = []secret.Secret{secret.New("http://a/api/v2/alerts")} }, []string{"urls[0]: must not hold /api/v2"}},
		{"two ways to log in", "alertmanager", func(c *notify.Config) { c.Token = secret.New(canary) }, []string{"token: cannot be together with username"}},
		{"a password without a name", "alertmanager", func(c *notify.Config) { c.Username = "" }, []string{"username: is missing"}},
		{"an end that comes before the next repeat", "alertmanager", func(c *notify.Config) { c.EndsAfter = time.Minute }, []string{"ends_after: must be between"}},
		{"a mail server with a port in its name", "email", func(c *notify.Config) { c.SMTP.Host = "mail.example:25" }, []string{"smtp.host: must be the name"}},
		{"no mail server", "email", func(c *notify.Config) { c.SMTP.Host = "" }, []string{"smtp.host: must be the name"}},
		{"a port that is none", "email", func(c *notify.Config) { c.SMTP.Port = 70000 }, []string{"smtp.port: must be between"}},
		{"an unknown encryption", "email", func(c *notify.Config) { c.SMTP.TLS = "maybe" }, []string{"smtp.tls: must be starttls"}},
		{"a login without a password", "email", func(c *notify.Config) { c.Password = secret.Secret{} }, []string{"username: needs a password"}},
		{"no sender and nobody to get it", "email", func(c *notify.Config) { c.From, c.To = "", nil }, []string{"from: must be an address", "to: must be 1 to 50"}},
		{"a recipient with a line break", "email", func(c *notify.Config) { c.To = []string{"a@b", "x@y\r\nBcc: z@y"} }, []string{"to[1]: must be an address"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := base(tt.kind)
			if err := c.Validate(); err != nil {
				t.Fatalf("before: %v", err)
			}
			tt.spoil(&c)
			err := c.Validate()
			if err == nil {
				t.Fatal("no error")
			}
			if strings.Contains(err.Error(), canary) {
				t.Errorf("a secret is in %v", err)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in %v", want, err)
				}
			}
			if got := len(strings.Split(err.Error(), "\n")); got != len(tt.want) {
				t.Errorf("%d problems: %v", got, err)
			}
			if _, err := notify.Open(c); err == nil {
				t.Error("it opens")
			}
		})
	}
}

var errNoText = errors.New("not a text")

func TestASecretThatCannotBeReadIsToldOnce(t *testing.T) {
	c := httpConfig("slack", "hooks.example:443")
	if err := c.URL.UnmarshalYAML(func(v any) error {
		if m, ok := v.(*map[string]string); ok {
			*m = map[string]string{"env": "NOT_SET_ANYWHERE"}
			return nil
		}
		return errNoText
	}); err != nil {
		t.Fatal(err)
	}
	if err := c.Validate(); err == nil || err.Error() != "url: environment variable NOT_SET_ANYWHERE is not set" {
		t.Errorf("%v", err)
	}
}
