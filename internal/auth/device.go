package auth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"time"
)

// DeviceLife is for how long a browser is known as one that signed in to an account.
const DeviceLife = 180 * 24 * time.Hour

const (
	deviceNonce = 16
	deviceSize  = deviceNonce + 8 + sha256.Size
)

// devices makes and knows the marks that a browser gets when somebody signs in with it. A mark lets nobody in: it says that this browser
// was let in to this account before, so that its attempts are not delayed for those of others, who may share its address or guess at the
// same account. Nothing is stored: a mark carries its proof. It is safe for concurrent use.
type devices struct{ key []byte }

// mark returns a new mark for an account.
func (d devices) mark(account string, now time.Time) string {
	b := make([]byte, deviceNonce, deviceSize)
	_, _ = rand.Read(b) // never fails (crypto/rand since Go 1.24)
	b = binary.BigEndian.AppendUint64(b, uint64(now.Unix()))
	return base64.RawURLEncoding.EncodeToString(append(b, d.proof(account, b)...))
}

// known returns what tells the mark from others, and empty if it is none of this account, or too old.
func (d devices) known(mark, account string, now time.Time) string {
	if len(mark) != base64.RawURLEncoding.EncodedLen(deviceSize) {
		return ""
	}
	b, err := base64.RawURLEncoding.DecodeString(mark)
	if err != nil || len(b) != deviceSize {
		return ""
	}
	signed, proof := b[:deviceNonce+8], b[deviceNonce+8:]
	made := time.Unix(int64(binary.BigEndian.Uint64(signed[deviceNonce:])), 0)
	if !hmac.Equal(proof, d.proof(account, signed)) || now.Before(made.Add(-time.Hour)) || now.Sub(made) > DeviceLife {
		return ""
	}
	return string(signed[:deviceNonce])
}

func (d devices) proof(account string, signed []byte) []byte {
	h := hmac.New(sha256.New, d.key)
	h.Write(signed) // of one length always
	h.Write([]byte(account))
	return h.Sum(nil)
}
