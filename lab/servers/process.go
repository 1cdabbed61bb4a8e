// Package servers starts private RabbitMQ, Redis, MariaDB, PostgreSQL and Alertmanager servers on free loopback ports, for tests
// and for the playground.
//
// Every server keeps all its files in one folder, dies with the process that started it (on Linux), and is stopped by
// the process id that we started, never by name: servers of the machine and of other tests are left alone.
package servers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Process is one child process in a process group of its own, which on Linux is killed when its parent dies.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error // valid once done is closed
}

// StartProcess starts cmd in a process group of its own, so that a Ctrl-C in the terminal reaches only the parent,
// which stops its children in order. Cmd must not have been started; the account that it asks for is kept.
func StartProcess(cmd *exec.Cmd) (*Process, error) {
	attributes := childAttributes()
	if cmd.SysProcAttr != nil {
		attributes.Credential = cmd.SysProcAttr.Credential
	}
	cmd.SysProcAttr = attributes
	// A grandchild may hold the output pipe open after the child has ended; Wait must not hang on it.
	cmd.WaitDelay = 2 * time.Second
	p := &Process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		// The parent-death signal is tied to the thread that forked, so that thread must live as long as the child.
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
			// Helpers of the child that outlive it would keep its port or folder. Later the group's number may be another's.
			p.signalGroup(syscall.SIGKILL)
		}
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	return p, nil
}

// PID is the process id of the child.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the child has ended and was reaped.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err is how the child ended; it is meaningful after Done is closed and nil for exit code 0.
func (p *Process) Err() error {
	select {
	case <-p.done:
		return p.err
	default:
		return nil
	}
}

// Kill ends the child and its process group at once and waits until the child is reaped. It does nothing to a child that
// was reaped already: its number may belong to another process by then.
func (p *Process) Kill() {
	select {
	case <-p.done:
	default:
		p.signalGroup(syscall.SIGKILL)
		<-p.done
	}
}

// Stop asks the child to end with SIGTERM, and kills its process group when ctx ends first. The error says that the
// child had to be killed; a child that had already ended is no error.
func (p *Process) Stop(ctx context.Context) error { return p.stopBy(ctx, syscall.SIGTERM) }

// stopBy is Stop with the signal that the child understands as a request to end soon.
func (p *Process) stopBy(ctx context.Context, request syscall.Signal) error {
	select {
	case <-p.done:
		return nil
	default:
	}
	if err := p.cmd.Process.Signal(request); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.Kill()
		return fmt.Errorf("stop %s (pid %d): %w", p.cmd.Path, p.PID(), err)
	}
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		p.Kill()
		return fmt.Errorf("stop %s (pid %d): killed, it did not end in time: %w", p.cmd.Path, p.PID(), ctx.Err())
	}
}

func (p *Process) signalGroup(sig syscall.Signal) {
	// An error means that nobody of the group is left, which is what the callers want.
	_ = syscall.Kill(-p.PID(), sig)
}

// output returns a writer for a child's output: the file name in append mode, and extra if it is not nil.
func output(name string, extra io.Writer) (w io.Writer, closeFile func() error, err error) {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("open the server's log: %w", err)
	}
	if extra == nil {
		return file, file.Close, nil
	}
	return io.MultiWriter(file, extra), file.Close, nil
}

// tail returns the last bytes of a log file, for error messages.
func tail(name string) string {
	const limit = 3000
	data, err := os.ReadFile(name)
	if err != nil {
		return "(no log: " + err.Error() + ")"
	}
	if len(data) > limit {
		data = data[len(data)-limit:]
	}
	return string(data)
}

// poll calls ready until it returns nil, ctx ends, or the child ends; the error then carries the last answer of ready.
func poll(ctx context.Context, child *Process, ready func(context.Context) error) error {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		attempt, cancel := context.WithTimeout(ctx, 10*time.Second)
		err := ready(attempt)
		cancel()
		if err == nil {
			return nil
		}
		select {
		case <-child.Done():
			return fmt.Errorf("the process ended: %w", errors.Join(child.Err(), err))
		case <-ctx.Done():
			return fmt.Errorf("%w: last answer: %w", ctx.Err(), err)
		case <-ticker.C:
		}
	}
}
