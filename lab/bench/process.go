package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// memory returns a memory figure of a process in MiB, as VmRSS, or -1 where the system does not say. The process may be
// "self".
func memory(process, figure string) float64 {
	text, err := os.ReadFile("/proc/" + process + "/status")
	if err != nil {
		return -1
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, figure+":"); ok {
			var kib float64
			if _, err := fmt.Sscanf(rest, "%f kB", &kib); err == nil {
				return kib / 1024
			}
		}
	}
	return -1
}

// resetPeak makes our peak memory start from now, and returns our resident memory in MiB.
func resetPeak() (float64, error) {
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o200); err != nil {
		return 0, fmt.Errorf("reset the peak of our memory: %w", err)
	}
	return memory("self", "VmRSS"), nil
}

// cpuSeconds returns the processor time that a process has used, or -1 where the system does not say.
func cpuSeconds(pid int) float64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return -1
	}
	const user, system, ticksPerSecond = 11, 12, 100
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) <= system {
		return -1
	}
	u, _ := strconv.ParseFloat(fields[user], 64)
	s, _ := strconv.ParseFloat(fields[system], 64)
	return (u + s) / ticksPerSecond
}

// processorTime is what this process has used so far, exactly; 0 where the system does not say.
func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// median runs a call several times and returns the median of its durations in seconds.
func median(times int, call func() error) (float64, error) {
	took, err := durations(times, call)
	if err != nil {
		return 0, err
	}
	return took[len(took)/2].Seconds(), nil
}

// durations runs a call several times and returns how long each took, shortest first.
func durations(times int, call func() error) ([]time.Duration, error) {
	took := make([]time.Duration, 0, times)
	for range times {
		start := time.Now()
		if err := call(); err != nil {
			return nil, err
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	return took, nil
}
