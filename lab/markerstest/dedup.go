package markerstest

// DedupTables are message_dedup as consumers make it (D1), by driver.
var DedupTables = map[string]string{
	"mysql": `CREATE TABLE message_dedup (id BIGINT AUTO_INCREMENT PRIMARY KEY, message_id VARCHAR(64) NOT NULL UNIQUE,
		business_key VARCHAR(128), status TINYINT NOT NULL DEFAULT 0, result TEXT, created_at DATETIME DEFAULT CURRENT_TIMESTAMP,
		updated_at DATETIME DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP)`,
	"postgres": `CREATE TABLE message_dedup (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, message_id VARCHAR(64) NOT NULL UNIQUE,
		business_key VARCHAR(128), status SMALLINT NOT NULL DEFAULT 0, result TEXT, created_at TIMESTAMP DEFAULT now(), updated_at TIMESTAMP DEFAULT now())`,
}

// WatchGrants are the grants of docs/stores.md for watching, by driver.
var WatchGrants = map[string][]string{
	"mysql":    {"GRANT SELECT (id, message_id, business_key, status, created_at, updated_at) ON message_dedup TO ACCOUNT"},
	"postgres": {"GRANT SELECT (id, message_id, business_key, status, created_at, updated_at) ON message_dedup TO ACCOUNT"},
}

// DriverName is what the tests call the server of a driver.
func DriverName(driver string) string {
	if driver == "mysql" {
		return "mariadb"
	}
	return driver
}
