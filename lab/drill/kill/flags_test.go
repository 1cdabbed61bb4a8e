package kill

import "flag"

// The flags of the longer runs; see the documentation of the package.
var (
	kills    = flag.Int("kills", 3, "how often the dashboard is killed, in all rounds together")
	rounds   = flag.Int("rounds", 1, "how many lots are requeued one after the other")
	messages = flag.Int("messages", 10_000, "how many dead letters a lot has")
	ledgers  = flag.String("ledgers", "", "a folder to write the ledger of every lot to, message by message; empty for none")
	rate     = flag.Float64("rate", 4000, "how many messages are requeued per second, so that kills land in the middle")
)
