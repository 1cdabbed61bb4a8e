package servers

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
)

// Ports below the ephemeral range of Linux (32768 up): the kernel gives them to nobody by itself, so a server that
// is stopped finds its port still free when it is started again.
const (
	firstPort = 20000
	lastPort  = 32700
)

var errNoPort = errors.New("no free loopback port between 20000 and 32700")

// freePorts returns n different loopback ports that nobody listens on at the moment. Another program can still take
// one of them before the server does; the starters therefore try again with other ports.
func freePorts(n int) ([]int, error) {
	ports := make([]int, 0, n)
	taken := make(map[int]bool, n)
	for range 500 {
		if len(ports) == n {
			return ports, nil
		}
		port := firstPort + rand.IntN(lastPort-firstPort)
		if !taken[port] && portIsFree(port) {
			taken[port] = true
			ports = append(ports, port)
		}
	}
	return nil, errNoPort
}

// portIsFree binds the wildcard address: a server of ours binds only the loopback address, but one that listens on
// all addresses must count as a conflict too.
func portIsFree(port int) bool {
	listener, err := net.Listen("tcp", ":"+strconv.Itoa(port))
	if err != nil {
		return false
	}
	return listener.Close() == nil
}

// isPortConflict tells whether a server's log says that its port was taken.
func isPortConflict(log string) bool {
	low := strings.ToLower(log)
	return strings.Contains(low, "eaddrinuse") || strings.Contains(low, "address already in use") || strings.Contains(low, "could_not_start_listener")
}

func loopback(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// FreePort returns a loopback port that nobody listens on at the moment, below the range that the kernel gives out.
func FreePort() (int, error) {
	ports, err := freePorts(1)
	if err != nil {
		return 0, err
	}
	return ports[0], nil
}
