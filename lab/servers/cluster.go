package servers

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// A RabbitCluster is a private cluster of brokers on one machine. Its members share a port mapper, a cookie and the admin user; one that is
// stopped, killed or paused by itself leaves the others alone.
type RabbitCluster struct {
	Nodes []*RabbitMQ
	epmd  *Process
	log   func() error
}

// StartRabbitCluster starts a cluster of some nodes, each in a folder of its own within that of the options; it takes some 10 s for each.
func StartRabbitCluster(ctx context.Context, options RabbitMQOptions, nodes int) (*RabbitCluster, error) {
	for attempt := 1; ; attempt++ {
		c, err := newRabbitCluster(options, nodes)
		if err != nil {
			return nil, fmt.Errorf("start a cluster: %w", err)
		}
		if err = c.boot(ctx); err == nil {
			return c, nil
		}
		c.Kill()
		if attempt == bootAttempts || !isPortConflict(err.Error()) {
			return nil, fmt.Errorf("start a cluster: %w", err)
		}
	}
}

// newRabbitCluster lays out a cluster that is not started.
func newRabbitCluster(options RabbitMQOptions, nodes int) (*RabbitCluster, error) {
	ports, err := freePorts(nodes * portsOfNode)
	if err != nil {
		return nil, err
	}
	c := &RabbitCluster{}
	cookie := rand.Text()
	for i := range nodes {
		of := options
		of.Dir = filepath.Join(options.Dir, fmt.Sprintf("node%d", i+1))
		node, err := newRabbitMQ(of, ports[i*portsOfNode:])
		if err != nil {
			return nil, err
		}
		node.name = fmt.Sprintf("node%d@localhost", i+1)
		if i > 0 {
			node.ports.epmd, node.password = c.Nodes[0].ports.epmd, c.Nodes[0].password
		}
		if err := node.writeFiles(); err != nil {
			return nil, err
		}
		file := node.path(".erlang.cookie")
		if err := errors.Join(os.RemoveAll(file), os.WriteFile(file, []byte(cookie), 0o400)); err != nil {
			return nil, err
		}
		c.Nodes = append(c.Nodes, node)
	}
	return c, nil
}

func (c *RabbitCluster) boot(ctx context.Context) error {
	first := c.Nodes[0]
	out, closeLog, err := output(first.path("epmd.log"), nil)
	if err != nil {
		return err
	}
	c.log = closeLog
	if c.epmd, err = first.bootEPMD(ctx, out); err != nil {
		return err
	}
	for i, node := range c.Nodes {
		if err := node.boot(ctx); err != nil {
			return err
		}
		if i == 0 {
			continue
		}
		for _, args := range [][]string{{"stop_app"}, {"reset"}, {"join_cluster", first.name}, {"start_app"}} {
			if _, err := node.Ctl(ctx, args...); err != nil {
				return err
			}
		}
		if err := poll(ctx, node.node, node.isListening); err != nil {
			return err
		}
	}
	return nil
}

// Kill ends all nodes at once.
func (c *RabbitCluster) Kill() {
	for _, node := range c.Nodes {
		if node.node != nil {
			node.Resume()
			node.Kill()
		}
	}
	if c.epmd != nil {
		c.epmd.Kill()
	}
	if c.log != nil {
		_ = c.log()
	}
}

// Part cuts the connections between a node and all others, and keeps them from connecting again until Heal.
func (c *RabbitCluster) Part(ctx context.Context, node int) error {
	return c.between(ctx, node, func(other string) string {
		return fmt.Sprintf("erlang:set_cookie('%s', node()), erlang:disconnect_node('%[1]s')", other)
	})
}

// Heal lets a node that was parted connect to the others again.
func (c *RabbitCluster) Heal(ctx context.Context, node int) error {
	if err := c.between(ctx, node, func(other string) string {
		return fmt.Sprintf("erlang:set_cookie('%s', erlang:get_cookie())", other)
	}); err != nil {
		return err
	}
	return c.between(ctx, node, func(other string) string { return fmt.Sprintf("net_adm:ping('%s')", other) })
}

// between has a node and each other one that runs evaluate an expression about each other.
func (c *RabbitCluster) between(ctx context.Context, node int, of func(other string) string) error {
	var failed []error
	var ofOthers []string
	for i, other := range c.Nodes {
		if i == node || other.ended() {
			continue
		}
		ofOthers = append(ofOthers, of(other.name))
		_, err := other.Eval(ctx, of(c.Nodes[node].name)+".")
		failed = append(failed, err)
	}
	_, err := c.Nodes[node].Eval(ctx, strings.Join(ofOthers, ", ")+".")
	return errors.Join(append(failed, err)...)
}

// ended reports whether the broker's process is no more.
func (r *RabbitMQ) ended() bool {
	select {
	case <-r.node.Done():
		return true
	default:
		return false
	}
}

// Pause stops a broker without ending it, as a machine that hangs does: its connections stay open and nothing answers.
func (r *RabbitMQ) Pause() { r.node.signalGroup(syscall.SIGSTOP) }

// Resume lets a paused broker go on.
func (r *RabbitMQ) Resume() { r.node.signalGroup(syscall.SIGCONT) }

// Node is the name of the node, as the management API tells it.
func (r *RabbitMQ) Node() string { return r.name }
