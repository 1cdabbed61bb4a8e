package sql_test

import (
	"strings"
	"testing"

	"dedup-dashboard/internal/markers/sql"
)

var mysql = sql.Table{Server: sql.MySQL, Schema: "shop", Name: "message_dedup", ID: []string{"message_id"}}

var postgres = sql.Table{Server: sql.Postgres, Schema: "public", Name: "message_dedup", ID: []string{"message_id"}}

func forms() map[sql.Form]string {
	return map[sql.Form]string{sql.Foreign: "foreign", sql.Insert: "insert", sql.InsertIgnore: "insert or nothing", sql.InsertSame: "insert or the same",
		sql.Ask: "ask", sql.Unclear: "unclear"}
}

func TestTheFormsOfDigestsAsMariaDBWritesThem(t *testing.T) {
	for _, c := range []struct {
		text, schema string
		want         sql.Form
	}{
		{"INSERT INTO `message_dedup` ( `message_id` ) VALUES (?) ", "shop", sql.Insert},
		{"INSERT INTO `message_dedup` ( `message_id` , STATUS ) VALUES (...) ", "shop", sql.Insert},
		{"INSERT INTO `message_dedup` ( `message_id` , STATUS , `created_at` ) VALUES ( ... , NOW ( ? ) ) ", "shop", sql.Insert},
		{"INSERT INTO `shop` . `message_dedup` SET `message_id` = ? , STATUS = - ? ", "other", sql.Insert},
		{"INSERT INTO `message_dedup` ( `message_id` ) VALUES (?) RETURNING ID ", "shop", sql.Insert},
		{"INSERT IGNORE INTO `message_dedup` ( `message_id` , STATUS ) VALUES (...) ", "shop", sql.InsertIgnore},
		{"INSERT LOW_PRIORITY IGNORE `message_dedup` VALUES (...) ", "shop", sql.InsertIgnore},
		{"INSERT INTO `message_dedup` ( `message_id` ) VALUES (?) ON DUPLICATE KEY UPDATE `message_id` = `message_id` ", "shop", sql.InsertSame},
		{"INSERT INTO `message_dedup` ( `message_id` ) VALUES (?) ON DUPLICATE KEY UPDATE `message_id` = VALUES ( `message_id` ) ", "shop", sql.InsertSame},
		{"INSERT INTO `message_dedup` ( `message_id` ) VALUES (?) AS NEW ON DUPLICATE KEY UPDATE `message_id` = NEW . `message_id` ", "shop", sql.InsertSame},
		{"INSERT INTO `message_dedup` ( `message_id` ) VALUES (?) ON DUPLICATE KEY UPDATE STATUS = STATUS + ? ", "shop", sql.Unclear},
		{"INSERT INTO `message_dedup` ( `message_id` ) VALUES (?) ON DUPLICATE KEY UPDATE STATUS = VALUES ( STATUS ) ", "shop", sql.Unclear},
		{"INSERT INTO `message_dedup` ( `message_id` ) VALUES (?) /* , ... */ ", "shop", sql.Unclear},
		{"INSERT INTO `message_dedup` ( `message_id` ) SELECT ? FROM DUAL WHERE NOT EXISTS ( SELECT * FROM `message_dedup` WHERE `message_id` = ? ) ", "shop", sql.Unclear},
		{"REPLACE INTO `message_dedup` ( `message_id` ) VALUES (?) ", "shop", sql.Unclear},
		{"INSERT INTO `message_dedup` ( `message_id` , `very_long` ...", "shop", sql.Unclear},
		{"SELECT STATUS FROM `message_dedup` WHERE `message_id` = ? ", "shop", sql.Ask},
		{"SELECT ? FROM `message_dedup` `m` WHERE `m` . `message_id` = ? LIMIT ? FOR UPDATE ", "shop", sql.Ask},
		{"SELECT COUNT ( * ) FROM `message_dedup` WHERE `message_id` = ? ", "shop", sql.Foreign},
		{"SELECT EXISTS ( SELECT ? FROM `message_dedup` WHERE `message_id` = ? ) ", "shop", sql.Foreign},
		{"SELECT STATUS FROM `message_dedup` WHERE `message_id` = ? OR ? = ? ", "shop", sql.Foreign},
		{"SELECT STATUS FROM `message_dedup` WHERE STATUS = ? ", "shop", sql.Foreign},
		{"SELECT STATUS FROM `message_dedup` , `orders` WHERE `message_id` = ? ", "shop", sql.Foreign},
		{"UPDATE `message_dedup` SET STATUS = ? WHERE `message_id` = ? AND STATUS = ? ", "shop", sql.Foreign},
		{"INSERT INTO `message_dedup` ( `message_id` ) VALUES (?) ", "other", sql.Foreign},
		{"INSERT INTO `other` . `message_dedup` ( `message_id` ) VALUES (?) ", "shop", sql.Foreign},
		{"INSERT INTO `message_dedup_archive` ( `message_id` ) VALUES (?) ", "shop", sql.Foreign},
		{"INSERT INTO `audit` ( `message_dedup` ) VALUES (?) ", "shop", sql.Foreign},
		{"INSERT INTO `Message_Dedup` ( `message_id` ) VALUES (?) ", "shop", sql.Foreign},
		{"INSERT INTO `message_dedup` ( `x` ) VALUES (?) -- ` VALUES (?) ", "shop", sql.Unclear},
		{"INSERT INTO `message_dedup` ( `message_id", "shop", sql.Unclear},
		{"", "", sql.Foreign},
	} {
		if got, _ := sql.Classify(mysql, c.schema, c.text); got != c.want {
			t.Errorf("%s in %s is %s, want %s", c.text, c.schema, forms()[got], forms()[c.want])
		}
	}
}

