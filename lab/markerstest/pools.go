package markerstest

import "go.uber.org/goleak"

// ClosedPools lets a test end while go-redis still looks, each second, for a server that is down: it does so for up to a second after
// the client was closed.
func ClosedPools() goleak.Option {
	return goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial")
}
