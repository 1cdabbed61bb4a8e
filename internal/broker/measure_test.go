package broker

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"dedup-dashboard/internal/secret"
)

func TestTheAccountThatMeasuresIsItsOwnOrThatWhichActsAndNoneWhereItIsForbidden(t *testing.T) {
	const own = "measure: {amqp_url: 'amqp://b:5672', username: measurer, password: p}\n"
	const act = "act: {amqp_url: 'amqp://b:5672', username: mover, password: p}\n"
	for _, tt := range []struct{ name, yaml, account, problem string }{
		{"nothing", "", "", ""},
		{"act alone", act, "mover", ""},
		{"both", act + own, "measurer", ""},
		{"off without quotation marks", act + own + "measurements: off", "", ""},
		{"off with them", act + own + "measurements: 'off'", "", ""},
		{"on", act + "measurements: on", "mover", ""},
		{"false, which is off for most people", act + "measurements: false", "", "measurements: must be on or off"},
		{"capital letters", act + "measurements: OFF", "", "measurements: must be on or off"},
		{"no password", "measure: {amqp_url: 'amqp://b:5672', username: measurer}", "", "measure.username"},
		{"a user in the address", "measure: {amqp_url: 'amqp://u:p@b', username: m, password: p}", "", "measure.amqp_url"},
		{"nodes without an account", act + "measure: {management_urls: ['http://a:15672']}", "", "measure.amqp_url"},
		{"a node that is no address", "measure: {amqp_url: 'amqp://b', username: m, password: p, management_urls: ['a:15672']}", "", "measure.management_urls[0]"},
		{"a node twice", "measure: {amqp_url: 'amqp://b', username: m, password: p, management_urls: ['http://a:1', 'http://a:1']}", "", "listed twice"},
	} {
		config := Config{Name: "main", ManagementURL: "http://b:15672", Username: "watcher", Password: secret.New("right")}
		must(t, yaml.Unmarshal([]byte(tt.yaml), &config))
		err := config.Validate()
		if tt.problem != "" {
			if err == nil || !strings.Contains(err.Error(), tt.problem) {
				t.Errorf("%s: %v, want %s", tt.name, err, tt.problem)
			}
			continue
		}
		account, ok := config.Tracing()
		if err != nil || account.Username != tt.account || ok != (tt.account != "") || ok && len(account.ManagementURLs) != 1 {
			t.Errorf("%s: %+v, %t, %v", tt.name, account, ok, err)
		}
	}
}
