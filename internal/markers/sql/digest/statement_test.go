package digest_test

import (
	"strings"
	"testing"

	"dedup-dashboard/internal/markers/sql/digest"
)

var mysql = digest.Table{Server: digest.MySQL, Schema: "shop", Name: "message_dedup", ID: []string{"message_id"}}

var postgres = digest.Table{Server: digest.Postgres, Schema: "public", Name: "message_dedup", ID: []string{"message_id"}}

func forms() map[digest.Form]string {
	return map[digest.Form]string{digest.Foreign: "foreign", digest.Insert: "insert", digest.InsertIgnore: "insert or nothing", digest.InsertSame: "insert or the same",
		digest.Ask: "ask", digest.Look: "look", digest.Unclear: "unclear"}
}

func TestTheFormsOfDigestsAsMariaDBWritesThem(t *testing.T) {
	for _, c := range []struct {
		text, schema string
		want         digest.Form
	}{
		{"INSERT INTO `message_dedup` ( `message_id` ) VALUES (?) ", "shop", digest.Insert},
		{"INSERT INTO `message_dedup` ( `message_id` , STATUS ) VALUES (...) ", "shop", digest.Insert},
		{"INSERT INTO `message_dedup` ( `message_id` , STATUS , `created_at` ) VALUES ( ... , NOW ( ? ) ) ", "shop", digest.Insert},
		{"INSERT INTO `shop` . `message_dedup` SET `message_id` = ? , STATUS = - ? ", "other", digest.Insert},
		{"INSERT INTO `message_dedup` ( `message_id` ) VALUES (?) RETURNING ID ", "shop", digest.Insert},
		{"INSERT IGNORE INTO `message_dedup` ( `message_id` , STATUS ) VALUES (...) ", "shop", digest.InsertIgnore},
		{"INSERT LOW_PRIORITY IGNORE `message_dedup` VALUES (...) ", "shop", digest.InsertIgnore},
		{"INSERT INTO `message_dedup` ( `message_id` ) VALUES (?) ON DUPLICATE KEY UPDATE `message_id` = `message_id` ", "shop", digest.InsertSame},
		{"INSERT INTO `message_dedup` ( `message_id` ) VALUES (?) ON DUPLICATE KEY UPDATE `message_id` = VALUES ( `message_id` ) ", "shop", digest.InsertSame},
		{"INSERT INTO `message_dedup` ( `message_id` ) VALUES (?) AS NEW ON DUPLICATE KEY UPDATE `message_id` = NEW . `message_id` ", "shop", digest.InsertSame},
		{"INSERT INTO `message_dedup` ( `message_id` ) VALUES (?) ON DUPLICATE KEY UPDATE STATUS = STATUS + ? ", "shop", digest.Unclear},
		{"INSERT INTO `message_dedup` ( `message_id` ) VALUES (?) ON DUPLICATE KEY UPDATE STATUS = VALUES ( STATUS ) ", "shop", digest.Unclear},
		{"INSERT INTO `message_dedup` ( `message_id` ) VALUES (?) /* , ... */ ", "shop", digest.Unclear},
		{"INSERT INTO `message_dedup` ( `message_id` ) SELECT ? FROM DUAL WHERE NOT EXISTS ( SELECT * FROM `message_dedup` WHERE `message_id` = ? ) ", "shop", digest.Unclear},
		{"REPLACE INTO `message_dedup` ( `message_id` ) VALUES (?) ", "shop", digest.Unclear},
		{"INSERT INTO `message_dedup` ( `message_id` , `very_long` ...", "shop", digest.Unclear},
		{"SELECT STATUS FROM `message_dedup` WHERE `message_id` = ? ", "shop", digest.Ask},
		{"SELECT ? FROM `message_dedup` `m` WHERE `m` . `message_id` = ? LIMIT ? FOR UPDATE ", "shop", digest.Ask},
		{"SELECT STATUS FROM `message_dedup` `m` WHERE ( ( `m` . `message_id` = ? ) ) LIMIT ? ", "shop", digest.Ask},
		{"SELECT `shop` . `message_dedup` . STATUS FROM `shop` . `message_dedup` WHERE ( `shop` . `message_dedup` . `message_id` = ? AND ? = ? ) LIMIT ? OFFSET ? ", "other", digest.Ask},
		{"SELECT STATUS FROM `message_dedup` WHERE ( `message_id` = ? ", "shop", digest.Look},
		{"SELECT STATUS FROM `message_dedup` WHERE `other` . `message_dedup` . `message_id` = ? ", "shop", digest.Look},
		{"SELECT `message_dedup` . `a_long_name` , `message_dedup` . `another` ...", "shop", digest.Look},
		{"SELECT STATUS FROM `message_dedup` WHERE `message_id` IN (...) ", "shop", digest.Look},
		{"SELECT STATUS FROM `message_dedup` WHERE ? = `message_id` ", "shop", digest.Look},
		{"SELECT STATUS FROM `message_dedup` WHERE `message_id` > ? ", "shop", digest.Foreign},
		{"SELECT COUNT ( * ) FROM `message_dedup` WHERE `message_id` = ? ", "shop", digest.Look},
		{"SELECT EXISTS ( SELECT ? FROM `message_dedup` WHERE `message_id` = ? ) ", "shop", digest.Look},
		{"SELECT STATUS FROM `message_dedup` WHERE `message_id` = ? OR ? = ? ", "shop", digest.Look},
		{"SELECT STATUS FROM `message_dedup` WHERE STATUS = ? ", "shop", digest.Foreign},
		{"SELECT STATUS FROM `message_dedup` , `orders` WHERE `message_id` = ? ", "shop", digest.Look},
		{"UPDATE `message_dedup` SET STATUS = ? WHERE `message_id` = ? AND STATUS = ? ", "shop", digest.Foreign},
		{"INSERT INTO `message_dedup` ( `message_id` ) VALUES (?) ", "other", digest.Foreign},
		{"INSERT INTO `other` . `message_dedup` ( `message_id` ) VALUES (?) ", "shop", digest.Foreign},
		{"INSERT INTO `message_dedup_archive` ( `message_id` ) VALUES (?) ", "shop", digest.Foreign},
		{"INSERT INTO `audit` ( `message_dedup` ) VALUES (?) ", "shop", digest.Foreign},
		{"INSERT INTO `Message_Dedup` ( `message_id` ) VALUES (?) ", "shop", digest.Foreign},
		{"INSERT INTO `message_dedup` ( `x` ) VALUES (?) -- ` VALUES (?) ", "shop", digest.Unclear},
		{"INSERT INTO `message_dedup` ( `message_id", "shop", digest.Unclear},
		{"", "", digest.Foreign},
	} {
		if got, _ := digest.Classify(mysql, c.schema, c.text); got != c.want {
			t.Errorf("%s in %s is %s, want %s", c.text, c.schema, forms()[got], forms()[c.want])
		}
	}
}

