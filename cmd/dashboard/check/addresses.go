package check

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"

	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/broker/amqp"
	"dedup-dashboard/internal/dedup"
)

// tryManagement asks each of several addresses of a broker's management API, of which the next is needed only once one is away. Its error says which
// must be corrected.
func tryManagement(ctx context.Context, w io.Writer, cfg broker.Config) error {
	all := cfg.Management()
	if len(all) < 2 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	var failed []string
	for _, address := range all {
		alone := cfg
		alone.ManagementURL, alone.ManagementURLs = address, nil
		client, err := broker.New(alone)
		if err != nil {
			return err
		}
		node, err := client.Node(ctx)
		client.Close()
		if err != nil {
			fmt.Fprintf(w, "  PROBLEM management_urls: %s: %s\n", address, dedup.PublicText(err))
			failed = append(failed, "management_urls: "+address)
			continue
		}
		fmt.Fprintf(w, "  management at %s: node %s\n", address, node)
	}
	return toFix(failed)
}

// tryNodes connects to each of several AMQP addresses of the acting account, in a vhost of one of its pipelines. Its error says which must be corrected.
func tryNodes(ctx context.Context, w io.Writer, cfg broker.Config, vhost string) error {
	all := cfg.Act.Addresses()
	if len(all) < 2 {
		return nil
	}
	mover, err := amqp.OpenMover(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer mover.Close()
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	var failed []string
	away := mover.Reach(ctx, vhost)
	for _, address := range slices.Sorted(maps.Keys(away)) {
		fmt.Fprintf(w, "  PROBLEM act.amqp_urls: %s\n", dedup.PublicText(away[address]))
		failed = append(failed, "act.amqp_urls: "+address)
	}
	fmt.Fprintf(w, "  acting account %s reaches %d of %d nodes\n", cfg.Act.Username, len(all)-len(away), len(all))
	return toFix(failed)
}
