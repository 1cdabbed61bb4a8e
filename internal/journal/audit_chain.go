package journal

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"math"
	"time"

	"dedup-dashboard/internal/admin"
)

// chainLabel derives the key of the chain from that of the installation.
const chainLabel = "audit chain"

// link returns the hash of an entry that follows the given head; the head of an empty audit is 32 zero bytes. With a key it is
// the HMAC-SHA-256 of both, which nobody makes without the key. Without one, as in audits before there was a key, it is
// their SHA-256, which anybody makes.
func link(key, head, text []byte) []byte {
	if len(head) == 0 {
		head = make([]byte, sha256.Size)
	}
	var h hash.Hash
	if key == nil {
		h = sha256.New()
	} else {
		h = hmac.New(sha256.New, key)
	}
	h.Write(head)
	h.Write(text)
	return h.Sum(nil)
}

// A row is an entry of the chain as it is stored.
type row struct {
	number int64
	text   string
	hash   []byte
}

// lastRow returns the newest entry, whose number is 0 if there is none, and the hash of the one before it.
func lastRow(ctx context.Context, tx *sql.Tx) (last row, before []byte, err error) {
	last, there, err := one(ctx, tx, "read the newest entry", func(from scanner) (r row, err error) {
		err = from.Scan(&r.number, &r.text, &r.hash)
		return r, err
	}, "SELECT number, entry, hash FROM audit ORDER BY number DESC LIMIT 1")
	if err != nil || !there {
		return row{}, nil, err
	}
	// There is none before the first entry, or before one that Verify misses.
	before, _, err = one(ctx, tx, "read the entry before the newest", only[[]byte], "SELECT hash FROM audit WHERE number = ?", last.number-1)
	return last, before, err
}

// beginKey sees to it that the newest entry carries the key: an audit that began without one gets an entry that says so.
// From then on an entry without the key breaks the chain.
func beginKey(ctx context.Context, db *sql.DB, key []byte, fresh bool) (row, error) {
	var newest row
	err := inTx(ctx, db, func(tx *sql.Tx) error {
		last, before, err := lastRow(ctx, tx)
		if newest = last; err != nil || last.number == 0 || hmac.Equal(link(key, before, []byte(last.text)), last.hash) {
			return err
		}
		newest, err = insert(ctx, tx, key, last, keyEntry(last.number, fresh))
		return err
	})
	return newest, err
}

// keyEntry is the text of the entry from which on the chain carries the key. A key that is older than that entry is
// suspicious: whoever writes the file anew without knowing the key leaves an audit without one.
func keyEntry(before int64, fresh bool) []byte {
	phase, detail := admin.Succeeded, fmt.Sprintf("from here on each entry carries the key of the installation; the %d before carry none, and prove less", before)
	if !fresh {
		phase = admin.Uncertain
		detail = fmt.Sprintf("the key of the installation is older than this entry, and yet the %d before do not carry it: they may have been written anew by somebody without the key", before)
	}
	text, _ := json.Marshal(entryJSON{ // strings alone never fail
		At: time.Now().UTC().Format(time.RFC3339Nano), Operation: rand.Text(), Phase: phase, Who: "dashboard", Method: "start",
		Action: admin.ActionKeyAudit, Target: "audit", Detail: detail,
	})
	return text
}

// insert appends an entry after the newest one.
func insert(ctx context.Context, tx *sql.Tx, key []byte, last row, text []byte) (row, error) {
	next := row{number: last.number + 1, text: string(text), hash: link(key, last.hash, text)}
	_, err := tx.ExecContext(ctx, "INSERT INTO audit (number, entry, hash) VALUES (?, ?, ?)", next.number, next.text, next.hash)
	return next, err
}

// appendEntry appends an entry after the newest one, and reports whether that is still the one that this process wrote, or a later one.
func appendEntry(ctx context.Context, db *sql.DB, key []byte, mine row, text []byte) (next row, whole bool, err error) {
	err = inTx(ctx, db, func(tx *sql.Tx) error {
		last, _, err := lastRow(ctx, tx)
		if err != nil {
			return err
		}
		whole = last.number > mine.number || last.number == mine.number && bytes.Equal(last.hash, mine.hash)
		next, err = insert(ctx, tx, key, last, text)
		return err
	})
	return next, whole, err
}

// A walk checks a chain from its first entry on.
type walk struct {
	key  []byte // nil where there is none
	path string
	head []byte
	// count is how many entries were seen, unkeyed how many of them carry no key.
	count, unkeyed int64
}

func (w *walk) broken(format string, args ...any) error {
	return fmt.Errorf("%w: %s: "+format, append([]any{admin.ErrBroken, w.path}, args...)...)
}

// step checks the next entry.
func (w *walk) step(r row) error {
	w.count++
	if r.number != w.count {
		return w.broken("entry %d is missing", w.count)
	}
	before := w.head
	w.head = r.hash
	keyed := w.unkeyed < w.count-1
	switch {
	case w.key != nil && hmac.Equal(link(w.key, before, []byte(r.text)), r.hash):
		if !keyed && r.number > 1 && parseEntry(r.number, r.text).Action != admin.ActionKeyAudit {
			return w.broken("entry %d carries the key of the installation, and no entry says that it begins there", r.number)
		}
		return nil
	case !keyed && bytes.Equal(link(nil, before, []byte(r.text)), r.hash):
		w.unkeyed++
		return nil
	case w.key == nil:
		return w.broken("entry %d or the one before it was changed, or it carries a key: the file installation.key is not beside it", r.number)
	default:
		return w.broken("entry %d or the one before it was changed, or it was written with another key than that in installation.key", r.number)
	}
}

// end checks what only the whole chain shows: that it did not lose its key.
func (w *walk) end() error {
	if w.key != nil && w.count > 0 && w.unkeyed == w.count {
		return w.broken("no entry carries the key of the installation: all of them were written anew, or no dashboard was started since the key was made")
	}
	return nil
}

// verifyChain walks the whole chain.
func verifyChain(ctx context.Context, db *sql.DB, key []byte, path string) (admin.AuditState, error) {
	return newWalk(key, path).goOn(ctx, db)
}

func newWalk(key []byte, path string) *walk {
	return &walk{key: key, path: path, head: make([]byte, sha256.Size)}
}

// goOn walks on to the end of the chain.
func (w *walk) goOn(ctx context.Context, db *sql.DB) (admin.AuditState, error) {
	after := w.count
	if after == 0 {
		after = math.MinInt64 // what stands before the first entry does not belong there
	}
	path := w.path
	rows, err := db.QueryContext(ctx, "SELECT number, entry, hash FROM audit WHERE number > ? ORDER BY number", after)
	if err != nil {
		return admin.AuditState{}, unreadable(path, err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var r row
		switch err := rows.Scan(&r.number, &r.text, &r.hash); {
		case err != nil && ctx.Err() != nil:
			return admin.AuditState{}, unreadable(path, err)
		case err != nil: // its text may quote the entry
			return w.state(), w.broken("entry %d cannot be decoded", w.count+1)
		}
		if err := w.step(r); err != nil {
			return w.state(), err
		}
	}
	if err := rows.Err(); err != nil {
		return admin.AuditState{}, unreadable(path, err)
	}
	return w.state(), w.end()
}

func (w *walk) state() admin.AuditState {
	return admin.AuditState{Entries: w.count, Unkeyed: w.unkeyed, Head: hex.EncodeToString(w.head)}
}
