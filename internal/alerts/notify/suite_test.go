package notify_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/notify"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// canary is part of every secret that a channel of the suite has.
const canary = "canary-5b1f"

// A behaviour is what a receiver does, whatever it speaks.
type behaviour string

const (
	accepts   behaviour = "accepts"
	hangs     behaviour = "hangs before it answers"
	babbles   behaviour = "answers garbage"
	floods    behaviour = "answers without end"
	busy      behaviour = "cannot now"
	forbids   behaviour = "refuses for good and repeats what it was told"
	breaksOff behaviour = "closes the connection"
)

// floodEnds is how much of an endless answer is sent before the test says that the client reads too much. It is more than the buffers of
// two sockets hold.
const floodEnds = 64 << 20

// flood writes until the other side has had enough.
func flood(t *testing.T, to io.Writer) {
	chunk := []byte(strings.Repeat("0123456789abcdef", 4096))
	for range floodEnds / len(chunk) {
		if _, err := to.Write(chunk); err != nil {
			return
		}
	}
	t.Errorf("the client read %d MiB", floodEnds>>20)
}

// A rig is a type of channel with a receiver to test it against.
type rig struct {
	name string
	// start opens a channel to a receiver that behaves in a way.
	start func(*testing.T, behaviour) (notify.Channel, *inbox)
	// towards opens a channel to an address.
	towards func(t *testing.T, hostport string) notify.Channel
	// read returns what people and programs see of a delivery, each text by itself.
	read func(*testing.T, delivery) []string
}

// rigs are all types of channels; the first test sees to it that none is missing.
func rigs() []rig {
	return []rig{httpRig("webhook"), httpRig("alertmanager"), httpRig("slack"), httpRig("dingtalk"), mailRig()}
}

func TestTheSuiteRunsOverEveryTypeOfChannel(t *testing.T) {
	var names []string
	for _, r := range rigs() {
		names = append(names, r.name)
	}
	slices.Sort(names)
	if diff := cmp.Diff(notify.Types(), names); diff != "" {
		t.Errorf("types without a rig (-there are +tested):\n%s", diff)
	}
}

// overAll runs a test over every type of channel.
func overAll(t *testing.T, test func(*testing.T, rig)) {
	t.Helper()
	for _, r := range rigs() {
		t.Run(r.name, func(t *testing.T) { test(t, r) })
	}
}

func deliveryError(t *testing.T, err error) *alerts.DeliveryError {
	t.Helper()
	var d *alerts.DeliveryError
	if !errors.As(err, &d) {
		t.Fatalf("want a delivery error, got %v", err)
	}
	if !strings.HasPrefix(d.Public, "channel oncall: ") {
		t.Errorf("the error does not name the channel: %s", d.Public)
	}
	return d
}

func TestAReceiverThatAcceptsIsSentExactlyOne(t *testing.T) {
	overAll(t, func(t *testing.T, r rig) {
		channel, inbox := r.start(t, accepts)
		if err := channel.Send(t.Context(), firing()); err != nil {
			t.Fatal(err)
		}
		if got := len(inbox.all()); got != 1 {
			t.Errorf("%d deliveries", got)
		}
	})
}

func TestSendingEndsSoonAfterItIsCancelled(t *testing.T) {
	overAll(t, func(t *testing.T, r rig) {
		channel, inbox := r.start(t, hangs)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := make(chan error, 1)
		go func() { done <- channel.Send(ctx, firing()) }()
		<-inbox.arrived
		cancelled := time.Now()
		cancel()
		d := deliveryError(t, <-done)
		if took := time.Since(cancelled); took > 20*time.Second {
			t.Errorf("it took %s", took)
		}
		if d.Permanent {
			t.Errorf("for good: %s", d.Public)
		}
	})
}

