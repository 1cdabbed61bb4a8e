package sql

// MySQLInsertRefusal is mysqlInsertRefusal, for clusters that no test starts.
func MySQLInsertRefusal(set map[string]string) string {
	return mysqlInsertRefusal("id", true, "InnoDB", set)
}