func TestTheFormsOfStatementsAsPostgreSQLKeepsThem(t *testing.T) {
	for _, c := range []struct {
		text string
		want sql.Form
	}{
		{"INSERT INTO message_dedup (message_id) VALUES ($1)", sql.Insert},
		{"INSERT INTO message_dedup (message_id) VALUES ($1) ON CONFLICT DO NOTHING", sql.InsertIgnore},
		{`insert into "public" . "message_dedup" as m (message_id) values ($1) on conflict (message_id) do nothing returning id;`, sql.InsertIgnore},
		{"INSERT /* hi /* nested */ INTO x */ INTO Message_Dedup (message_id, created_at) VALUES ($1, now()) -- why\n ON CONFLICT ON CONSTRAINT uk DO NOTHING", sql.InsertIgnore},
		{"PREPARE p (text) AS INSERT INTO message_dedup (message_id) VALUES ($1) ON CONFLICT (message_id) DO NOTHING", sql.InsertIgnore},
		{"insert into message_dedup (message_id) values ($1) on conflict (message_id) do update set message_id = excluded.message_id", sql.Unclear},
		{"INSERT INTO message_dedup (message_id) VALUES ($1), ($2) ON CONFLICT DO NOTHING", sql.Unclear},
		{"INSERT INTO message_dedup (message_id) SELECT $1 ON CONFLICT DO NOTHING", sql.Unclear},
		{"WITH ins AS (INSERT INTO message_dedup (message_id) VALUES ($1) ON CONFLICT DO NOTHING RETURNING $2) SELECT count(*) FROM ins", sql.Unclear},
		{"COPY message_dedup FROM STDIN", sql.Unclear},
		{`INSERT INTO "Message_Dedup" (message_id) VALUES ($1) ON CONFLICT DO NOTHING`, sql.Foreign},
		{"INSERT INTO audit WITH ins AS (INSERT INTO message_dedup (message_id) VALUES ($1) ON CONFLICT DO NOTHING RETURNING id) SELECT id FROM ins", sql.Unclear},
		{`INSERT INTO "evil"" ""message_dedup" (message_id) VALUES ($1) ON CONFLICT DO NOTHING`, sql.Foreign},
		{"INSERT INTO other.message_dedup (message_id) VALUES ($1) ON CONFLICT DO NOTHING", sql.Foreign},
		{"INSERT INTO audit (text) VALUES ('INSERT INTO message_dedup (message_id) VALUES ($1) ON CONFLICT DO NOTHING')", sql.Foreign},
		{"INSERT INTO message_dedup (message_id) VALUES (E'\\' ON CONFLICT DO NOTHING') ON CONFLICT DO NOTHING", sql.Unclear},
		{"INSERT INTO audit (text) VALUES ($x$message_dedup$x$)", sql.Unclear},
		{"SELECT status FROM message_dedup WHERE message_id = $1::varchar FOR UPDATE", sql.Ask},
		{"SELECT status FROM message_dedup m WHERE m.message_id=$1 AND status = $2", sql.Foreign},
		{"SELECT EXISTS(SELECT $1 FROM message_dedup WHERE message_id=$2)", sql.Foreign},
		{"<insufficient privilege>", sql.Foreign},
	} {
		if got, _ := sql.Classify(postgres, "", c.text); got != c.want {
			t.Errorf("%s is %s, want %s", c.text, forms()[got], forms()[c.want])
		}
	}
	twins := postgres
	twins.Twins = true
	if got, _ := sql.Classify(twins, "", "INSERT INTO message_dedup (message_id) VALUES ($1) ON CONFLICT DO NOTHING"); got != sql.Unclear {
		t.Errorf("a name that two schemas have is taken for ours: %s", forms()[got])
	}
}

// FuzzClassify: whatever a text is, one that does not hold the name of the table is of nobody, and one that is counted begins as a plain
// INSERT or SELECT of the table.
func FuzzClassify(f *testing.F) {
	for _, text := range []string{"INSERT INTO `message_dedup` ( `message_id` ) VALUES (?) ", "INSERT IGNORE INTO `shop` . `message_dedup` VALUES (...) ",
		"insert into \"public\".message_dedup as m (message_id) values ($1) on conflict (message_id) do nothing returning id", "SELECT ? FROM `message_dedup` `m` WHERE `m` . `message_id` = ?",
		"INSERT /* /* */ */ INTO message_dedup VALUES ('a''b', $1)", "PREPARE p(text) AS INSERT INTO message_dedup VALUES ($1)", "INSERT INTO `a``b` VALUES (?)", "/*", "'", "`", "$a$", "\x00"} {
		f.Add(text, "shop")
	}
	f.Fuzz(func(t *testing.T, text, schema string) {
		for _, table := range []sql.Table{mysql, postgres} {
			form, _ := sql.Classify(table, schema, text)
			lower := strings.ToLower(text)
			switch form {
			case sql.Foreign:
			case sql.Ask, sql.Insert, sql.InsertIgnore, sql.InsertSame:
				if table.Server == sql.MySQL && schema != "shop" && !strings.Contains(text, "shop") && !strings.Contains(text, "SHOP") {
					t.Errorf("%q of a session in %q is taken for ours", text, schema)
				}
				if table.Server == sql.MySQL && !strings.HasPrefix(strings.TrimSpace(lower), "insert") && !strings.HasPrefix(strings.TrimSpace(lower), "select") {
					t.Errorf("%q is %s", text, forms()[form])
				}
				fallthrough
			default:
				if !strings.Contains(lower, "message_dedup") {
					t.Errorf("%q is %s and does not name the table", text, forms()[form])
				}
			}
		}
	})
}
