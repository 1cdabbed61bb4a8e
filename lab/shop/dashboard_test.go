package shop

import (
	"strings"
	"testing"

	"dedup-dashboard/internal/config"
	"dedup-dashboard/lab/servers"
)

func TestTheDashboardUnderstandsTheConfigurationThatItIsGiven(t *testing.T) {
	shop := DefaultConfig()
	text := dashboardConfig(shop, "127.0.0.1:8080", "/var/lib/with \"quotes\" and #", "http://127.0.0.1:9090", new(servers.RabbitMQ), stores{shared: new(servers.Redis)},
		access{brokerPassword: "b", moverPassword: "m", measurerPassword: "n", redisPassword: "p@ss:/word"})
	read, err := config.Parse("dashboard.yaml", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if want := "/var/lib/with \"quotes\" and #"; read.DataDir != want {
		t.Errorf("data directory = %q, want %q", read.DataDir, want)
	}
	if len(read.Brokers) != 1 || len(read.Stores) != len(shop.Pipelines) || len(read.Pipelines) != len(shop.Pipelines) {
		t.Fatalf("%d brokers, %d stores, %d pipelines", len(read.Brokers), len(read.Stores), len(read.Pipelines))
	}
	if act := read.Brokers[0].Act; act.Username != mover || act.Password.Reveal() != "m" || !strings.HasPrefix(act.AMQPURL, "amqp://") {
		t.Errorf("messages are moved by %s at %s", act.Username, act.AMQPURL)
	}
	if account, ok := read.Brokers[0].Tracing(); !ok || account.Username != measurer || account.Password.Reveal() != "n" {
		t.Errorf("deliveries are traced by %s", account.Username)
	}
	if urls := read.Brokers[0].PrometheusURLs; len(urls) != 1 || urls[0] != new(servers.RabbitMQ).PrometheusURL() {
		t.Errorf("deaths by reason are read from %v", urls)
	}
	if told := read.Alerts.Channels; len(told) != 1 || told[0].Name != "receiver" || told[0].URL.Reveal() != "http://127.0.0.1:9090/notifications" {
		t.Errorf("notifications go to %+v", told)
	}
	for i, pipeline := range read.Pipelines {
		want := shop.Pipelines[i]
		if pipeline.Name != want.Name || pipeline.Queues[0] != want.Name || pipeline.Store != want.Name || pipeline.DiscoverDeadLetters == want.Astray() {
			t.Errorf("pipeline %s reads %+v", want.Name, pipeline)
		}
		if store := read.Stores[i]; store.Name != want.Name || store.Preset != string(want.Scheme) {
			t.Errorf("store %s reads %+v", want.Name, store)
		}
	}
}
