package requeue

import "context"

// Run moves messages.
func Run(ctx context.Context, ends Ends, cfg Config, decide Decider, report func(ctx context.Context, settled []Settled) error) (Result, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return Result{}, err
	}
	return Result{Stop: StopLimit}, nil
}
