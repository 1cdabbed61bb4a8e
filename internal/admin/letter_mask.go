package admin

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/mask"
)

// masked returns a letter without what is hidden, and what was read of the exception from what is shown. The letter itself is not changed.
func masked(m *mask.Masker, l Letter) Letter {
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

// MaskWords returns the words that hide: the built-in ones, or those of `mask`, with what `mask_add` adds and without what `mask_remove`
// takes away.
func (c DeadLettersConfig) MaskWords() []string {
	words := c.Mask
	if words == nil {
		words = mask.Words()
	}
	words = slices.Concat(words, c.MaskAdd)
	return slices.DeleteFunc(words, func(w string) bool {
		return slices.ContainsFunc(c.MaskRemove, func(gone string) bool { return mask.SameWord(w, gone) })
	})
}

// checkMask says what is wrong with the lists of words.
func (c DeadLettersConfig) checkMask() error {
	for key, words := range map[string][]string{"mask": c.Mask, "mask_add": c.MaskAdd} {
		if i := slices.IndexFunc(words, func(w string) bool { return !mask.IsWord(w) }); i >= 0 {
			return fmt.Errorf("%s[%d]: %q has no letter or digit; write a word of the names whose values are hidden", key, i, words[i])
		}
	}
	all := c
	all.MaskRemove = nil
	for i, gone := range c.MaskRemove {
		if !slices.ContainsFunc(all.MaskWords(), func(w string) bool { return mask.SameWord(w, gone) }) {
			return fmt.Errorf("mask_remove[%d]: %q hides nothing, so it cannot be taken away; write a word of the list as it stands in config.example.yaml", i, gone)
		}
	}
	return nil
}

// keyedHash returns the hash of a body as the audit holds it.
func keyedHash(key dedup.RefKey, hash string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(hash))
	return hex.EncodeToString(mac.Sum(nil))
}
