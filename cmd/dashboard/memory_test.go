package main

import (
	"testing"
	"testing/fstest"
)

func TestTheMemoryLimitIsThatOfTheUserOrOfTheControlGroup(t *testing.T) {
	for name, c := range map[string]struct {
		env   string
		files map[string]string
		want  int64
		sets  bool
	}{
		"whoever sets GOMEMLIMIT knows":             {env: "off"},
		"without control groups there is a default": {want: 429496728, sets: true},
		"a unit of systemd": {
			files: map[string]string{"proc/self/cgroup": "0::/system.slice/dashboard.service\n", "sys/fs/cgroup/system.slice/dashboard.service/memory.max": "536870912\n"},
			want:  429496728, sets: true,
		},
		"a container": {
			files: map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "2147483648\n"},
			want:  1717986916, sets: true,
		},
		"a group without a limit": {
			files: map[string]string{"proc/self/cgroup": "0::/user.slice\n", "sys/fs/cgroup/user.slice/memory.max": "max\n"},
			want:  429496728, sets: true,
		},
		"groups of version 1": {files: map[string]string{"proc/self/cgroup": "4:memory:/a\n"}, want: 429496728, sets: true},
		"a group beyond the root": {
			files: map[string]string{"proc/self/cgroup": "0::/../../other\n", "sys/fs/cgroup/other/memory.max": "-1\n"},
			want:  429496728, sets: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := fstest.MapFS{}
			for path, text := range c.files {
				root[path] = &fstest.MapFile{Data: []byte(text)}
			}
			if got, sets := memoryLimit(c.env, root); got != c.want || sets != c.sets {
				t.Errorf("got %d, %t", got, sets)
			}
		})
	}
}
