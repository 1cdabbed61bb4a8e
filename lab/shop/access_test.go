package shop

import "testing"

func TestTheWatcherGetsOnlyRulesThatItsRedisUnderstands(t *testing.T) {
	tests := []struct{ name, version, want string }{
		{"Redis 6 cannot limit a user to reading", "Redis server v=6.0.16 sha=00000000:0", ""},
		{"Redis 7.0 knows reading but not the newer client commands", "Redis server v=7.0.15 sha=00000000:0", watcherRules},
		{"Redis 7.2 knows both", "Redis server v=7.2.4 sha=00000000:0", watcherRules + watcherRules72},
		{"Redis 8 knows both", "Redis server v=8.0.1 sha=00000000:1", watcherRules + watcherRules72},
		{"Redis 10 is newer than 7", "Redis server v=10.0.0", watcherRules + watcherRules72},
		{"an unknown answer is taken for an old one", "Valkey", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := watcherRulesFor(test.version); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
