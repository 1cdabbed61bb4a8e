package redis_test

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/markers"
	"dedup-dashboard/lab/markerstest"
)

// BenchmarkUnthrottledSweep compares a whole sweep of a million markers with a bare SCAN over the same keys.
// The metrics ratio and rss_growth_MiB are what the budget is about; ns/op is one sweep.
func BenchmarkUnthrottledSweep(b *testing.B) {
	server, rdb := markerstest.StartRedis(b)
	fill(b, rdb, markerstest.Mix{Done: 990_000, Processing: 9_000, NoExpiry: 500, GaveUp: 500})
	store := markerstest.OpenStore(b, markerstest.Unthrottled(markerstest.Config(b, "redis-text-status", server.URL())))
	before := markerstest.ResetPeak(b)
	var bare, sweep time.Duration
	var bareCPU, sweepCPU float64
	for b.Loop() {
		cpu := cpuSeconds(b, server.PID())
		bare += bareScan(b, rdb)
		bareCPU += cpuSeconds(b, server.PID()) - cpu
		cpu = cpuSeconds(b, server.PID())
		start := time.Now()
		if pass := markerstest.MustPass(b, store); pass.Matched != 999_500 {
			b.Fatalf("matched %d", pass.Matched)
		}
		sweep += time.Since(start)
		sweepCPU += cpuSeconds(b, server.PID()) - cpu
	}
	b.ReportMetric(bareCPU/float64(b.N), "bare_server_cpu_s/op")
	b.ReportMetric(sweepCPU/float64(b.N), "sweep_server_cpu_s/op")
	b.ReportMetric(float64(sweep)/float64(bare), "ratio")
	b.ReportMetric(bare.Seconds()/float64(b.N), "bare_s/op")
	b.ReportMetric(sweep.Seconds()/float64(b.N), "sweep_s/op")
	b.ReportMetric(markerstest.Memory(b, "VmHWM")-before, "rss_growth_MiB")
}

// BenchmarkClusterSweep compares a whole sweep of the same markers on one server and over the three primaries of a cluster. The metric ratio is the
// cost of a key in a cluster to that on one server, by the clock; cpu_ratio is that of the servers' processor time.
func BenchmarkClusterSweep(b *testing.B) {
	mix := markerstest.Mix{Done: 297_000, Processing: 2700, NoExpiry: 150, GaveUp: 150}
	server, rdb := markerstest.StartRedis(b)
	c := newClusterBench(b)
	fill(b, rdb, mix)
	fill(b, c.rdb, mix)
	one := markerstest.OpenStore(b, markerstest.Unthrottled(markerstest.Config(b, "redis-text-status", server.URL())))
	three := markerstest.OpenStore(b, markerstest.Unthrottled(c.config(b, "redis-text-status")))
	cost := func(store markers.Store, pids ...int) (took time.Duration, cpu float64) {
		for _, pid := range pids {
			cpu -= cpuSeconds(b, pid)
		}
		start := time.Now()
		if pass := markerstest.MustPass(b, store); pass.Matched != 299_850 {
			b.Fatalf("matched %d", pass.Matched)
		}
		took = time.Since(start)
		for _, pid := range pids {
			cpu += cpuSeconds(b, pid)
		}
		return took, cpu
	}
	var single, cluster time.Duration
	var singleCPU, clusterCPU float64
	for b.Loop() {
		took, cpu := cost(one, server.PID())
		single, singleCPU = single+took, singleCPU+cpu
		took, cpu = cost(three, c.Nodes[0].PID(), c.Nodes[1].PID(), c.Nodes[2].PID())
		cluster, clusterCPU = cluster+took, clusterCPU+cpu
	}
	b.ReportMetric(float64(cluster)/float64(single), "ratio")
	b.ReportMetric(clusterCPU/singleCPU, "cpu_ratio")
	b.ReportMetric(single.Seconds()/float64(b.N), "single_s/op")
	b.ReportMetric(cluster.Seconds()/float64(b.N), "cluster_s/op")
}

// BenchmarkPoliteSweep walks at the default politeness while another client measures its PING.
func BenchmarkPoliteSweep(b *testing.B) {
	for name, mix := range map[string]markerstest.Mix{
		"1000000 markers":                      {Done: 990_000, Processing: 9_000, NoExpiry: 500, GaveUp: 500},
		"100000 markers in 2000000 other keys": {Done: 99_000, Processing: 900, NoExpiry: 50, GaveUp: 50, Foreign: 2_000_000},
	} {
		b.Run(name, func(b *testing.B) {
			server, rdb := markerstest.StartRedis(b)
			fill(b, rdb, mix)
			store := markerstest.OpenStore(b, markerstest.Config(b, "redis-text-status", server.URL()))
			quiet := cpuSeconds(b, server.PID())
			idle := pings(b, rdb, func() bool { return false }, 5*time.Second)
			// What the pings of this benchmark cost the server is not the walk's.
			quiet = (cpuSeconds(b, server.PID()) - quiet) / 5
			for b.Loop() {
				cpu, start := cpuSeconds(b, server.PID()), time.Now()
				ended := make(chan error, 1)
				go func() {
					_, err := store.Pass(b.Context())
					ended <- err
				}()
				busy := pings(b, rdb, func() bool { return len(ended) > 0 }, time.Hour)
				if err := <-ended; err != nil {
					b.Fatal(err)
				}
				wall := time.Since(start).Seconds()
				b.ReportMetric(wall, "wall_s")
				b.ReportMetric(100*((cpuSeconds(b, server.PID())-cpu)/wall-quiet), "cpu_%")
				b.ReportMetric(ms(idle), "ping_idle_p99_ms")
				b.ReportMetric(ms(busy), "ping_p99_ms")
			}
		})
	}
}

func fill(b testing.TB, rdb redis.UniversalClient, mix markerstest.Mix) {
	b.Helper()
	if err := markerstest.Fill(b.Context(), rdb, markerstest.TextStatus(), mix); err != nil {
		b.Fatal(err)
	}
}

func bareScan(b *testing.B, rdb *redis.Client) time.Duration {
	b.Helper()
	start, cursor := time.Now(), uint64(0)
	for {
		var err error
		if _, cursor, err = rdb.Scan(b.Context(), cursor, "", 500).Result(); err != nil {
			b.Fatal(err)
		}
		if cursor == 0 {
			return time.Since(start)
		}
	}
}

// pings returns the 99th percentile of PING, one each 5 ms, until done says so or for d.
func pings(b *testing.B, rdb *redis.Client, done func() bool, d time.Duration) time.Duration {
	b.Helper()
	var all []time.Duration
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(d); time.Now().Before(end) && !done(); <-tick.C {
		start := time.Now()
		if err := rdb.Ping(b.Context()).Err(); err != nil {
			b.Fatal(err)
		}
		all = append(all, time.Since(start))
	}
	slices.Sort(all)
	return all[len(all)*99/100]
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// cpuSeconds returns the processor time that a process has used.
func cpuSeconds(b *testing.B, pid int) float64 {
	b.Helper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		b.Fatal(err)
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) / 100
}
