package demo

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
)

// poison says what is wrong with a kind of dead letter of the demo, and what a requeue would do to it.
type poison struct {
	reason, typ, exception, failure, route string
	class                                  preflight.Class
	why                                    string
	state                                  dedup.State
	clear, clearDone                       bool
}

func poisons() []poison {
	return []poison{
		{message.DeathRejected, "order.reserve", "java.net.SocketTimeoutException", "Read timed out after 5000 ms: POST http://gateway.internal/reserve", "reserve.eu", preflight.ClassRuns, "it has no marker: nothing stops the consumer from doing the work", "", false, false},
		{message.DeathRejected, "order.reserve", "java.net.SocketTimeoutException", "Read timed out after 5000 ms: POST http://gateway.internal/reserve", "reserve.us", preflight.ClassRuns, "its marker was deleted when the work failed", "", false, false},
		{message.DeathRejected, "order.release", "com.shop.StockMismatch", "expected 4 in stock, found 3", "release.eu", preflight.ClassSwallowed, "its marker says processing, and this scheme acks what is in flight: the consumer would drop it", dedup.Processing, true, false},
		{message.DeathExpired, "order.reserve", "", "", "reserve.eu", preflight.ClassSkipped, "its marker says done since 02:14:07", dedup.Done, false, true},
		{message.DeathRejected, "order.release", "com.shop.StockMismatch", "expected 1 in stock, found 0", "release.us", preflight.ClassBlocks, "its marker says processing, and this scheme returns what is in flight", dedup.Processing, true, false},
		{message.DeathDeliveryLimit, "order.audit", "java.lang.NullPointerException", "Cannot invoke \"Order.getLines()\" because \"order\" is null", "audit", preflight.ClassLastAttempt, "its retry counter stands at 4 of 5", "", false, false},
		{message.DeathMaxLength, "order.reserve", "", "", "reserve.eu", preflight.ClassMayRunTwice, "it died 26 h ago, and done markers live for 12 h: whether its work was done cannot be seen", "", false, false},
	}
}

// pattern is the mix of a queue: mostly what a requeue helps, and some of every other kind.
func pattern(i int) int {
	return []int{0, 1, 0, 2, 0, 3, 1, 0, 4, 0, 1, 2, 0, 0, 5, 1, 0, 3, 0, 6}[i%20]
}

// deadLetter is one dead letter of a queue, always the same for a number.
func deadLetter(queue dedup.QueueRef, source string, i int, now time.Time) deadletter.Letter {
	p := poisons()[pattern(i)]
	died := now.Add(-time.Duration(20+i*7) * time.Second).Truncate(time.Second)
	if p.class == preflight.ClassMayRunTwice {
		died = died.Add(-26 * time.Hour)
	}
	id := fmt.Sprintf("%08x-5b1c-4d0e-a7f2-%012x", hash("l"+source+strconv.Itoa(i))&0xffffffff, hash("m"+source+strconv.Itoa(i))&0xffffffffffff)
	body := fmt.Sprintf(`{"orderId":%d,"sku":"A-%04d","quantity":%d,"customer":{"email":"c%d@example.com","country":"DE"},"lines":[{"sku":"A-%04d","count":1}]}`, 88000+i, i%977, 1+i%4, i, i%977)
	headers := map[string]any{
		"x-death": []any{map[string]any{
			"queue": source, "reason": p.reason, "count": int64(1 + i%3), "time": died, "exchange": "shop.topic", "routing-keys": []any{p.route},
		}},
		"x-first-death-queue": source, "x-first-death-reason": p.reason, "x-first-death-exchange": "shop.topic",
		"tenant": []string{"blue", "green"}[i%2], "traceparent": fmt.Sprintf("00-%032x-%016x-01", hash(id), hash(source)), "attempt": int32(1 + i%5),
	}
	if p.exception != "" {
		headers["x-exception-type"], headers["x-exception-message"] = p.exception, p.failure
	}
	l := deadletter.Letter{
		DeadLetter: dedup.NewDeadLetter(queue, message.Message{
			Exchange: "", RoutingKey: queue.Name, Redelivered: true, Body: []byte(body),
			Properties: message.Properties{ContentType: "application/json", Headers: headers, DeliveryMode: 2, MessageID: id, Type: p.typ, AppID: "checkout", Timestamp: died.Add(-time.Minute)},
		}),
		ID: id, Target: source, Exception: p.exception, Failure: p.failure,
		Prediction: preflight.Prediction{Class: p.class, Reasons: []string{p.why}, ClearFirst: p.clear, ClearDone: p.clearDone},
	}
	if i%37 == 36 {
		l.Requeues = 1 + i%2
	}
	if p.class == preflight.ClassBlocks {
		l.Prediction.Until = now.Add(41 * time.Minute).Truncate(time.Second)
	}
	if p.state != "" {
		l.Marker = &dedup.Sighting{
			Marker: dedup.Marker{Store: "orders", ID: id, Key: "msg:" + id, State: p.state, Status: string(p.state), BusinessKey: "order:" + strconv.Itoa(88000+i), Since: died.Add(-2 * time.Minute), Expires: now.Add(41 * time.Minute)},
			At:     now, Clock: now, Server: "demo", Type: "string", ExpiresMillis: now.Add(41 * time.Minute).UnixMilli(),
		}
	}
	return sealed(l)
}

// sealed fills in what is known of a body whatever of it is shown.
func sealed(l deadletter.Letter) deadletter.Letter {
	sum := sha256.Sum256(l.Body)
	l.Size, l.Hash = len(l.Body), hex.EncodeToString(sum[:])
	return l
}

// masked hides what a name says is personal.
func masked(l deadletter.Letter) deadletter.Letter {
	body := string(l.Body)
	if at := strings.Index(body, `"email":"`); at >= 0 {
		end := strings.Index(body[at+9:], `"`)
		if end >= 0 {
			l.Body, l.Masked, l.MaskedNames = []byte(body[:at+9]+"***"+body[at+9+end:]), true, []string{"email"}
		}
	}
	return l
}
