package markers

import (
	"time"

	"dedup-dashboard/internal/dedup"
)

// The presets of kind sql-table.
const (
	presetStatusCode   = "sql-status-code"
	presetStatusName   = "sql-status-name"
	PresetUniqueRow    = "sql-unique-row"
	PresetStateMachine = "sql-state-machine"
)

func sqlPresets() []preset {
	return []preset{
		{presetStatusCode, sqlStatusCode},
		{presetStatusName, sqlStatusName},
		{PresetUniqueRow, sqlUniqueRow},
		{PresetStateMachine, sqlStateMachine},
	}
}

// sqlStatusCode: INSERT INTO message_dedup with status 0, commit, work, UPDATE to 1, or to 2 after a failure. Whatever the
// status of a row, its message is acked.
func sqlStatusCode() Config {
	return Config{
		Kind: SQLTable, SQL: SQL{Driver: MySQL}, Table: "message_dedup",
		Columns: Columns{
			ID: ColumnList{"message_id"}, BusinessKey: "business_key", Status: "status",
			Created: "created_at", Updated: "updated_at", AutoIncrement: "id",
		},
		States: map[dedup.State][]string{dedup.Processing: {"0"}, dedup.Done: {"1"}, dedup.Failed: {"2"}},
		Mark:   "before", OnInFlight: "ack", OnFail: "ack", InsertFirst: true, Acks: acksEach,
	}
}

// sqlStatusName: the same with names for statuses and without a time of the last change. A failed row is kept, and its
// message goes to the dead-letter queue.
func sqlStatusName() Config {
	return Config{
		Kind: SQLTable, SQL: SQL{Driver: MySQL}, Table: "consumed_messages",
		Columns: Columns{
			ID: ColumnList{"message_id"}, BusinessKey: "biz_id", Status: "status", Created: "create_time", AutoIncrement: "id",
		},
		States: map[dedup.State][]string{dedup.Processing: {"PROCESSING"}, dedup.Done: {"SUCCESS"}, dedup.Failed: {"FAILED"}},
		Mark:   "before", OnInFlight: "ack", OnFail: "keep", InsertFirst: true, Acks: acksEach,
	}
}

// sqlUniqueRow: the work itself inserts a row whose unique key is the message's. A second delivery waits for the first
// one's transaction, then finds the row; a failure rolls it back.
func sqlUniqueRow() Config {
	return Config{
		Kind: SQLTable, SQL: SQL{Driver: MySQL}, Table: "t_points",
		Columns: Columns{ID: ColumnList{"order_id"}, Created: "create_time"},
		// No delivery ever meets a row in flight, so that on_inflight has nothing to say.
		Mark: "after", OnFail: "delete", Transactional: true, Acks: acksEach,
	}
}

// sqlStateMachine: a business row whose status only moves forward. Which statuses there are must be declared: terminal
// and transitions.
func sqlStateMachine() Config {
	return Config{
		Kind: SQLTable, SQL: SQL{Driver: MySQL}, Table: "orders",
		Columns:    Columns{ID: ColumnList{"order_id"}, Status: "status", Updated: "updated_at"},
		StuckAfter: 15 * time.Minute,
		// A delivery that comes too late finds the row beyond its step: it fails and is requeued.
		Mark: "after", OnInFlight: "nack", OnFail: "keep", Acks: acksEach,
	}
}
