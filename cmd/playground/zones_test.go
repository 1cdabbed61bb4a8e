package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"
)

// TestTheProgramBringsItsOwnTimeZones: an image may have none. The name is put together here, so that this file is not what is found.
func TestTheProgramBringsItsOwnTimeZones(t *testing.T) {
	t.Setenv("ZONEINFO", "")
	rare := strings.Join([]string{"Antarctica", "Vostok"}, "/")
	for _, zone := range []string{"Asia/Shanghai", "Europe/Berlin", "America/New_York", rare} {
		if _, err := time.LoadLocation(zone); err != nil {
			t.Error(err)
		}
	}
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(program, []byte(rare)) {
		t.Errorf("the program does not hold the zone %s: without those of the system it would refuse every named zone", rare)
	}
}
