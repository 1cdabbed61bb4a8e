package markers

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/pace"
)

// info is an answer of INFO: fields by name.
type info map[string]string

func parseInfo(text string) info {
	fields := info{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":"); ok {
			fields[name] = value
		}
	}
	return fields
}

// number returns a field as a number, nil when it is absent or none.
func (i info) number(name string) *int64 {
	n, err := strconv.ParseInt(i[name], 10, 64)
	if err != nil {
		return nil
	}
	return &n
}

// version returns the name and version of the server; Valkey says 7.2.4 in redis_version for compatibility.
func (i info) version() string {
	if v := i["valkey_version"]; v != "" {
		return "valkey " + v
	}
	if v := i["dragonfly_version"]; v != "" {
		return "dragonfly " + v
	}
	return i["redis_version"]
}

// health returns what the server says of itself; the caller adds keys, latency and time.
func (i info) health() dedup.StoreHealth {
	h := dedup.StoreHealth{
		Version: i.version(), Role: i["role"], RunID: i["run_id"],
		MemoryUsed: i.number("used_memory"), MemoryMax: i.number("maxmemory"), EvictionPolicy: i["maxmemory_policy"],
		EvictedKeys: i.number("evicted_keys"),
	}
	if h.MemoryMax != nil && *h.MemoryMax == 0 {
		// maxmemory 0 means that there is no limit.
		h.MemoryMax = nil
	}
	return h
}

// processorTime is what the server has used of the processor since its start, nil where it does not say.
func (i info) processorTime() *time.Duration {
	var sum time.Duration
	for _, field := range []string{"used_cpu_sys", "used_cpu_user"} {
		seconds, err := strconv.ParseFloat(i[field], 64)
		if err != nil {
			return nil
		}
		sum += time.Duration(seconds * float64(time.Second))
	}
	return &sum
}

// cpuMeter turns the processor time of a server into a share of one core.
type cpuMeter struct {
	mu    sync.Mutex
	runID string
	used  time.Duration
	at    time.Time
}

// leastMetered is the shortest time over which a share is taken: the server rounds what it says.
const leastMetered = 100 * time.Millisecond

// since returns the cores that a server has used since the last call, nil where that is not known.
func (m *cpuMeter) since(runID string, used *time.Duration, now time.Time) *float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if used == nil {
		return nil
	}
	passed, same := now.Sub(m.at), runID == m.runID && *used >= m.used && !m.at.IsZero()
	if same && passed < leastMetered {
		return nil
	}
	before := m.used
	m.runID, m.used, m.at = runID, *used, now
	if !same {
		return nil
	}
	cores := float64(*used-before) / float64(passed)
	return &cores
}

// identity is what must not change during a pass: the process, its role, and the number of times that it was emptied.
type identity struct {
	runID   string
	role    string
	flushes string
	// swaps is the number of times that databases were exchanged.
	swaps string
}

// identity needs the default sections and commandstats.
func (i info) identity() identity {
	return identity{
		runID: i["run_id"], role: i["role"],
		flushes: calls(i["cmdstat_flushall"]) + "," + calls(i["cmdstat_flushdb"]), swaps: calls(i["cmdstat_swapdb"]),
	}
}

// change says how the store became another one, empty if it did not.
func (before identity) change(now identity) string {
	switch {
	case before.runID != now.runID:
		return "the store restarted"
	case before.role != now.role:
		return "the store's role changed from " + before.role + " to " + now.role
	case before.flushes != now.flushes, before.swaps != now.swaps:
		return "the store was emptied"
	}
	return ""
}

// work needs commandstats.
func (i info) work() pace.Work {
	var w pace.Work
	for _, command := range []string{"scan", absoluteExpiry, remainingExpiry, "getrange"} {
		n, spent := int64(0), int64(0)
		_, err := fmt.Sscanf(i["cmdstat_"+command], "calls=%d,usec=%d", &n, &spent)
		if err != nil {
			continue
		}
		w.Time += time.Duration(spent) * time.Microsecond
		if command == "scan" {
			w.Scans, w.ScanTime = n, time.Duration(spent)*time.Microsecond
		}
	}
	return w
}

// calls takes the number of calls out of a commandstats line: calls=1,usec=30,...
func calls(stat string) string {
	first, _, _ := strings.Cut(stat, ",")
	return strings.TrimPrefix(first, "calls=")
}

// The commands that ask when a key expires. Servers before 7.0 do not know PEXPIRETIME; there the remaining life is added to the server's clock.
const (
	absoluteExpiry  = "pexpiretime"
	remainingExpiry = "pttl"
)

// calls returns how often a command was executed, 0 where the server has not counted it yet.
func (i info) calls(command string) int64 {
	n, err := strconv.ParseInt(calls(i["cmdstat_"+strings.ToLower(command)]), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// keys returns how many keys a database holds: one without any is not listed.
func (i info) keys(db int) int64 {
	var n int64
	_, _ = fmt.Sscanf(i["db"+strconv.Itoa(db)], "keys=%d", &n)
	return n
}
