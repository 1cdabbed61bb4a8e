// Package events follows the notifications of a store's keys and makes counts of claims, completions and failures of them.
package events
