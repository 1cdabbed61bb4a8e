package act

import (
	"context"

	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/sql/dialect"
)

// Bounds of an action on a row.
const (
	ActConns       = actConns
	StatementLimit = statementLimit
)

// KnowsTable says whether an actor of rows remembers its table.
func KnowsTable(a markers.Actor) bool {
	actor := a.(*actor)
	actor.mu.Lock()
	defer actor.mu.Unlock()
	return actor.known != nil
}

// HideTriggers makes an actor of rows see no trigger, as MySQL does without the right TRIGGER; MariaDB shows them all.
func HideTriggers(a markers.Actor) {
	actor := a.(*actor)
	actor.d = withoutTriggers{actor.d}
}

type withoutTriggers struct{ dialects }

func (withoutTriggers) triggers(context.Context, dialect.Querier, *dialect.Table) (map[string]string, error) {
	return nil, nil
}
