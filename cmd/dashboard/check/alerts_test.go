package check

import (
	"strings"
	"testing"

	"dedup-dashboard/internal/alerts/dispatch"
	"dedup-dashboard/internal/alerts/notify"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/config"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/internal/server"
)

func TestCheckSaysWhatIsJudgedAndWhoIsTold(t *testing.T) {
	rules := []rule.Rule{
		{Name: "stuck_markers"}, {Name: "stuck_markers", Disabled: true, Match: map[string]string{"team": "shop"}}, {Name: "backlog", Disabled: true},
	}
	pager := []notify.Config{{Name: "pager", Type: "webhook", URL: secret.New("https://canary.example.com")}}
	for _, tt := range []struct {
		name   string
		alerts config.Alerts
		want   []string
		not    string
	}{
		{"a rule that is off for some is judged", config.Alerts{Rules: rules, Channels: pager}, []string{"alerts: 1 rule judged, 1 switched off", "told to: pager (webhook)", "NOTE: there is no heartbeat"}, "canary"},
		{"a mistyped label", config.Alerts{Rules: []rule.Rule{{Name: "backlog", Match: map[string]string{"team": "shpo"}}}, Channels: pager,
			Dispatch: dispatch.Config{Routes: []dispatch.Route{{Match: map[string]string{"rule": "backlog", "tema": "shop", "pipeline": "orders"}}}}},
			[]string{"NOTE: rule backlog matches team: shpo, which no alert has", "NOTE: alerts.routes[0] matches tema: shop"}, "pipeline: orders"},
		{"nobody is told", config.Alerts{Rules: rules}, []string{"NOTE: there is no channel, so that nobody is told"}, "heartbeat"},
		{"all is well", config.Alerts{Rules: rules, Channels: pager, Heartbeat: notify.HeartbeatConfig{URL: secret.New("https://canary.example.com")}}, nil, "NOTE"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			printAlerts(&out, &config.Config{Alerts: tt.alerts, Server: server.Config{PublicURL: "https://dedup.example.com"}, Pipelines: []dedup.Pipeline{{Name: "orders", Labels: map[string]string{"team": "shop"}}}})
			for _, want := range tt.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("it lacks %q:\n%s", want, out.String())
				}
			}
			if strings.Contains(out.String(), tt.not) {
				t.Errorf("it has %q:\n%s", tt.not, out.String())
			}
		})
	}
}

func TestCheckSaysWhereLinksLeadWithoutAnAddress(t *testing.T) {
	cfg := &config.Config{Server: server.Config{Listen: "127.0.0.1:8080"}, Alerts: config.Alerts{Channels: []notify.Config{{Name: "pager", Type: "webhook"}}}}
	if notes := strings.Join(Notes(cfg), "\n"); !strings.Contains(notes, "lead to server.listen, 127.0.0.1:8080: set server.public_url") {
		t.Errorf("notes: %s", notes)
	}
}
