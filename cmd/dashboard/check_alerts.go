package main

import (
	"fmt"
	"io"
	"strings"

	"dedup-dashboard/internal/config"
)

// printAlerts says what will be judged, and who is told of it. Nothing is sent: that is the work of test-notify.
func printAlerts(w io.Writer, a config.Alerts) {
	judged, off := map[string]bool{}, map[string]bool{}
	for _, r := range a.Rules {
		if r.Disabled {
			off[r.Name] = true
		} else {
			judged[r.Name] = true
		}
	}
	for name := range judged {
		delete(off, name) // it judges some subjects
	}
	fmt.Fprintf(w, "\nalerts: %s judged, %d switched off\n", amount(len(judged), "rule"), len(off))
	if len(a.Channels) == 0 {
		fmt.Fprintln(w, "  NOTE: there is no channel, so that nobody is told: docs/alerts.md has an example of each type")
		return
	}
	var told []string
	for _, c := range a.Channels {
		told = append(told, c.Name+" ("+c.Type+")")
	}
	fmt.Fprintf(w, "  told to: %s; dashboard test-notify sends a message for trial\n", strings.Join(told, ", "))
	if !a.Heartbeat.On() {
		fmt.Fprintln(w, "  NOTE: there is no heartbeat: when the dashboard itself is down, nobody is told (alerts.heartbeat.url)")
	}
}
