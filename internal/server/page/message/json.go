package message

import (
	"encoding/base64"
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"dedup-dashboard/internal/admin/deadletter"

	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/message"
	"dedup-dashboard/internal/server/letter"
	"dedup-dashboard/internal/server/web"
)

// export is a letter with everything that is needed to send it again, one line of an export.
type export struct {
	Ref        string         `json:"ref"`
	Queue      string         `json:"queue"`
	Vhost      string         `json:"vhost"`
	Exchange   string         `json:"exchange"`
	RoutingKey string         `json:"routing_key"`
	ID         string         `json:"id"`
	Class      string         `json:"class"`
	Properties propertiesJSON `json:"properties"`
	// Headers is null where the message has no table of headers, and {} where that is empty.
	Headers map[string]typed `json:"headers"`
	Deaths  []pastDeathJSON  `json:"deaths"`
	// NotUTF8 holds the bytes of what JSON cannot say of the texts above, by their names.
	NotUTF8 map[string][]byte `json:"not_utf8_base64,omitempty"`
	Body    []byte            `json:"body_base64"`
	bodyHashes
	BodyMissing string `json:"body_missing"`
}

type propertiesJSON struct {
	ContentType     string     `json:"content_type"`
	ContentEncoding string     `json:"content_encoding"`
	DeliveryMode    uint8      `json:"delivery_mode"`
	Priority        uint8      `json:"priority"`
	CorrelationID   string     `json:"correlation_id"`
	ReplyTo         string     `json:"reply_to"`
	Expiration      string     `json:"expiration"`
	MessageID       string     `json:"message_id"`
	Timestamp       *time.Time `json:"timestamp"`
	// TimestampSeconds are those of a timestamp that is no date, as a text: JSON has no numbers of 64 bits.
	TimestampSeconds string `json:"timestamp_seconds,omitempty"`
	Type             string `json:"type"`
	UserID           string `json:"user_id"`
	AppID            string `json:"app_id"`
}

type pastDeathJSON struct {
	Queue       string     `json:"queue"`
	Reason      string     `json:"reason"`
	Count       int64      `json:"count"`
	Time        *time.Time `json:"time"`
	Exchange    string     `json:"exchange"`
	RoutingKeys []string   `json:"routing_keys"`
}

// typed is the value of a header with the name of its AMQP type, without which it could not be sent as it was.
type typed struct {
	Type  string `json:"type"`
	Value any    `json:"value"`
	// Exact is what Value cannot say: the seconds of a time that is no date, NaN and infinities.
	Exact string `json:"exact,omitempty"`
	// Base64 are the bytes of a text that is not UTF-8.
	Base64 []byte `json:"base64,omitempty"`
}

// bodyHashes are the hash of a body for admins, and the keyed one for others.
type bodyHashes struct {
	SHA256 string `json:"body_sha256"`
	Keyed  string `json:"body_keyed_hash"`
}

func bodyHashesOf(m web.Masker, who auth.Principal, sum string) bodyHashes {
	if who.Can(auth.Admin) {
		return bodyHashes{SHA256: sum}
	}
	return bodyHashes{Keyed: m.Hash(who, sum)}
}

func exportOf(m web.Masker, who auth.Principal, l deadletter.Letter) export {
	return export{
		Ref: l.Ref, Queue: l.Queue.Name, Vhost: l.Queue.Vhost, Exchange: l.Exchange, RoutingKey: l.RoutingKey, ID: l.ID, Class: string(l.Prediction.Class),
		Properties: propertiesOf(l.Properties), Headers: headersOf(l.Headers), Deaths: historyOf(l), NotUTF8: notUTF8(l), Body: l.Body, bodyHashes: bodyHashesOf(m, who, l.Hash), BodyMissing: l.Hidden,
	}
}

