package dedup

// Method names a source of the duplicate rate. Its text is stable: the API, docs/accuracy.md and tests use it.
type Method string

// The sources of the duplicate rate by rank, best first: of those from store hits on the narrowest is taken. The redelivery ratio and touched markers are never a rate.
const (
	// MethodReported are the counters that consumers report.
	MethodReported Method = "reported"
	// MethodExports are the deliveries that the consumers' framework counts, less what the store settled, or the duplicates that it counts.
	MethodExports Method = "exports"
	// MethodIDGap are the ids that failed inserts burned: AUTO_INCREMENT or a sequence against the rows.
	MethodIDGap Method = "id_gap"
	// MethodStoreHits are the questions of consumers that met a marker, as the store counted them: commands less misses or claims, or
	// statements that inserted nothing.
	MethodStoreHits Method = "store_hits"
	// MethodStoreEvents are keyspace notifications together with command statistics.
	MethodStoreEvents Method = "store_events"
	// MethodLive are the broker's acks less what the store settled, both counted at one moment, each second.
	MethodLive Method = "live_counts"
	// MethodResidual is the residual interval: acks of the broker less first completions of the store.
	MethodResidual Method = "residual"
)

// Methods returns every source of the duplicate rate, best first.
func Methods() []Method {
	return []Method{MethodReported, MethodExports, MethodIDGap, MethodStoreHits, MethodLive, MethodStoreEvents, MethodResidual}
}

// An Estimate is what one source says of a duplicate rate, shown or not. The Why of an unknown figure is the refusal,
// worded for people.
type Estimate struct {
	Method Method
	Rate   Figure
}
