// Package mask hides secrets and what is personal in messages: by the names of members, headers and pairs, in JSON and in any text.
package mask
