package session

import (
	"testing"

	"dedup-dashboard/internal/auth"
)

func TestANewPasswordEndsTheSessionsOfTheOldOne(t *testing.T) {
	if p := proof(auth.User{PasswordHash: "a"}); p == proof(auth.User{PasswordHash: "b"}) {
		t.Error("a new password does not change the proof")
	}
}
