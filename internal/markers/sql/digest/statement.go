package digest

// A Table is where markers are.
type Table struct {
	Server       Server
	Schema, Name string
	// ID are the columns with the id of the message.
	ID []string
	// Auto is the column that a sequence fills; empty where none does.
	Auto string
	// FoldsNames is true where the server takes names of tables that differ in case for one.
	FoldsNames bool
	// Twins is true where other schemas of the database have a table of that name: a name without its schema may be theirs.
	Twins bool
	// NamesAlone is true where the server tells statements apart by the names of tables alone, whatever their schema: PostgreSQL from 18 on.
	NamesAlone bool
}

// A Form is what a statement does with the table.
type Form uint8

// The forms.
const (
	// Foreign: it inserts nothing into the table, and asks for no id.
	Foreign Form = iota
	// Insert inserts one row, and fails where its id is there. PostgreSQL does not count those that fail.
	Insert
	// InsertIgnore inserts one row, or none where its id is there.
	InsertIgnore
	// InsertSame inserts one row, or leaves the one that is there as it is. Whether MySQL counts that as a row depends on the connection.
	InsertSame
	// Ask reads the row of one id.
	Ask
	// Look may read the row of one id, and what it found is not told.
	Look
	// Unclear: it may insert into the table, and how many rows it found there is not told.
	Unclear
)

// Classify says what a statement does with the table; rowsSent is true where the rows that it inserted are counted as rows sent. schema is
// that of the session, which MySQL keeps beside each digest. What is not plainly of another form is Unclear or Foreign.
func Classify(t Table, schema, text string) (form Form, rowsSent bool) {
	f := classify(t, schema, text)
	return f.Form, f.sent
}

// A form is a Form, with whether the rows that it inserted are counted as rows sent, and whether it may give its row an id of its own.
type form struct {
	Form
	sent, own bool
}

func classify(t Table, schema, text string) form {
	all, err := tokens(t.Server, text)
	if err != nil {
		if mentions(t, text) {
			return form{Form: Unclear}
		}
		return form{Form: Foreign}
	}
	p := parser{table: t, schema: schema, tokens: all}
	p.prepared()
	begin := p.at
	switch {
	case p.take("INSERT"):
		f, sent := p.insert()
		return form{f, sent, p.own}
	case p.take("SELECT") && p.asks():
		return form{Form: Ask}
	}
	p.at = 0
	switch {
	case p.inserts():
		return form{Form: Unclear}
	case p.looks(begin):
		return form{Form: Look}
	}
	return form{Form: Foreign}
}
