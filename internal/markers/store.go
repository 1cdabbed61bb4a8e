// Package markers is what every dedup store can do: say what markers there are, in which state and since when, at a bounded and stated cost, and change one of them.
package markers

import (
	"context"

	"dedup-dashboard/internal/dedup"
)

// A Store is one dedup store, open for watching: as a whole, and marker by marker. Its methods may be called at the same time. An error of a method is a
// *dedup.Error whose public text says what is wrong and what to do about it.
type Store interface {
	Reader
	// Name returns the configured name.
	Name() string
	// Place names server and database, without credentials; empty where the address cannot be read.
	Place() string
	// Scheme returns what the configuration says of the store's consumers.
	Scheme() dedup.Scheme
	// Run walks over the store again and again until ctx ends.
	Run(ctx context.Context)
	// Pass walks over the store once, without regard to Run. Its own duty cycle and ceilings apply.
	Pass(ctx context.Context) (dedup.Pass, error)
	// Stats returns the last complete pass of Run, the pass under way, and the health of the store at this moment.
	Stats(ctx context.Context) (dedup.StoreStats, error)
	// Reported returns the counters that the consumers of a pipeline keep in the store.
	Reported(ctx context.Context, pipeline string) (dedup.Reported, error)
	// Check connects, decodes up to n sample keys, counts states over a bounded part of the store and tries every
	// command that watching needs.
	Check(ctx context.Context, n int) (Report, error)
	// Close ends all connections.
	Close() error
}
