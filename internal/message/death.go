package message

import (
	"fmt"
	"strings"
	"time"
)

// The headers in which RabbitMQ keeps the history of a dead letter (https://www.rabbitmq.com/docs/dlx#effects). A client may
// have written them too.
const (
	HeaderDeaths             = "x-death"
	HeaderFirstDeathQueue    = "x-first-death-queue"
	HeaderFirstDeathReason   = "x-first-death-reason"
	HeaderFirstDeathExchange = "x-first-death-exchange"
)

// The reasons of a death, as RabbitMQ writes them.
const (
	DeathRejected      = "rejected"
	DeathExpired       = "expired"
	DeathMaxLength     = "maxlen"
	DeathDeliveryLimit = "delivery_limit"
)

// DeathReasons returns the reasons of a death, the commonest first.
func DeathReasons() []string {
	return []string{DeathRejected, DeathExpired, DeathMaxLength, DeathDeliveryLimit}
}

// A Death is one entry of the header x-death: how often, why and where from a message was dead-lettered
// (https://www.rabbitmq.com/docs/dlx#effects).
type Death struct {
	Queue  string
	Reason string
	// Count is how often; 0 when the history does not say.
	Count int64
	// Time is that of the first death for this queue and reason, to the second; zero when absent.
	Time        time.Time
	Exchange    string
	RoutingKeys []string
	// OriginalExpiration is the expiration that the broker removed, in milliseconds as text; empty when there was none.
	OriginalExpiration string
}

const (
	// mostDeaths bounds the entries that are read of x-death, and the routing keys of each: the broker writes one entry
	// for each queue and reason.
	mostDeaths = 100
	// longestName is the longest name of a queue or exchange and the longest routing key in AMQP, in bytes.
	longestName = 255
	// mostFaults is how many parts that cannot be read are named one by one.
	mostFaults = 3
)

// DeathsOf reads the death history in the headers of a message, newest first, and says in words what of it cannot be read.
// Without any readable entry in x-death the one of the headers x-first-death-* is returned, whose count is 0 because they
// do not tell it. Behind them come the deaths from before this dashboard requeued or parked the message, from its snapshot.
func DeathsOf(headers map[string]any) (deaths []Death, malformed string) {
	r := deathReader{}
	if v, ok := headers[HeaderDeaths]; ok && v != nil {
		deaths = r.list(v)
	}
	if len(deaths) == 0 {
		if first, ok := r.first(headers); ok {
			deaths = []Death{first}
		}
	}
	if text, ok := headers[HeaderOriginalDeath].(string); ok {
		deaths = append(deaths, DecodeDeaths(text)...)
	}
	return deaths, r.said()
}

// FirstDeath returns the death that the headers x-first-death-* tell; false where they tell neither its queue nor its reason.
func FirstDeath(headers map[string]any) (Death, bool) {
	r := deathReader{}
	return r.first(headers)
}

// deathReader collects what cannot be read.
type deathReader struct {
	faults []string
	more   int
}

func (r *deathReader) fault(format string, args ...any) {
	if len(r.faults) == mostFaults {
		r.more++
		return
	}
	r.faults = append(r.faults, fmt.Sprintf(format, args...))
}

func (r *deathReader) said() string {
	text := strings.Join(r.faults, "; ")
	if r.more > 0 {
		text += fmt.Sprintf("; and %d more", r.more)
	}
	return text
}

func (r *deathReader) list(v any) []Death {
	entries, ok := v.([]any)
	if !ok {
		r.fault("%s is %s, not a list", HeaderDeaths, kindOfField(v))
		return nil
	}
	var deaths []Death
	for i, e := range entries {
		if i == mostDeaths {
			r.fault("%s has %d entries, of which the first %d are read", HeaderDeaths, len(entries), mostDeaths)
			break
		}
		table, ok := e.(map[string]any)
		if !ok {
			r.fault("entry %d of %s is %s, not a table", i+1, HeaderDeaths, kindOfField(e))
			continue
		}
		if d, ok := r.entry(fmt.Sprintf("entry %d of %s", i+1, HeaderDeaths), table); ok {
			deaths = append(deaths, d)
		}
	}
	return deaths
}

