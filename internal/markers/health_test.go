package markers

import "testing"

func TestInfoIsReadWithoutInventingNumbers(t *testing.T) {
	h := parseInfo("# Server\r\nredis_version:7.2.4\r\nvalkey_version:8.1.0\r\nused_memory:12\r\nmaxmemory:0\r\nevicted_keys:x\r\nrole:master\r\n").health()
	if h.Version != "valkey 8.1.0" || h.Role != "master" || *h.MemoryUsed != 12 || h.MemoryMax != nil || h.EvictedKeys != nil {
		t.Errorf("%+v", h)
	}
}
