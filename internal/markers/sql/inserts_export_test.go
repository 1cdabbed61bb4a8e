package sql

// CountedStatements is the query of what pg_stat_statements counted, of an extension in public, with the next id that it is to ask for.
func CountedStatements(next string) string {
	return "SELECT " + countedStatements("public.", next, true, "true")
}

// MySQLInsertRefusal is mysqlInsertRefusal, for clusters that no test starts.
func MySQLInsertRefusal(set map[string]string) string {
	return mysqlInsertRefusal("id", true, "InnoDB", set)
}