// entry reads one table; it is false when neither queue nor reason can be read.
func (r *deathReader) entry(where string, table map[string]any) (Death, bool) {
	d := Death{
		Queue:              r.name(where, table, "queue", true),
		Reason:             r.name(where, table, "reason", true),
		Exchange:           r.name(where, table, "exchange", false),
		OriginalExpiration: r.name(where, table, "original-expiration", false),
	}
	switch n, ok := wholeOf(table["count"]); {
	case !ok:
		r.fault("%s: count is %s", where, kindOfField(table["count"]))
	case n < 0:
		r.fault("%s: count is below 0", where)
	default:
		d.Count = n
	}
	switch t := table["time"].(type) {
	case time.Time:
		if d.Time = t; !Dated(t) {
			d.Time = time.Time{}
			r.fault("%s: time is no date", where)
		}
	case nil:
	default:
		r.fault("%s: time is %s", where, kindOfField(t))
	}
	d.RoutingKeys = r.routingKeys(where, table["routing-keys"])
	return d, d.Queue != "" || d.Reason != ""
}

// name reads a name of at most 255 bytes: a longer one would be that of another queue when cut.
func (r *deathReader) name(where string, table map[string]any, field string, needed bool) string {
	v, ok := table[field]
	if !ok || v == nil {
		if needed {
			r.fault("%s: %s is missing", where, field)
		}
		return ""
	}
	text, ok := fieldText(v)
	switch {
	case !ok:
		r.fault("%s: %s is %s", where, field, kindOfField(v))
		return ""
	case len(text) > longestName:
		r.fault("%s: %s has %d bytes, more than AMQP allows", where, field, len(text))
		return ""
	case needed && text == "":
		r.fault("%s: %s is empty", where, field)
	}
	return text
}

func (r *deathReader) routingKeys(where string, v any) []string {
	if v == nil {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		r.fault("%s: routing-keys is %s, not a list", where, kindOfField(v))
		return nil
	}
	var keys []string
	for i, e := range list {
		key, ok := fieldText(e)
		switch {
		case i == mostDeaths:
			r.fault("%s: routing-keys has %d entries, of which the first %d are read", where, len(list), mostDeaths)
			return keys
		case !ok:
			r.fault("%s: routing key %d is %s", where, i+1, kindOfField(e))
		case len(key) > longestName:
			r.fault("%s: routing key %d has %d bytes, more than AMQP allows", where, i+1, len(key))
		default:
			keys = append(keys, key)
		}
	}
	return keys
}

// first reads the headers x-first-death-*.
func (r *deathReader) first(headers map[string]any) (Death, bool) {
	if headers[HeaderFirstDeathQueue] == nil && headers[HeaderFirstDeathReason] == nil {
		return Death{}, false
	}
	const where = "the first death"
	d := Death{
		Queue:    r.name(where, headers, HeaderFirstDeathQueue, true),
		Reason:   r.name(where, headers, HeaderFirstDeathReason, true),
		Exchange: r.name(where, headers, HeaderFirstDeathExchange, false),
	}
	return d, d.Queue != "" || d.Reason != ""
}

func fieldText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case []byte:
		return string(v), true
	}
	return "", false
}

// kindOfField names the type of an AMQP field in words.
func kindOfField(v any) string {
	if _, ok := wholeOf(v); ok {
		return "a whole number"
	}
	switch v.(type) {
	case nil:
		return "missing"
	case string, []byte:
		return "a text"
	case bool:
		return "a truth value"
	case float32, float64, Decimal:
		return "a number with a fraction"
	case time.Time:
		return "a time"
	case []any:
		return "a list"
	case map[string]any:
		return "a table"
	}
	return "of a type that AMQP does not have"
}
