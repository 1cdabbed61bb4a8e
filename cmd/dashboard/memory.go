package main

import (
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// defaultMemoryLimit is what the heap stays below, if it can, where nobody says how much memory there is: four fifths of the MemoryMax=512M
// of the unit in README.md.
const defaultMemoryLimit = 512 << 20 / 5 * 4

// memoryLimit returns what the garbage collector is to keep the memory of the program below; false where GOMEMLIMIT says so, which the runtime
// has read itself. Under a memory limit of a control group, as systemd and containers set it, it is four fifths of that: the rest is for
// what is not in the heap, and for what comes before the collector has run.
func memoryLimit(env string, root fs.FS) (int64, bool) {
	if env != "" {
		return 0, false
	}
	if most, ok := groupLimit(root); ok {
		return most / 5 * 4, true
	}
	return defaultMemoryLimit, true
}

// groupLimit returns the memory limit of the control group (version 2) of this process; false where it has none.
func groupLimit(root fs.FS) (int64, bool) {
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(groups)) {
		group, ok := strings.CutPrefix(strings.TrimSpace(line), "0::")
		if !ok {
			continue
		}
		text, err := fs.ReadFile(root, path.Join("sys/fs/cgroup", path.Clean("/"+group), "memory.max"))
		if err != nil {
			return 0, false
		}
		most, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // "max" is none
		return most, err == nil && most > 0
	}
	return 0, false
}
