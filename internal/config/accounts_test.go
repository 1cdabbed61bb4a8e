package config

import (
	"context"
	"net/netip"
	"os"
	"regexp"
	"testing"

	"dedup-dashboard/internal/auth"
)

// noUsers is a journal without accounts.
type noUsers struct{}

func (noUsers) User(context.Context, string) (auth.User, bool, error) { return auth.User{}, false, nil }
func (noUsers) Users(context.Context) ([]auth.User, error)            { return nil, nil }

// TestTheExamplesOfTheAccountsPageWork loads the YAML of docs/accounts.md and signs in with the password that it shows.
func TestTheExamplesOfTheAccountsPageWork(t *testing.T) {
	page, err := os.ReadFile("../../docs/accounts.md")
	if err != nil {
		t.Fatal(err)
	}
	printed := regexp.MustCompile(`(?m)printf '%s\\n' '(.*)' \| dashboard hash-password\n *(\$argon2id\S+)$`).FindStringSubmatch(string(page))
	blocks := regexp.MustCompile("(?ms)^ *```yaml\n(.*?)^ *```").FindAllStringSubmatch(string(page), -1)
	if printed == nil || len(blocks) != 3 {
		t.Fatalf("the page has no example of hash-password, or %d examples of YAML", len(blocks))
	}
	t.Setenv("BOB_PASSWORD_HASH", printed[2])
	t.Setenv("WATCHER_PASSWORD", "watcher-password")
	t.Setenv("MOVER_PASSWORD", "mover-password")
	t.Setenv("GRAFANA_TOKEN", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")
	sum := regexp.MustCompile(`SUM-OF-THE-TOKEN`)
	for i, block := range blocks {
		text := sum.ReplaceAllString(block[1], "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
		cfg, err := Parse("accounts.md", []byte(text))
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		accounts, err := auth.New(cfg.Auth, noUsers{})
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range cfg.Auth.Users {
			who, err := accounts.Login(t.Context(), u.Name, printed[1], netip.MustParseAddr("127.0.0.1"), "")
			if err != nil || who.Role.String() != u.Role {
				t.Errorf("%s signs in as %+v: %v", u.Name, who, err)
			}
		}
		if i == 0 && len(cfg.Brokers) != 1 || i == 1 && len(cfg.Auth.Users) != 2 || i == 2 && len(cfg.Auth.Tokens) != 2 {
			t.Errorf("example %d holds %+v %+v", i, cfg.Brokers, cfg.Auth)
		}
	}
}
