package dedup

// The strategies by which RabbitMQ dead-letters, as it writes them. Disabled means that the message was discarded: it is lost.
const (
	StrategyDisabled    = "disabled"
	StrategyAtMostOnce  = "at_most_once"
	StrategyAtLeastOnce = "at_least_once"
)

// DeathStrategies returns the strategies of dead-lettering.
func DeathStrategies() []string {
	return []string{StrategyDisabled, StrategyAtMostOnce, StrategyAtLeastOnce}
}

// A DeathKey is the reason and the strategy of deaths.
type DeathKey struct{ Reason, Strategy string }

// NodeDeaths is what the Prometheus plugin of one node says of the messages that died there, of all queues and virtual hosts.
// The counts are cumulative and begin anew with the node.
type NodeDeaths struct {
	URL string
	// Err says why the node could not be read; Counts is nil then. A key that the node does not count is absent.
	Err    string
	Counts map[DeathKey]int64
}

// BrokerDeaths are the dead letters of a whole broker in the last hour.
type BrokerDeaths struct {
	Reasons []ReasonDeaths
	// Discarded counts messages that died in queues without a working dead-letter exchange: they are lost.
	Discarded Figure
}

// ReasonDeaths are the dead letters per hour of one reason.
type ReasonDeaths struct {
	Reason  string
	PerHour Figure
}
