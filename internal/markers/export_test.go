package markers

// OpenSQLActor is openSQLActor for tests.
var OpenSQLActor = openSQLActor
