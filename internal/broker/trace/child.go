package trace

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

const (
	guardStart = 20 * time.Second
	guardStop  = 5 * time.Second
)

// A child is the guard of a trace, as the process that it guards sees it.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	// ended is closed when it has ended.
	ended chan struct{}
}

// startGuard starts the guard, and returns once it will switch off whatever becomes of us.
func startGuard(command []string, o order) (*child, error) {
	if len(command) == 0 {
		return nil, errors.New("start the guard of a trace: no command is known for it")
	}
	text, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("start the guard of a trace: %w", err)
	}
	c := &child{cmd: exec.Command(command[0], command[1:]...), ended: make(chan struct{})}
	c.cmd.Env = guardEnvironment()
	c.cmd.SysProcAttr = ownGroup() // what ends our group, as Ctrl-C does, must not end it
	var out io.ReadCloser
	if c.in, err = c.cmd.StdinPipe(); err == nil {
		if out, err = c.cmd.StdoutPipe(); err == nil {
			err = c.cmd.Start()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("start the guard of a trace: %w", err)
	}
	ready := make(chan error, 1)
	go func() {
		_, err := c.in.Write(append(text, '\n'))
		if err == nil {
			err = awaitWord(out)
		}
		ready <- err
		_, _ = io.Copy(io.Discard, out)
		_ = c.cmd.Wait()
		close(c.ended)
	}()
	select {
	case err = <-ready:
	case <-time.After(guardStart):
		err = errors.New("it did not say that it is ready")
	}
	if err != nil {
		c.kill()
		return nil, fmt.Errorf("start the guard of a trace: %w", err)
	}
	return c, nil
}

func awaitWord(out io.Reader) error {
	line, err := bufio.NewReaderSize(out, 64).ReadString('\n')
	if err != nil {
		return errors.New("it ended at once")
	}
	if line != guardReady+"\n" {
		return errors.New("it is another program")
	}
	return nil
}

// dismiss ends the guard, which has nothing more to do.
func (c *child) dismiss() {
	_, _ = io.WriteString(c.in, guardDone+"\n")
	_ = c.in.Close()
	select {
	case <-c.ended:
	case <-time.After(guardStop):
		c.kill()
	}
}

func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.in.Close()
}

// guardEnvironment is what a guard needs of ours: how to find certificates, and little memory.
func guardEnvironment() []string {
	env := []string{"GOMAXPROCS=2", "GOMEMLIMIT=32MiB"}
	for _, name := range []string{"SSL_CERT_FILE", "SSL_CERT_DIR"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}
