// Package act changes markers that are rows of a table, one at a time, and proves what was changed.
package act