func propertiesOf(p message.Properties) propertiesJSON {
	j := propertiesJSON{
		ContentType: p.ContentType, ContentEncoding: p.ContentEncoding, DeliveryMode: p.DeliveryMode, Priority: p.Priority, CorrelationID: p.CorrelationID, ReplyTo: p.ReplyTo,
		Expiration: p.Expiration, MessageID: p.MessageID, Type: p.Type, UserID: p.UserID, AppID: p.AppID,
	}
	switch {
	case p.Timestamp.IsZero():
	case message.Dated(p.Timestamp):
		j.Timestamp = web.Time(p.Timestamp)
	default:
		j.TimestampSeconds = letter.WireSeconds(p.Timestamp)
	}
	return j
}

func historyOf(l deadletter.Letter) []pastDeathJSON {
	deaths := []pastDeathJSON{}
	for _, d := range l.Deaths {
		deaths = append(deaths, pastDeathJSON{d.Queue, d.Reason, d.Count, web.Time(d.Time), d.Exchange, web.OrEmpty(d.RoutingKeys)})
	}
	return deaths
}

// notUTF8 returns the bytes of the texts of a letter that are not UTF-8; nil when all are. Headers have theirs beside their values.
func notUTF8(l deadletter.Letter) map[string][]byte {
	texts := map[string]string{
		"id": l.ID, "queue": l.Queue.Name, "vhost": l.Queue.Vhost, "exchange": l.Exchange, "routing_key": l.RoutingKey,
		"properties.content_type": l.ContentType, "properties.content_encoding": l.ContentEncoding, "properties.correlation_id": l.CorrelationID,
		"properties.reply_to": l.ReplyTo, "properties.expiration": l.Expiration, "properties.message_id": l.MessageID, "properties.type": l.Type,
		"properties.user_id": l.UserID, "properties.app_id": l.AppID,
	}
	for i, d := range l.Deaths {
		at := fmt.Sprintf("deaths.%d.", i)
		maps.Copy(texts, map[string]string{at + "queue": d.Queue, at + "reason": d.Reason, at + "exchange": d.Exchange})
		for k, key := range d.RoutingKeys {
			texts[fmt.Sprintf("%srouting_keys.%d", at, k)] = key
		}
	}
	var lost map[string][]byte
	for name, text := range texts {
		if utf8.ValidString(text) {
			continue
		}
		if lost == nil {
			lost = map[string][]byte{}
		}
		lost[name] = []byte(text)
	}
	return lost
}

// headersOf writes a table. A name that is not UTF-8 stands as base64, so that no two become one.
func headersOf(table map[string]any) map[string]typed {
	if table == nil {
		return nil
	}
	out := make(map[string]typed, len(table))
	for name, v := range table {
		if !utf8.ValidString(name) {
			name = "base64:" + base64.StdEncoding.EncodeToString([]byte(name))
		}
		out[name] = typedOf(v)
	}
	return out
}

func typedOf(v any) typed {
	switch v := v.(type) {
	case map[string]any:
		return typed{Type: "table", Value: headersOf(v)}
	case []any:
		all := make([]typed, len(v))
		for i, x := range v {
			all[i] = typedOf(x)
		}
		return typed{Type: "list", Value: all}
	case float64:
		return typedNumber("float64", v)
	case float32:
		return typedNumber("float32", float64(v))
	case time.Time:
		if !message.Dated(v) {
			return typed{Type: "timestamp", Exact: letter.WireSeconds(v)}
		}
		return typed{Type: "timestamp", Value: v.UTC()}
	case string:
		if !utf8.ValidString(v) {
			return typed{Type: "string", Value: strings.ToValidUTF8(v, "\ufffd"), Base64: []byte(v)}
		}
		return typed{Type: "string", Value: v}
	default:
		typ, _ := letter.HeaderText(v)
		return typed{Type: typ, Value: v}
	}
}

func typedNumber(typ string, v float64) typed {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return typed{Type: typ, Exact: strconv.FormatFloat(v, 'g', -1, 64)}
	}
	return typed{Type: typ, Value: v}
}
