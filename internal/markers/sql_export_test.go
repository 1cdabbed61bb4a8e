package markers

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
