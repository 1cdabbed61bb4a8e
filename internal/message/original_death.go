package message

import (
	"encoding/json"
	"time"
	"unicode/utf8"
)

// maxEncodedDeaths bounds the snapshot of a death history in bytes: all headers of a message share one AMQP frame of 128 KiB.
const maxEncodedDeaths = 4096

// encodedDeath is a Death in the snapshot. Its names are those of the header x-death.
type encodedDeath struct {
	Queue              string   `json:"queue,omitempty"`
	Reason             string   `json:"reason,omitempty"`
	Count              int64    `json:"count,omitempty"`
	Time               int64    `json:"time,omitempty"` // in seconds since 1970
	Exchange           string   `json:"exchange,omitempty"`
	RoutingKeys        []string `json:"routing-keys,omitempty"`
	OriginalExpiration string   `json:"original-expiration,omitempty"`
}

// EncodeDeaths writes a death history as JSON of at most 4 KiB, newest first, for the header HeaderOriginalDeath. The oldest deaths
// that do not fit are left out, and the routing keys of one that would not fit with them. A death whose names are not UTF-8 is left
// out too: JSON would turn them into other names. It returns an empty string when nothing is left.
func EncodeDeaths(deaths []Death) string {
	list := []byte{'['}
	for _, d := range deaths {
		if !isText(d) {
			continue
		}
		room := maxEncodedDeaths - len(list) - len(",]")
		entry := encodeDeath(d)
		if len(entry) > room {
			d.RoutingKeys = nil
			entry = encodeDeath(d)
		}
		if len(entry) > room {
			break
		}
		if len(list) > 1 {
			list = append(list, ',')
		}
		list = append(list, entry...)
	}
	if len(list) == 1 {
		return ""
	}
	return string(append(list, ']'))
}

// DecodeDeaths reads what EncodeDeaths wrote. Anyone may have written the header: what is no such history is none.
func DecodeDeaths(text string) []Death {
	if len(text) > maxEncodedDeaths {
		return nil
	}
	var list []encodedDeath
	if json.Unmarshal([]byte(text), &list) != nil {
		return nil
	}
	var deaths []Death
	for _, e := range list {
		if d := e.death(); (d.Queue != "" || d.Reason != "") && len(d.Queue) <= longestName {
			deaths = append(deaths, d)
		}
	}
	return deaths
}

func encodeDeath(d Death) []byte {
	e := encodedDeath{
		Queue: d.Queue, Reason: d.Reason, Count: d.Count, Exchange: d.Exchange,
		RoutingKeys: d.RoutingKeys, OriginalExpiration: d.OriginalExpiration,
	}
	if !d.Time.IsZero() {
		e.Time = d.Time.Unix()
	}
	text, _ := json.Marshal(e) // strings and numbers can always be written
	return text
}

func (e encodedDeath) death() Death {
	d := Death{
		Queue: e.Queue, Reason: e.Reason, Count: max(0, e.Count), Exchange: e.Exchange,
		RoutingKeys: e.RoutingKeys, OriginalExpiration: e.OriginalExpiration,
	}
	if e.Time > 0 {
		d.Time = time.Unix(e.Time, 0).UTC()
	}
	return d
}

// isText reports whether the names of a death survive JSON.
func isText(d Death) bool {
	for _, key := range d.RoutingKeys {
		if !utf8.ValidString(key) {
			return false
		}
	}
	return utf8.ValidString(d.Queue) && utf8.ValidString(d.Reason) && utf8.ValidString(d.Exchange) && utf8.ValidString(d.OriginalExpiration)
}
