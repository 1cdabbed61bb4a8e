package deadletter

import (
	"fmt"
	"slices"

	"dedup-dashboard/internal/mask"
)

// A Config is the section `admin` of the configuration.
type Config struct {
	// OperatorLimit is the most messages that an operator may requeue with one job: 100 unless configured.
	OperatorLimit int `yaml:"operator_limit"`
	// Mask are the words that hide the values of JSON members and headers whose names hold them; MaskWords unless configured. MaskAdd are
	// more of them, MaskRemove those that do not count.
	Mask       []string `yaml:"mask"`
	MaskAdd    []string `yaml:"mask_add"`
	MaskRemove []string `yaml:"mask_remove"`
}

// DefaultOperatorLimit is the most messages that an operator may requeue with one job unless another limit is configured.
const DefaultOperatorLimit = 100

// Validate says what is wrong with the section.
func (c Config) Validate() error {
	if c.OperatorLimit < 0 || c.OperatorLimit > MaxScan {
		return fmt.Errorf("operator_limit is %d; write the most messages that an operator may requeue at once, up to %d", c.OperatorLimit, MaxScan)
	}
	return c.checkMask()
}

// MaskWords returns the words that hide: the built-in ones, or those of `mask`, with what `mask_add` adds and without what `mask_remove`
// takes away.
func (c Config) MaskWords() []string {
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
func (c Config) checkMask() error {
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
