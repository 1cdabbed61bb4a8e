package servers

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// findPostgres returns the folder of the server's programs, as seen from within the root. Debian keeps one for every major version,
// outside of the path; the newest is taken.
func findPostgres(within root) (string, error) {
	newest, folder := 0, ""
	found, err := filepath.Glob(string(within) + "/usr/lib/postgresql/*/bin/postgres")
	if err != nil {
		return "", err
	}
	for _, program := range found {
		bin := filepath.Dir(strings.TrimPrefix(program, string(within)))
		if major, err := strconv.Atoi(filepath.Base(filepath.Dir(bin))); err == nil && major > newest {
			newest, folder = major, bin
		}
	}
	if folder != "" {
		return folder, nil
	}
	program, ok := within.find("postgres")
	if !ok {
		return "", fmt.Errorf("postgres is missing%s: install PostgreSQL (Debian and Ubuntu: apt-get install postgresql)", within.place())
	}
	if within == "" {
		if program, err = filepath.EvalSymlinks(program); err != nil {
			return "", err
		}
	}
	return filepath.Dir(program), nil
}

// unprivileged returns the account that PostgreSQL runs under when we are root, as which it refuses to run: postgres,
// else nobody. It returns nil when we are not root.
func unprivileged() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		if account, err = user.Lookup("nobody"); err != nil {
			return nil, errors.New("PostgreSQL refuses to run as root, and there is neither an account postgres nor nobody")
		}
	}
	uid, err := strconv.ParseUint(account.Uid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("account %s: %w", account.Username, err)
	}
	gid, err := strconv.ParseUint(account.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("account %s: %w", account.Username, err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

// passable says which of the folders above keeps others out.
func passable(dir string) error {
	for parent := filepath.Dir(dir); ; parent = filepath.Dir(parent) {
		info, err := os.Stat(parent)
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o001 == 0 {
			return fmt.Errorf("the account of PostgreSQL cannot pass through %s: use a folder directly under %s", parent, os.TempDir())
		}
		if parent == filepath.Dir(parent) {
			return nil
		}
	}
}
