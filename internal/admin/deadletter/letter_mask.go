package deadletter

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"

	"dedup-dashboard/internal/mask"
	"dedup-dashboard/internal/message"
)

// Masked returns a letter without what is hidden, and what was read of the exception from what is shown. The letter itself is not changed.
func Masked(m *mask.Masker, l Letter) Letter {
	shown := m.Message(l.Message)
	l.Message = shown.Message
	if shown.Why != "" {
		l.Hidden = shown.Why
	}
	if l.Masked = l.Masked || shown.Changed; shown.Names != nil {
		l.MaskedNames = shown.Names
	}
	readable := shown.Message
	readable.Headers = shown.Readable
	l.Exception, l.Failure = exceptionOf(readable)
	return l
}

// KeyedHash returns the hash of a body as the audit holds it.
func KeyedHash(key message.RefKey, hash string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(hash))
	return hex.EncodeToString(mac.Sum(nil))
}
