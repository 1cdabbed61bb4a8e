package secret

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestTheKeyOfAnInstallationIsMadeOnceAndReadableToItsUserAlone(t *testing.T) {
	dir := t.TempDir()
	if _, err := ReadInstallation(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("there is no key yet: %v", err)
	}
	first, err := OpenInstallation(dir)
	if err != nil || !first.Fresh {
		t.Fatalf("fresh %t, %v", first.Fresh, err)
	}
	again, err := OpenInstallation(dir)
	if err != nil || again.Fresh || !bytes.Equal(first.Key("a"), again.Key("a")) {
		t.Errorf("the second start: fresh %t, same %t, %v", again.Fresh, bytes.Equal(first.Key("a"), again.Key("a")), err)
	}
	info, err := os.Stat(filepath.Join(dir, InstallationFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("it left more than the key: %v", files)
	}
}

func TestTwoStartsAtOnceGetTheSameKey(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	keys := make([]string, 16)
	fresh := make([]bool, 16)
	for n := range keys {
		wg.Go(func() {
			key, err := OpenInstallation(dir)
			if err != nil {
				t.Error(err)
			}
			keys[n], fresh[n] = string(key.Key("a")), key.Fresh
		})
	}
	wg.Wait()
	made := 0
	for n := range keys {
		if keys[n] != keys[0] || keys[n] == "" {
			t.Fatal("two keys")
		}
		if fresh[n] {
			made++
		}
	}
	if made != 1 {
		t.Errorf("%d say that they made it", made)
	}
}

func TestEachUseHasAKeyOfItsOwnThatNeverChanges(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, InstallationFile), []byte(strings.Repeat("0b", KeyLength)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	key, err := ReadInstallation(dir)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(key.Key("a"), key.Key("b")) || len(key.Key("a")) != KeyLength {
		t.Error("two labels, one key")
	}
	// Computed once by hand with HMAC alone (RFC 5869): the derivation must never change under a chain that was written with it.
	if got := hex.EncodeToString(key.Key("audit chain")); got != "d3b145f7dbe5b7992e72202207405c625ab261d5c7e153adda1b7c9d10181baf" {
		t.Errorf("the derived key is %s", got)
	}
	if (Installation{}).Key("a") != nil {
		t.Error("no installation has a key")
	}
}

func TestAFileThatHoldsNoKeyIsNamedAndKept(t *testing.T) {
	for name, text := range map[string]string{"empty": "", "cut off": "00ff", "not hexadecimal": strings.Repeat("zz", KeyLength), "too long": strings.Repeat("00", KeyLength+1)} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, InstallationFile)
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := OpenInstallation(dir)
			if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "backup") {
				t.Errorf("error is %v", err)
			}
			if b, _ := os.ReadFile(path); string(b) != text {
				t.Error("the file was replaced")
			}
		})
	}
}

func TestTheKeyOfAnInstallationNeverPrints(t *testing.T) {
	dir := t.TempDir()
	key, err := OpenInstallation(dir)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, InstallationFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x"} {
		if strings.Contains(fmt.Sprintf(verb, key), strings.TrimSpace(string(b))) {
			t.Errorf("%s prints the key", verb)
		}
	}
}
