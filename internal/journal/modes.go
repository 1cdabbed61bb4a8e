package journal

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"dedup-dashboard/internal/secret"
)

// ours are the files and folders that this program makes in a data directory. Anything else there is left alone.
func ours() []string {
	return []string{mainFile + "*", auditFile + "*", secret.InstallationFile + "*", "first-admin-link*", "series"}
}

// tighten takes from others what they may do with our files, which older versions, a backup that was put back or a
// generous umask gave them. What cannot be changed is logged: a start is not refused for it.
func tighten(dir string, log *slog.Logger) {
	if info, err := os.Stat(dir); err == nil && info.Mode().Perm()&0o022 != 0 {
		log.Warn("others may write in the data directory, and so replace what is in it: chmod go-w", "dir", dir, "mode", info.Mode().Perm().String())
	}
	var found []string
	for _, pattern := range ours() {
		// Not Glob on the whole path: the name of the directory may hold signs that mean something there.
		names, err := fs.Glob(os.DirFS(dir), pattern)
		if err != nil {
			continue
		}
		found = append(found, names...)
	}
	for _, name := range found {
		if err := tightenFile(filepath.Join(dir, name), log); err != nil && !errors.Is(err, fs.ErrNotExist) {
			log.Warn("others may read a file of the data directory, and that cannot be changed", "file", filepath.Join(dir, name), "err", err)
		}
	}
}

func tightenFile(path string, log *slog.Logger) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	mode := info.Mode().Perm()
	if mode&0o077 == 0 || !info.Mode().IsRegular() && !info.IsDir() {
		return nil
	}
	if err := os.Chmod(path, mode&^0o077); err != nil {
		return err
	}
	log.Warn("others could read a file of the data directory; now only the user of the dashboard can", "file", path, "was", mode.String())
	return nil
}
