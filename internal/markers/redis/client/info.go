package client

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/pace"
)

// Info is an answer of INFO: fields by name.
type Info map[string]string

// ParseInfo reads an answer of INFO.
func ParseInfo(text string) Info {
	fields := make(Info, strings.Count(text, "\n"))
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":"); ok {
			fields[name] = value
		}
	}
	return fields
}

// Number returns a field as a number, nil when it is absent or none.
func (i Info) Number(name string) *int64 {
	n, err := strconv.ParseInt(i[name], 10, 64)
	if err != nil {
		return nil
	}
	return &n
}

// Mode is standalone, cluster or sentinel; Valkey calls it server_mode since 8.0.
func (i Info) Mode() string { return cmp.Or(i["redis_mode"], i["server_mode"]) }

// Version returns the name and version of the server; Valkey says 7.2.4 in redis_version for compatibility.
func (i Info) Version() string {
	if v := i["valkey_version"]; v != "" {
		return "valkey " + v
	}
	if v := i["dragonfly_version"]; v != "" {
		return "dragonfly " + v
	}
	return i["redis_version"]
}

// Order is how the server counts the cursors of SCAN.
func (i Info) Order() Order {
	version, first := i["redis_version"], [2]int{7, 4}
	if v := i["valkey_version"]; v != "" {
		version, first = v, [2]int{8, 0}
	}
	var is [2]int
	_, _ = fmt.Sscanf(version, "%d.%d", &is[0], &is[1])
	return Order{i.Mode() == "cluster" && i["dragonfly_version"] == "" && slices.Compare(is[:], first[:]) >= 0}
}

// Health returns what the server says of itself; the caller adds keys, latency and time.
func (i Info) Health() dedup.StoreHealth {
	h := dedup.StoreHealth{
		Version: i.Version(), Role: i["role"], RunID: i["run_id"],
		MemoryUsed: i.Number("used_memory"), MemoryMax: i.Number("maxmemory"), EvictionPolicy: i["maxmemory_policy"],
		EvictedKeys: i.Number("evicted_keys"),
	}
	if h.MemoryMax != nil && *h.MemoryMax == 0 {
		// maxmemory 0 means that there is no limit.
		h.MemoryMax = nil
	}
	return h
}

// ProcessorTime is what the server has used of the processor since its start, nil where it does not say.
func (i Info) ProcessorTime() *time.Duration {
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

// CpuMeter turns the processor time of a server into a share of one core.
type CpuMeter struct {
	mu    sync.Mutex
	runID string
	used  time.Duration
	at    time.Time
}

// leastMetered is the shortest time over which a share is taken: the server rounds what it says.
const leastMetered = 100 * time.Millisecond

// Since returns the cores that a server has used since the last call, nil where that is not known.
func (m *CpuMeter) Since(runID string, used *time.Duration, now time.Time) *float64 {
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

// Identity is what must not change during a pass: the process, its role, and the number of times that it was emptied.
type Identity struct {
	RunID   string
	Role    string
	Flushes string
	// Swaps is the number of times that databases were exchanged.
	Swaps string
}

// Identity needs the default sections and commandstats.
func (i Info) Identity() Identity {
	return Identity{
		RunID: i["run_id"], Role: i["role"],
		Flushes: Calls(i["cmdstat_flushall"]) + "," + Calls(i["cmdstat_flushdb"]), Swaps: Calls(i["cmdstat_swapdb"]),
	}
}

// Change says how the store became another one, empty if it did not.
func (before Identity) Change(now Identity) string {
	switch {
	case before.RunID != now.RunID:
		return "the store restarted"
	case before.Role != now.Role:
		return "the store's role changed from " + before.Role + " to " + now.Role
	case before.Flushes != now.Flushes, before.Swaps != now.Swaps:
		return "the store was emptied"
	}
	return ""
}

// Work needs commandstats.
func (i Info) Work() pace.Work {
	var w pace.Work
	for _, command := range []string{"scan", AbsoluteExpiry, RemainingExpiry, "getrange"} {
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

// Calls takes the number of calls out of a commandstats line: calls=1,usec=30,...
func Calls(stat string) string {
	first, _, _ := strings.Cut(stat, ",")
	return strings.TrimPrefix(first, "calls=")
}

// The commands that ask when a key expires. Servers before 7.0 do not know PEXPIRETIME; there the remaining life is added to the server's clock.
const (
	AbsoluteExpiry  = "pexpiretime"
	RemainingExpiry = "pttl"
)

// Calls returns how often a command was executed, 0 where the server has not counted it yet.
func (i Info) Calls(command string) int64 {
	n, err := strconv.ParseInt(Calls(i["cmdstat_"+strings.ToLower(command)]), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// Keys returns how many keys a database holds: one without any is not listed.
func (i Info) Keys(db int) int64 {
	var n int64
	_, _ = fmt.Sscanf(i["db"+strconv.Itoa(db)], "keys=%d", &n)
	return n
}
