package secret

import (
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// InstallationFile is the name of the file in the data directory that holds the key of the installation.
const InstallationFile = "installation.key"

// KeyLength is the length of the key of an installation, and of each key that is derived from it, in bytes.
const KeyLength = 32

// An Installation is the key of one installation: 256 random bits that are made at the first start and kept in a file of
// the data directory, mode 0600. Nothing uses it directly. Each use derives a key of its own with Key and a label, so that
// what one use gives away says nothing about another. It prints as Redacted. The zero value holds no key.
//
// Who can read the file can make whatever the keys make; who has only a copy of a database, a page or an export cannot.
type Installation struct {
	root Secret
	// Fresh says that the key was made by this very call of OpenInstallation.
	Fresh bool
}

// OpenInstallation returns the key of the installation in a data directory, and makes it if there is none. Two that do so
// at once get the same key. A file that holds no key is an error, never replaced: what was made with the key would not
// fit any more.
func OpenInstallation(dir string) (Installation, error) {
	key, err := ReadInstallation(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	raw := make([]byte, KeyLength)
	_, _ = rand.Read(raw) // never fails (crypto/rand since Go 1.24)
	made, err := writeInstallation(dir, hex.EncodeToString(raw)+"\n")
	if err != nil {
		return Installation{}, fmt.Errorf("make the key of the installation: %w", err)
	}
	key, err = ReadInstallation(dir)
	key.Fresh = made
	return key, err
}

// ReadInstallation returns the key of the installation in a data directory, or an error that wraps fs.ErrNotExist.
func ReadInstallation(dir string) (Installation, error) {
	path := filepath.Join(dir, InstallationFile)
	b, err := os.ReadFile(path)
	if err != nil {
		return Installation{}, fmt.Errorf("read the key of the installation: %w", err)
	}
	text := strings.TrimSpace(string(b))
	if raw, err := hex.DecodeString(text); err != nil || len(raw) != KeyLength {
		return Installation{}, fmt.Errorf("%s holds no key, which is %d hexadecimal digits; put it back from a backup. "+
			"Only if there is none, move it away: a new key is made then, and what was made with the old one cannot be checked any more", path, 2*KeyLength)
	}
	return Installation{root: New(text)}, nil
}

// writeInstallation writes the file whole and on disk, or not at all, and reports false if another one was there first.
func writeInstallation(dir, text string) (bool, error) {
	fresh, err := os.CreateTemp(dir, "."+InstallationFile+"-*") // mode 0600
	if err != nil {
		return false, err
	}
	defer func() { _ = os.Remove(fresh.Name()) }()
	_, err = fresh.WriteString(text)
	if err := errors.Join(err, fresh.Sync(), fresh.Close()); err != nil {
		return false, err
	}
	// A link, because a rename would replace the key that another process made in between. Some file systems have none.
	path := filepath.Join(dir, InstallationFile)
	err = os.Link(fresh.Name(), path)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		err = os.Rename(fresh.Name(), path)
	}
	if err != nil {
		return false, err
	}
	return true, syncDir(dir)
}

// syncDir makes the name of a new file outlive a power cut.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Key returns the key of one use, derived from that of the installation with HKDF-SHA-256. The same label always gives the
// same key; a label says what the key is for, such as "audit chain" or "hash of a body". It is nil if there is no key.
func (i Installation) Key(label string) []byte {
	root, err := hex.DecodeString(i.root.Reveal())
	if err != nil || len(root) != KeyLength {
		return nil
	}
	key, err := hkdf.Key(sha256.New, root, nil, label, KeyLength)
	if err != nil {
		return nil // never: it refuses only lengths far beyond ours
	}
	return key
}
