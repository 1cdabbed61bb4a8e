package text

import "strings"

// Joined writes what is said of each member of a list, with a separator between them.
func Joined[T any](all []T, separator string, each func(T) string) string {
	texts := make([]string, len(all))
	for i, one := range all {
		texts[i] = each(one)
	}
	return strings.Join(texts, separator)
}