func TestSendingHonoursADeadline(t *testing.T) {
	overAll(t, func(t *testing.T, r rig) {
		channel, _ := r.start(t, hangs)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		began := time.Now()
		if d := deliveryError(t, channel.Send(ctx, firing())); d.Permanent {
			t.Errorf("for good: %s", d.Public)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

func TestAChannelAsksForMoreTimeThanItTakes(t *testing.T) {
	overAll(t, func(t *testing.T, r rig) {
		least := patience // one attempt
		if r.name == "dingtalk" {
			least += 62 * time.Second // it may post 20 messages in this time
		}
		if got := r.towards(t, "127.0.0.1:1").Patience(); got <= least || got > least+10*time.Second {
			t.Errorf("%s, and it may take %s", got, least)
		}
	})
}

func TestTheRetryClassFollowsFromWhatTheReceiverDoes(t *testing.T) {
	overAll(t, func(t *testing.T, r rig) {
		for how, permanent := range map[behaviour]bool{busy: false, forbids: true, breaksOff: false} {
			channel, _ := r.start(t, how)
			d := deliveryError(t, channel.Send(t.Context(), firing()))
			if d.Permanent != permanent {
				t.Errorf("%s: permanent is %t: %s", how, d.Permanent, d.Public)
			}
		}
	})
}

func TestARefusedConnectionIsTriedAgain(t *testing.T) {
	overAll(t, func(t *testing.T, r rig) {
		const hostport = "127.0.0.1:1" // nobody gets this port, as one that was just given up
		d := deliveryError(t, r.towards(t, hostport).Send(t.Context(), firing()))
		if d.Permanent || !strings.Contains(d.Public, "refuses connections") || !strings.Contains(d.Public, hostport) {
			t.Errorf("permanent %t: %s", d.Permanent, d.Public)
		}
	})
}

// TestGarbageAndFloods: Alertmanager and webhooks take every 2xx, whatever is in it; others must say that they took the message.
func TestGarbageAndFloodsNeitherPassForSuccessNorFillTheMemory(t *testing.T) {
	overAll(t, func(t *testing.T, r rig) {
		for _, how := range []behaviour{babbles, floods} {
			channel, _ := r.start(t, how)
			began := time.Now()
			err := channel.Send(t.Context(), firing())
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("%s: it took %s", how, took)
			}
			if r.name == "webhook" || r.name == "alertmanager" {
				if err != nil {
					t.Errorf("%s: %v", how, err)
				}
				continue
			}
			if d := deliveryError(t, err); d.Permanent || len(d.Public) > 1500 || !utf8.ValidString(d.Public) || strings.ContainsAny(d.Public, "\x00\x1b\n") {
				t.Errorf("%s: permanent %t: %q", how, d.Permanent, d.Public)
			}
		}
	})
}

func TestNoSecretIsInAnyErrorOrLog(t *testing.T) {
	var logged bytes.Buffer
	before, output := slog.Default(), log.Writer()
	slog.SetDefault(slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug})))
	log.SetOutput(&logged)
	t.Cleanup(func() { slog.SetDefault(before); log.SetOutput(output) })
	overAll(t, func(t *testing.T, r rig) {
		for _, how := range []behaviour{busy, forbids, babbles, floods, breaksOff} {
			channel, _ := r.start(t, how)
			err := channel.Send(t.Context(), firing())
			for _, text := range []string{fmt.Sprint(err), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err), fmt.Sprintf("%+v", channel), logged.String()} {
				wantNoSecret(t, string(how), text)
			}
			if how == forbids && !strings.Contains(fmt.Sprint(err), "<redacted>") {
				t.Errorf("the receiver repeated the secrets, and nothing was masked: %v", err)
			}
		}
		for _, hostport := range []string{"127.0.0.1:1", "name.invalid:80"} {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			wantNoSecret(t, hostport, fmt.Sprint(r.towards(t, hostport).Send(ctx, firing())))
			cancel()
		}
	})
}

func wantNoSecret(t *testing.T, when, text string) {
	t.Helper()
	for _, form := range secretForms() {
		if strings.Contains(text, form) {
			t.Errorf("%s: a secret (%s) is in %s", when, form, text)
		}
	}
}

func TestWhatMayHaveArrivedIsSaidOfAFailure(t *testing.T) {
	overAll(t, func(t *testing.T, r rig) {
		// A mail server behaves before it has the message, all others when they have it. Alertmanager knows copies by itself.
		knows := r.name == "alertmanager" || r.name == "email"
		for how, doubtful := range map[behaviour]bool{hangs: !knows, breaksOff: !knows, busy: false, forbids: false} {
			channel, inbox := r.start(t, how)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if how == hangs {
				go func() {
					<-inbox.arrived
					cancel()
				}()
			}
			d := deliveryError(t, channel.Send(ctx, firing()))
			if d.Doubtful != doubtful {
				t.Errorf("%s: doubtful is %t: %s", how, d.Doubtful, d.Public)
			}
		}
		for _, hostport := range []string{"127.0.0.1:1", "name.invalid:80"} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if d := deliveryError(t, r.towards(t, hostport).Send(ctx, firing())); d.Doubtful {
				t.Errorf("nobody was reached at %s, and it is doubtful: %s", hostport, d.Public)
			}
			cancel()
		}
	})
}

