package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
)

// writeChannels writes a configuration with channels, and returns its path.
func writeChannels(t *testing.T, channels ...string) string {
	t.Helper()
	path := writeConfig(t, "127.0.0.1:0", t.TempDir())
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	section := "alerts:\n  channels:\n    - " + strings.Join(channels, "\n    - ") + "\n"
	if err := os.WriteFile(path, append(text, section...), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTestNotifySendsToTheChannelsAndSaysWhatBecameOfIt(t *testing.T) {
	var taken atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/good/canary-token":
			taken.Add(1)
		case "/gone/canary-token":
			http.Error(w, "no such hook canary-token", http.StatusNotFound)
		default:
			http.Error(w, "busy", http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	hook := func(name, path string) string {
		return fmt.Sprintf("{name: %s, type: webhook, url: %q}", name, server.URL+path+"/canary-token")
	}
	good, gone, busy := hook("good", "/good"), hook("gone", "/gone"), hook("busy", "/busy")
	for _, tt := range []struct {
		name     string
		channels []string
		args     []string
		code     int
		taken    int32
		want     []string
	}{
		{"one that takes it", []string{good}, nil, exitOK, 1, []string{"good (webhook): taken after"}},
		{"one that is gone and one that is busy", []string{gone, good, busy}, nil, exitFailed, 1,
			[]string{"gone (webhook): REFUSED: ", "good (webhook): taken", "busy (webhook): NOT TAKEN, which may pass: ", "not delivered to gone, busy"}},
		{"the named one alone", []string{gone, good}, []string{"good"}, exitOK, 1, []string{"good (webhook): taken"}},
		{"one that there is not", []string{good}, []string{"pager"}, exitUsage, 0, []string{`there is no channel "pager"; there are good`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			taken.Store(0)
			var out output
			code := run(t.Context(), append([]string{"test-notify", "-config", writeChannels(t, tt.channels...)}, tt.args...), streams{strings.NewReader(""), &out, &out})
			if code != tt.code || taken.Load() != tt.taken {
				t.Errorf("exit code %d, taken %d, want %d and %d:\n%s", code, taken.Load(), tt.code, tt.taken, out.String())
			}
			for _, want := range tt.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("the output lacks %q:\n%s", want, out.String())
				}
			}
			if strings.Contains(out.String(), "canary") {
				t.Errorf("a token is in the output:\n%s", out.String())
			}
		})
	}
}

func TestTestNotifyBeatsToo(t *testing.T) {
	var beats atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { beats.Add(1) }))
	defer server.Close()
	path := writeChannels(t, fmt.Sprintf("{name: good, type: webhook, url: %q}", server.URL))
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, fmt.Appendf(text, "  heartbeat: {url: %q}\n", server.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	var out output
	if code := run(t.Context(), []string{"test-notify", "-config", path, "heartbeat"}, streams{strings.NewReader(""), &out, &out}); code != exitOK || beats.Load() != 1 {
		t.Errorf("exit code %d, %d beats:\n%s", code, beats.Load(), out.String())
	}
}

func TestTestNotifyWithoutChannelsSaysWhereTheyBelong(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"test-notify"}, "usage: dashboard test-notify"},
		{[]string{"test-notify", "-config", writeConfig(t, "127.0.0.1:0", t.TempDir())}, "alerts.channels: there are none"},
	} {
		var out output
		if code := run(t.Context(), tt.args, streams{strings.NewReader(""), &out, &out}); code != exitUsage || !strings.Contains(out.String(), tt.want) {
			t.Errorf("%v: exit code %d, output %s", tt.args, code, out.String())
		}
	}
}
