package servers

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

// A root is the folder of another Debian, whose servers are started instead of the machine's, as scripts/servers makes it; the empty
// one is the machine's own. To start a server of another needs root.
type root string

// rootOf returns the root of a kind of server: the option, else what the environment says, as in RABBITMQ_ROOT.
func rootOf(option, kind string) (root, error) {
	folder := cmp.Or(option, os.Getenv(kind+"_ROOT"))
	if folder == "" {
		return "", nil
	}
	if folder, err := filepath.EvalSymlinks(folder); err != nil || folder == "/" {
		return "", fmt.Errorf("%s_ROOT: no root folder of another Debian (scripts/servers makes one): %w", kind, cmp.Or(err, os.ErrInvalid))
	}
	if os.Geteuid() != 0 {
		return "", fmt.Errorf("%s_ROOT: only root can start a server within %s", kind, folder)
	}
	absolute, err := filepath.Abs(folder)
	return root(absolute), err
}

// find returns the first of some programs, each named by its path or by its name in the path.
func (r root) find(names ...string) (string, bool) {
	for _, name := range names {
		switch {
		case r == "":
			if found, err := exec.LookPath(name); err == nil {
				return found, true
			}
		case filepath.IsAbs(name):
			if executable(string(r) + name) {
				return name, true
			}
		default:
			for _, folder := range []string{"/usr/sbin/", "/usr/bin/"} {
				if executable(string(r) + folder + name) {
					return folder + name, true
				}
			}
		}
	}
	return "", false
}

func executable(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// place says where a program was looked for, as an end of "is missing".
func (r root) place() string {
	if r == "" {
		return ""
	}
	return " in " + string(r)
}

// path is what programs are looked for in.
func (r root) path() string {
	if r == "" {
		return os.Getenv("PATH")
	}
	return "/usr/sbin:/usr/bin:/sbin:/bin"
}

// enter mounts what a server needs besides its programs, for itself alone: nothing stays mounted when it has ended, however it ended. Its
// folder, and those of other tests, have the same names within.
const enter = `set -e
root=$1 dir=$2
shift 2
mount --rbind /proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --bind /etc/hosts "$root/etc/hosts"
mount --rbind /tmp "$root/tmp"
mkdir -p "$root$dir"
mount --bind "$dir" "$root$dir"
exec chroot "$root" env --chdir="$dir" "$@"`

// command is a program with a working folder, run within the root under an account, ours where it is nil. The process is the program's.
func (r root) command(ctx context.Context, dir string, account *syscall.Credential, program string, args ...string) *exec.Cmd {
	if r == "" {
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.Dir = dir
		if account != nil {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: account}
		}
		return cmd
	}
	line := []string{"--mount", "--", "sh", "-c", enter, "sh", string(r), dir}
	if account != nil {
		// A change of the account takes the signal away that StartProcess asked for.
		line = append(line, "setpriv", "--reuid="+strconv.Itoa(int(account.Uid)), "--regid="+strconv.Itoa(int(account.Gid)),
			"--clear-groups", "--pdeathsig=KILL", "--")
	}
	return exec.CommandContext(ctx, "unshare", append(append(line, program), args...)...)
}
