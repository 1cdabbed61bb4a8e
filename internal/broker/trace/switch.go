package trace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"dedup-dashboard/internal/broker"
)

// nodes are the management APIs of all nodes of a broker, each of which traces by itself.
type nodes []*broker.Client

// openNodes connects to nothing.
func openNodes(config broker.Config, account broker.Measure) (nodes, error) {
	var all nodes
	for _, root := range account.ManagementURLs {
		node, err := broker.New(broker.Config{
			Name: config.Name, ManagementURL: root, Username: account.Username, Password: account.Password, Timeout: nodeTimeout,
			CAFile: config.CAFile, CertFile: config.CertFile, KeyFile: config.KeyFile,
		})
		if err != nil {
			return nil, fmt.Errorf("the account that traces: %w", err)
		}
		all = append(all, node)
	}
	return all, nil
}

// nodeTimeout bounds each request to a node. For as long, one that was sent before we died can still be carried out.
const nodeTimeout = 8 * time.Second

func (n nodes) close() {
	for _, node := range n {
		node.Close()
	}
}

// find returns a vhost as a node describes it; false where there is none.
func find(ctx context.Context, node *broker.Client, vhost string) (broker.Vhost, bool, error) {
	all, err := node.Vhosts(ctx)
	if err != nil {
		return broker.Vhost{}, false, err
	}
	i := slices.IndexFunc(all, func(v broker.Vhost) bool { return v.Name == vhost })
	if i < 0 {
		return broker.Vhost{}, false, nil
	}
	return all[i], true, nil
}

// on switches the tracing of a vhost on at every node, and sees that it is. After an error it may be on at some.
func (n nodes) on(ctx context.Context, vhost string) error {
	for _, node := range n {
		v, ok, err := find(ctx, node, vhost)
		if err == nil && !ok {
			err = fmt.Errorf("vhost %s is gone", broker.Quote(vhost))
		}
		if err == nil {
			err = node.SetTracing(ctx, v, true)
		}
		if err != nil {
			return err
		}
		if v, _, err = find(ctx, node, vhost); err != nil {
			return err
		}
		if !v.Tracing {
			return fmt.Errorf("%s does not trace though it was told to: something in front of it may lead to another node", node.Place())
		}
	}
	return nil
}

// off switches the tracing of a vhost off wherever it is on. A vhost that is gone is left alone: to switch it off would make it anew.
func (n nodes) off(ctx context.Context, vhost string) error {
	var failed []error
	for _, node := range n {
		v, ok, err := find(ctx, node, vhost)
		if err == nil && ok && v.Tracing {
			err = node.SetTracing(ctx, v, false)
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// offForGood switches off, and looks again until nothing that was sent before can switch on any more. It tries on while a node does not
// answer, until ctx ends. It tells when all were seen off for the first time.
func (n nodes) offForGood(ctx context.Context, vhost string, looks []time.Duration, off func()) error {
	const slowest = 15 * time.Second
	wait, failed := 250*time.Millisecond, error(nil)
	for seen := 0; ; {
		if failed = n.off(ctx, vhost); failed == nil {
			if seen++; seen == 1 {
				off()
			}
			if seen > len(looks) {
				return nil
			}
			wait = looks[seen-1]
		} else {
			wait = min(2*wait, slowest)
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), failed)
		case <-time.After(wait):
		}
	}
}
