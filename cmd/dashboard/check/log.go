package check

import (
	"context"
	"errors"
	"fmt"
	"io"

	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/broker/log"
)

// tryLog tries the account that listens to the broker's log. Its error says what must be fixed before ack timeouts can be
// counted; it is nil when no such account is configured.
func tryLog(ctx context.Context, w io.Writer, cfg broker.Config) error {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	why, remedy, configured := log.Try(ctx, cfg)
	switch {
	case !configured:
		fmt.Fprintf(w, "  ack timeouts are not counted: broker %s has no log section\n", cfg.Name)
		return nil
	case why == "":
		fmt.Fprintf(w, "  log account %s may listen to the broker's log\n", cfg.Log.Username)
		return nil
	}
	fmt.Fprintf(w, "  PROBLEM log account %s: %s\n    fix: %s\n", cfg.Log.Username, why, remedy)
	return errors.New("its log cannot be followed")
}