// hostileNames are what a queue, a header or a person can be called.
func hostileNames() []string {
	return []string{
		"<!channel> <!here> <@U024BE7LH> <#C024BE7LR|x> <http://evil.example|click>",
		"@all @channel @everyone ＠all @所有人",
		"[x](http://evil.example/) ![i](https://evil.example/i.png) **b** `c` # h\n- [ ] l",
		"orders\r\nBcc: victim@evil.example\r\n\r\n<script>alert(1)</script>",
		strings.Repeat("long ", 2000),
		"bad \xff\xfe utf-8 \xc3",
		"rtl \u202e\u2066 gnp.exe \u200b\u0000\x1b[31m",
		`<img src=x onerror=alert(1)> "quoted" 'single' & <a href="http://evil.example">x</a>`,
	}
}

func TestHostileNamesAreInert(t *testing.T) {
	overAll(t, func(t *testing.T, r rig) {
		channel, inbox := r.start(t, accepts)
		for i, name := range hostileNames() {
			for _, n := range []alerts.Notification{hostile(name), hostileText(name)} {
				notify.Rest(channel) // nobody waits for the minute of a robot here
				if err := channel.Send(t.Context(), n); err != nil {
					t.Fatalf("%q: %v", name, err)
				}
				got := inbox.last(t)
				if !utf8.Valid(got.body) || len(got.body) > 60_000 {
					t.Errorf("%d: %d bytes, valid UTF-8: %t", i, len(got.body), utf8.Valid(got.body))
				}
				for _, text := range r.read(t, got) {
					wantInert(t, r.name, text)
				}
			}
		}
	})
}

// armed matches what must not reach anybody.
var armed = regexp.MustCompile("(?i)<!(channel|here)|<@U|<#C|[@＠](all|channel|everyone|所有人)|\\]\\(https?://evil|https?://evil|[\u202a-\u202e\u2066-\u2069\u200b\x00\x1b\r]")

func wantInert(t *testing.T, channel, text string) {
	t.Helper()
	if found := armed.FindString(text); found != "" {
		t.Errorf("%q is in %.300q", found, text)
	}
	if strings.HasPrefix(text, "<!doctype html>") && regexp.MustCompile(`(?i)<(script|img|a href="http:)`).MatchString(text) {
		t.Errorf("an element that is none of ours: %.300q", text)
	}
	if channel == "slack" && regexp.MustCompile(`<[^h]`).MatchString(text) {
		t.Errorf("an angle bracket that begins no link of ours: %.300q", text)
	}
	if channel == "dingtalk" && strings.Count(text, "](") != strings.Count(text, "](https://dashboard.example/") {
		t.Errorf("a link that is none of ours: %.300q", text)
	}
}

func TestEveryMessageSaysWhatCounts(t *testing.T) {
	overAll(t, func(t *testing.T, r rig) {
		channel, inbox := r.start(t, accepts)
		if err := channel.Send(t.Context(), firing()); err != nil {
			t.Fatal(err)
		}
		all := strings.Join(r.read(t, inbox.last(t)), "\n")
		for _, want := range []string{"severe", "SEVERE", "orders", "4.62 %", "3.00 %", "500 of 10,824 messages in 15 m", "2026-11-22 18:00:00 UTC",
			"a producer sends each message twice", "look at the producer shop-1", "https://dashboard.example/alerts/duplicate_rate/pipeline/orders"} {
			if !strings.Contains(all, want) {
				t.Errorf("%q is not in\n%s", want, all)
			}
		}
	})
}

func TestBodiesAreGolden(t *testing.T) {
	overAll(t, func(t *testing.T, r rig) {
		channel, inbox := r.start(t, accepts)
		for _, c := range cases() {
			if err := channel.Send(t.Context(), c.n); err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join("testdata", r.name+"."+c.name+".golden"), readable(t, inbox.last(t)))
		}
	})
}

// readable returns a body as a golden file holds it: JSON indented, mail without its date.
func readable(t *testing.T, d delivery) []byte {
	t.Helper()
	if !bytes.HasPrefix(d.body, []byte("{")) && !bytes.HasPrefix(d.body, []byte("[")) {
		text := strings.ReplaceAll(string(d.body), "\r\n", "\n")
		return []byte(regexp.MustCompile(`(?m)^Date: .*$`).ReplaceAllString(text, "Date: (now)"))
	}
	var decoded any
	if err := json.Unmarshal(d.body, &decoded); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(decoded); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-golden +sent):\n%s", file, diff)
	}
}
