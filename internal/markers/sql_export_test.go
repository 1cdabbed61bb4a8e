package markers

import "context"

// Bounds of an action on a row.
const (
	ActConns       = actConns
	StatementLimit = statementLimit
)

// KnowsTable says whether an actor of rows remembers its table.
func KnowsTable(a Actor) bool {
	actor := a.(*sqlActor)
	actor.mu.Lock()
	defer actor.mu.Unlock()
	return actor.known != nil
}

// HideTriggers makes an actor of rows see no trigger, as MySQL does without the right TRIGGER; MariaDB shows them all.
func HideTriggers(a Actor) {
	actor := a.(*sqlActor)
	actor.d = withoutTriggers{actor.d}
}

type withoutTriggers struct{ actDialect }

func (withoutTriggers) triggers(context.Context, querier, *sqlTable) (map[string]string, error) {
	return nil, nil
}
