package main

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// rss returns the resident memory of a process in MiB, or -1 where the system does not say.
func rss(pid int) float64 {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return -1
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "VmRSS:"); ok {
			var kib float64
			if _, err := fmt.Sscanf(rest, "%f kB", &kib); err == nil {
				return kib / 1024
			}
		}
	}
	return -1
}

// median runs a call several times and returns the median of its durations in seconds.
func median(times int, call func() error) (float64, error) {
	var took []time.Duration
	for range times {
		start := time.Now()
		if err := call(); err != nil {
			return 0, err
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	return took[len(took)/2].Seconds(), nil
}
