package templates

import (
	"math"
	"sort"
	"strconv"
	"time"
)

// TimeTicks returns at most eight ticks at round times of the zone that from is in.
func TimeTicks(from, to time.Time) []Tick {
	span := to.Sub(from)
	if span <= 0 {
		return nil
	}
	step := 7 * 24 * time.Hour
	for _, s := range []time.Duration{
		time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour,
		2 * time.Hour, 3 * time.Hour, 4 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 48 * time.Hour,
	} {
		if span/s <= 8 {
			step = s
			break
		}
	}
	format := "15:04"
	if step >= 24*time.Hour {
		format = "2 Jan"
	}
	var ticks []Tick
	midnight := time.Date(from.Year(), from.Month(), from.Day(), 0, 0, 0, 0, from.Location())
	first := midnight.Add((from.Sub(midnight) + step - 1) / step * step)
	for at := first; !at.After(to); at = at.Add(step) {
		share := float64(at.Sub(from)) / float64(span)
		if share < 0.02 || share > 0.98 {
			continue // its label would stick out
		}
		ticks = append(ticks, Tick{X: percentOf(share * plotWidth), Label: at.Format(format), Minor: len(ticks)%2 == 1})
	}
	return ticks
}

// spread moves the texts of labels apart until none overlap, keeping their order.
func spread(labels []label) {
	sort.SliceStable(labels, func(i, j int) bool { return number(labels[i].y) < number(labels[j].y) })
	floor := math.Inf(-1)
	for i := range labels {
		y := math.Max(number(labels[i].y), floor+labelGap)
		labels[i].texty = px(y)
		floor = y
	}
	ceiling := plotHeight + labelGap/2
	for i := len(labels) - 1; i >= 0; i-- {
		y := math.Min(number(labels[i].texty), ceiling)
		labels[i].texty = px(y)
		ceiling = y - labelGap
	}
}

// spreadLimits leaves out the text of a limit that would overlap the one above it; its line stays.
func spreadLimits(labels []label) {
	last := math.Inf(-1)
	for i := len(labels) - 1; i >= 0; i-- { // the highest limit is the topmost
		y := number(labels[i].y)
		if y-last < labelGap {
			labels[i].text = ""
			continue
		}
		last = y
	}
}

func number(s string) float64 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0
	}
	return v
}
