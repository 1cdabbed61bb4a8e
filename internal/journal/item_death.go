package journal

import (
	"time"

	"dedup-dashboard/internal/message"
)

// itemDeath is a death of a message of a job, in the journal. What a header said need not be UTF-8.
type itemDeath struct {
	Queue  []byte `json:"queue"`
	Reason []byte `json:"reason"`
	Count  int64  `json:"count"`
	At     int64  `json:"at"` // milliseconds since 1970; 0 when it is not known
}

func deathJSON(d *message.Death) (string, error) {
	if d == nil {
		return "", nil
	}
	kept := itemDeath{Queue: []byte(d.Queue), Reason: []byte(d.Reason), Count: d.Count}
	if !d.Time.IsZero() {
		kept.At = d.Time.UnixMilli()
	}
	return asJSON(kept)
}

func parseDeath(text string) (*message.Death, error) {
	if text == "" {
		return nil, nil
	}
	kept, err := unmarshal[itemDeath]("death", text)
	if err != nil {
		return nil, err
	}
	d := &message.Death{Queue: string(kept.Queue), Reason: string(kept.Reason), Count: kept.Count}
	if kept.At != 0 {
		d.Time = time.UnixMilli(kept.At).UTC()
	}
	return d, nil
}
