package web

import (
	"time"

	"dedup-dashboard/internal/dedup"
)

// BaselineJSON is what is acknowledged of a pipeline's dead letters. Own is null where it is not known.
type BaselineJSON struct {
	Count        int64      `json:"count"`
	Own          *int64     `json:"own"`
	Acknowledged int64      `json:"acknowledged"`
	By           string     `json:"by"`
	At           *time.Time `json:"at"`
	Reason       string     `json:"reason"`
}

// BaselineOf returns nil for none.
func BaselineOf(b *dedup.Baseline) *BaselineJSON {
	if b == nil {
		return nil
	}
	var own *int64
	if b.Split {
		own = &b.Own
	}
	return &BaselineJSON{b.Count, own, b.Acknowledged, b.By, Time(b.At), b.Reason}
}
