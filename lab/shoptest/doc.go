// Package shoptest simulates a shop whose broker counts late and loses counts, with a ledger of the truth.
package shoptest
