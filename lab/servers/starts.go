package servers

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// startServer starts cmd as StartProcess does, and first appends a line with the kind of server and the program that starts it to the
// file that the environment's SERVER_STARTS names, if it names one: scripts/test counts them.
func startServer(kind string, cmd *exec.Cmd) (*Process, error) {
	if name := os.Getenv("SERVER_STARTS"); name != "" {
		file, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, fmt.Errorf("note the start of %s: %w", kind, err)
		}
		_, err = fmt.Fprintln(file, kind, os.Args[0])
		if err := errors.Join(err, file.Close()); err != nil {
			return nil, fmt.Errorf("note the start of %s: %w", kind, err)
		}
	}
	return StartProcess(cmd)
}
