package redis

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/codec"
	"dedup-dashboard/internal/markers/pace"
	"dedup-dashboard/internal/markers/redis/client"
)

// reportedPrefix and the pipeline's name make the key of the hash in which consumers count.
const reportedPrefix = "dedupstats:"

// Reported reads the known fields of dedupstats:{pipeline}, however many others the hash has.
func (s *store) Reported(ctx context.Context, pipeline string) (dedup.Reported, error) {
	ctx, cancel := context.WithTimeout(ctx, pace.AnswerTimeout)
	defer cancel()
	key, fields := reportedPrefix+pipeline, reportedFields()
	at := time.Now()
	size, values, err := s.readReported(ctx, key, fields)
	if err != nil {
		if client.IsAnswer(err, "WRONGTYPE") {
			return dedup.Reported{At: at}, &dedup.Error{Kind: dedup.Unavailable,
				Public: "Redis key " + key + " is not a hash: consumers count in it with HINCRBY", Err: err}
		}
		return dedup.Reported{At: at}, s.explain.Explain(err)
	}
	known := map[string]string{}
	for i, v := range values.Val() {
		if text, ok := v.(string); ok {
			known[fields[i]] = text
		}
	}
	r, err := parseReported(known)
	if err != nil {
		return dedup.Reported{At: at}, &dedup.Error{Kind: dedup.Unavailable,
			Public: "Redis hash " + key + ": " + err.Error() + ": consumers count in it with HINCRBY only; correct or delete the field"}
	}
	r.At, r.Present = at, size.Val() > 0
	return r, nil
}

func (s *store) readReported(ctx context.Context, key string, fields []string) (*redis.IntCmd, *redis.SliceCmd, error) {
	m, err := s.servers.Map(ctx)
	if err != nil {
		return nil, nil, err
	}
	n, err := m.For(key)
	if err != nil {
		return nil, nil, err
	}
	pipe := n.Pipeline()
	size, values := pipe.HLen(ctx, key), pipe.HMGet(ctx, key, fields...)
	_, err = pipe.Exec(ctx)
	return size, values, s.servers.Missed(n, err)
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

// parseReported takes the counters out of the fields that exist. An outcome that cannot be read is an error: a rate
// without its numerator would read 0. A latency distribution that cannot be read as a whole is left out, and named in Bad.
func parseReported(fields map[string]string) (dedup.Reported, error) {
	r := dedup.Reported{Outcomes: map[string]int64{}}
	for _, outcome := range dedup.ReportedOutcomes() {
		n, err := count(fields, outcome)
		if err != nil {
			return dedup.Reported{}, err
		}
		if n != nil {
			r.Outcomes[outcome] = *n
		}
	}
	r.Ack, r.Bad = latency(fields, "ack", r.Bad)
	r.Work, r.Bad = latency(fields, "work", r.Bad)
	return r, nil
}

// count returns a field as a count, nil when it is absent.
func count(fields map[string]string, field string) (*int64, error) {
	text, ok := fields[field]
	if !ok {
		return nil, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return nil, fmt.Errorf("field %s is not a count but %s", field, codec.Printable(text))
	}
	return &n, nil
}

// latency returns one distribution and bad with the fields that spoil it: a mean without its sum would read 0.
func latency(fields map[string]string, what string, bad []string) (dedup.LatencyCounts, []string) {
	var buckets []int64
	good := len(bad)
	bounds := dedup.LatencyBounds()
	for i, bound := range bounds {
		field := bucketField(what, bound)
		n, err := count(fields, field)
		switch {
		case err != nil:
			bad = append(bad, field)
		case n != nil:
			if buckets == nil {
				buckets = make([]int64, len(bounds))
			}
			buckets[i] = *n
		}
	}
	sum, err := count(fields, what+"_sum_us")
	if err != nil || buckets != nil && sum == nil {
		bad = append(bad, what+"_sum_us")
	}
	if len(bad) > good || buckets == nil {
		return dedup.LatencyCounts{}, bad
	}
	return dedup.LatencyCounts{Buckets: buckets, Sum: *sum}, bad
}