func TestTheFormsOfStatementsAsPostgreSQLKeepsThem(t *testing.T) {
	for _, c := range []struct {
		text string
		want digest.Form
	}{
		{"INSERT INTO message_dedup (message_id) VALUES ($1)", digest.Insert},
		{"INSERT INTO message_dedup (message_id) VALUES ($1) ON CONFLICT DO NOTHING", digest.InsertIgnore},
		{`insert into "public" . "message_dedup" as m (message_id) values ($1) on conflict (message_id) do nothing returning id;`, digest.InsertIgnore},
		{"INSERT /* hi /* nested */ INTO x */ INTO Message_Dedup (message_id, created_at) VALUES ($1, now()) -- why\n ON CONFLICT ON CONSTRAINT uk DO NOTHING", digest.InsertIgnore},
		{"PREPARE p (text) AS INSERT INTO message_dedup (message_id) VALUES ($1) ON CONFLICT (message_id) DO NOTHING", digest.InsertIgnore},
		{"insert into message_dedup (message_id) values ($1) on conflict (message_id) do update set message_id = excluded.message_id", digest.Unclear},
		{"INSERT INTO message_dedup (message_id) VALUES ($1), ($2) ON CONFLICT DO NOTHING", digest.Unclear},
		{"INSERT INTO message_dedup (message_id) SELECT $1 ON CONFLICT DO NOTHING", digest.Unclear},
		{"WITH ins AS (INSERT INTO message_dedup (message_id) VALUES ($1) ON CONFLICT DO NOTHING RETURNING $2) SELECT count(*) FROM ins", digest.Unclear},
		{"COPY message_dedup FROM STDIN", digest.Unclear},
		{`INSERT INTO "Message_Dedup" (message_id) VALUES ($1) ON CONFLICT DO NOTHING`, digest.Foreign},
		{"INSERT INTO audit WITH ins AS (INSERT INTO message_dedup (message_id) VALUES ($1) ON CONFLICT DO NOTHING RETURNING id) SELECT id FROM ins", digest.Unclear},
		{`INSERT INTO "evil"" ""message_dedup" (message_id) VALUES ($1) ON CONFLICT DO NOTHING`, digest.Foreign},
		{"INSERT INTO other.message_dedup (message_id) VALUES ($1) ON CONFLICT DO NOTHING", digest.Foreign},
		{"INSERT INTO audit (text) VALUES ('INSERT INTO message_dedup (message_id) VALUES ($1) ON CONFLICT DO NOTHING')", digest.Foreign},
		{"INSERT INTO message_dedup (message_id) VALUES (E'\\' ON CONFLICT DO NOTHING') ON CONFLICT DO NOTHING", digest.Unclear},
		{"INSERT INTO audit (text) VALUES ($x$message_dedup$x$)", digest.Unclear},
		{"SELECT status FROM message_dedup WHERE message_id = $1::varchar FOR UPDATE", digest.Ask},
		{"SELECT status FROM message_dedup m WHERE m.message_id=$1 AND status = $2", digest.Look},
		{"SELECT EXISTS(SELECT $1 FROM message_dedup WHERE message_id=$2)", digest.Look},
		{"PREPARE p (text) AS SELECT EXISTS (SELECT $2 FROM message_dedup WHERE message_id = ANY($1))", digest.Look},
		{"<insufficient privilege>", digest.Foreign},
	} {
		if got, _ := digest.Classify(postgres, "", c.text); got != c.want {
			t.Errorf("%s is %s, want %s", c.text, forms()[got], forms()[c.want])
		}
	}
	twins := postgres
	twins.Twins = true
	if got, _ := digest.Classify(twins, "", "INSERT INTO message_dedup (message_id) VALUES ($1) ON CONFLICT DO NOTHING"); got != digest.Unclear {
		t.Errorf("a name that two schemas have is taken for ours: %s", forms()[got])
	}
	for name, c := range map[string]struct {
		alone bool
		text  string
		want  digest.Form
	}{
		"a server that tells schemas apart counts ours":        {false, "INSERT INTO public.message_dedup (message_id) VALUES ($1) ON CONFLICT DO NOTHING", digest.InsertIgnore},
		"one that tells schemas apart counts the other's":      {false, "INSERT INTO tenant.message_dedup (message_id) VALUES ($1) ON CONFLICT DO NOTHING", digest.Foreign},
		"one that goes by names counts both under ours":        {true, "INSERT INTO public.message_dedup (message_id) VALUES ($1) ON CONFLICT DO NOTHING", digest.Unclear},
		"one that goes by names counts both under the other's": {true, "INSERT INTO tenant.message_dedup (message_id) VALUES ($1) ON CONFLICT DO NOTHING", digest.Unclear},
	} {
		twins.NamesAlone = c.alone
		if got, _ := digest.Classify(twins, "", c.text); got != c.want {
			t.Errorf("%s: %s, want %s", name, forms()[got], forms()[c.want])
		}
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
		for _, table := range []digest.Table{mysql, postgres} {
			form, _ := digest.Classify(table, schema, text)
			lower := strings.ToLower(text)
			switch form {
			case digest.Foreign:
			case digest.Ask, digest.Insert, digest.InsertIgnore, digest.InsertSame:
				if table.Server == digest.MySQL && schema != "shop" && !strings.Contains(text, "shop") && !strings.Contains(text, "SHOP") {
					t.Errorf("%q of a session in %q is taken for ours", text, schema)
				}
				if table.Server == digest.MySQL && !strings.HasPrefix(strings.TrimSpace(lower), "insert") && !strings.HasPrefix(strings.TrimSpace(lower), "select") {
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
