package auth

import (
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"
)

func TestHashesAreArgon2idWithTheDocumentedCostAndNeverEqual(t *testing.T) {
	a, err := HashPassword(password)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := HashPassword(password)
	if !strings.HasPrefix(a, "$argon2id$v=19$m=19456,t=2,p=1$") || a == b {
		t.Errorf("%s and %s", a, b)
	}
	if !verify(a, password) || verify(a, password+"x") || verify(a, "") {
		t.Error("verify is wrong")
	}
}

func TestHashesOfOtherSystemsAreAccepted(t *testing.T) {
	// A well-known vector: the password is password and the salt somesalt, at 64 MiB and two passes.
	const reference = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"
	if !verify(reference, "password") || verify(reference, "passwore") {
		t.Error("a hash of the reference implementation is not verified")
	}
	bc, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	if !verify(string(bc), password) || verify(string(bc), "other password") {
		t.Error("bcrypt is not verified")
	}
	long := strings.Repeat("a", 72)
	bc, _ = bcrypt.GenerateFromPassword([]byte(long), bcrypt.MinCost)
	if verify(string(bc), long+"anything") {
		t.Error("bcrypt ignores what follows 72 bytes")
	}
}

func TestHashesThatCannotBeUsedAreNamed(t *testing.T) {
	good, _ := HashPassword(password)
	for name, hash := range map[string]string{
		"empty": "", "plain": password, "too much memory": strings.Replace(good, "m=19456", "m=9999999", 1),
		"no passes": strings.Replace(good, "t=2", "t=0", 1), "too many passes": strings.Replace(good, "t=2", "t=99", 1),
		"no lanes": strings.Replace(good, "p=1", "p=0", 1), "too little memory": strings.Replace(good, "m=19456", "m=4", 1),
		"another variant": strings.Replace(good, "argon2id", "argon2i", 1), "cut off": good[:60], "half bcrypt": "$2a$10$abc",
	} {
		if checkHash(hash) == nil || verify(hash, password) {
			t.Errorf("%s: accepted", name)
		}
	}
}

func FuzzVerifyNeverPanics(f *testing.F) {
	f.Add("$argon2id$v=19$m=8,t=1,p=1$c29tZXNhbHQ$AAAAAAAAAAAAAAAAAAAAAA", "x")
	f.Add("$2a$04$abcdefghijklmnopqrstuv", "x")
	f.Fuzz(func(t *testing.T, hash, pw string) {
		if h, err := parseArgon(hash); err == nil && h.memory > 1024 {
			return // too slow to repeat
		}
		if isBcrypt(hash) {
			return
		}
		_ = verify(hash, pw)
	})
}

func TestPasswordsNeedTwelveCharactersAndNothingElse(t *testing.T) {
	for pw, ok := range map[string]bool{
		"elevenchars": false, "twelve chars": true, "aaaaaaaaaaaa": true, "密码密码密码密码密码密码": true, "密码密码密码": false,
		strings.Repeat("a", 1025): false, "": false,
	} {
		if err := CheckPassword(pw, "ann"); (err == nil) != ok {
			t.Errorf("%q: %v", pw, err)
		}
	}
	if CheckPassword("administrator", "Administrator") == nil {
		t.Error("the name is accepted as password")
	}
}
