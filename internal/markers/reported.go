package markers

import (
	"context"
	"math"
	"strconv"
	"time"

	"dedup-dashboard/internal/dedup"
)

// reportedPrefix and the pipeline's name make the key of the hash in which consumers count.
const reportedPrefix = "dedupstats:"

// Reported reads the known fields of dedupstats:{pipeline}, however many others the hash has.
func (s *redisString) Reported(ctx context.Context, pipeline string) (dedup.Reported, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	key, fields := reportedPrefix+pipeline, reportedFields()
	at := time.Now()
	pipe := s.rdb.Pipeline()
	size, values := pipe.HLen(ctx, key), pipe.HMGet(ctx, key, fields...)
	if _, err := pipe.Exec(ctx); err != nil {
		if isAnswer(err, "WRONGTYPE") {
			return dedup.Reported{At: at}, &dedup.Error{Kind: dedup.Unavailable,
				Public: "Redis key " + key + " is not a hash: consumers count in it with HINCRBY", Err: err}
		}
		return dedup.Reported{At: at}, s.explain.explain(err)
	}
	known := map[string]string{}
	for i, v := range values.Val() {
		if text, ok := v.(string); ok {
			known[fields[i]] = text
		}
	}
	r := parseReported(known)
	r.At, r.Present = at, size.Val() > 0
	return r, nil
}

// reportedFields names every field of the contract.
func reportedFields() []string {
	fields := dedup.ReportedOutcomes()
	for _, what := range []string{"ack", "work"} {
		for _, bound := range dedup.LatencyBounds() {
			fields = append(fields, bucketField(what, bound))
		}
		fields = append(fields, what+"_sum_us")
	}
	return fields
}

// bucketField names the field of a latency bucket by its upper bound in seconds: ack_le_0.005, ack_le_inf.
func bucketField(what string, bound float64) string {
	if math.IsInf(bound, 1) {
		return what + "_le_inf"
	}
	return what + "_le_" + strconv.FormatFloat(bound, 'f', -1, 64)
}

// parseReported takes the counters out of the fields that exist. A count that is no whole number, or is below zero, is
// named in Bad.
func parseReported(fields map[string]string) dedup.Reported {
	r := dedup.Reported{Outcomes: map[string]int64{}}
	count := func(field string) (int64, bool) {
		text, ok := fields[field]
		if !ok {
			return 0, false
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			r.Bad = append(r.Bad, field)
			return 0, false
		}
		return n, true
	}
	for _, outcome := range dedup.ReportedOutcomes() {
		if n, ok := count(outcome); ok {
			r.Outcomes[outcome] = n
		}
	}
	latency := func(what string) dedup.LatencyCounts {
		var c dedup.LatencyCounts
		bounds := dedup.LatencyBounds()
		for i, bound := range bounds {
			if n, ok := count(bucketField(what, bound)); ok {
				if c.Buckets == nil {
					c.Buckets = make([]int64, len(bounds))
				}
				c.Buckets[i] = n
			}
		}
		c.Sum, _ = count(what + "_sum_us")
		return c
	}
	r.Ack, r.Work = latency("ack"), latency("work")
	return r
}
