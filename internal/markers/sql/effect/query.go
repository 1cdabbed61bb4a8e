package effect

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"dedup-dashboard/internal/markers"
)

// longestQuery bounds the text of an effect check.
const longestQuery = 16 << 10

// checkQuery refuses what is not plainly one SELECT that only reads. It is no parser of SQL: where a text could be read in
// two ways, it is refused and the reason says what to leave out. The read-only transaction of each run is the second bar.
func checkQuery(query, driver string) error {
	if strings.TrimSpace(query) == "" {
		return errors.New("is missing: write one SELECT whose first column is the business key, such as " +
			"SELECT order_no, COUNT(*) AS n FROM orders GROUP BY order_no HAVING COUNT(*) > 1")
	}
	if len(query) > longestQuery || !utf8.ValidString(query) {
		return fmt.Errorf("must be text of at most %d bytes: make a view of a longer query", longestQuery)
	}
	tokens, err := scanQuery(trimQuery(query), driver)
	if err != nil {
		return err
	}
	first := slices.IndexFunc(tokens, func(t string) bool { return t != "(" })
	if first < 0 || tokens[first] != "select" && tokens[first] != "with" {
		return errors.New("must begin with SELECT or WITH: an effect check only reads")
	}
	for i := range tokens {
		if why := acts(tokens[i:]); why != "" {
			return errors.New(why)
		}
	}
	return nil
}

// trimQuery takes away the space around a query and the semicolon at its end.
func trimQuery(query string) string {
	return strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(query), ";"))
}

// acts says why a query that has these tokens does more than read; empty when the first of them says nothing of the kind.
func acts(tokens []string) string {
	at := func(i int) string {
		if i < len(tokens) {
			return tokens[i]
		}
		return ""
	}
	word := at(0)
	switch word {
	case "insert", "update", "delete", "merge", "into":
		return fmt.Sprintf("must only read: it says %s; quote the word where it is a name", strings.ToUpper(word))
	case "replace", "truncate":
		if at(1) != "(" {
			return fmt.Sprintf("must only read: it says %s; quote the word where it is a name", strings.ToUpper(word))
		}
	case "for":
		if next := at(1); next == "share" || next == "no" || next == "key" {
			return "must not lock rows: leave out FOR " + strings.ToUpper(next)
		}
	case "lock":
		if at(1) == "in" {
			return "must not lock rows: leave out LOCK IN SHARE MODE"
		}
	}
	if at(1) == "(" && word == quotedToken {
		return "must not have a quoted name before a parenthesis, which may call any function: leave out the quotes there"
	}
	if at(1) == "(" && actingFunction(word) {
		return fmt.Sprintf("must only read: the function %s does more", word)
	}
	return ""
}

// actingFunction knows functions of the servers that do more than read, which a read-only transaction does not hinder.
func actingFunction(name string) bool {
	for _, prefix := range []string{"dblink", "lo_", "pg_advisory", "pg_try_advisory", "pg_create_", "pg_drop_", "pg_file_", "pg_logical_", "pg_ls_", "pg_read_",
		"pg_replication_", "pg_terminate", "pg_cancel", "pg_reload", "pg_rotate", "pg_switch", "pg_promote", "pg_stat_reset", "pg_wal_", "pg_notify", "query_to_xml", "sys_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return slices.Contains([]string{"set_config", "nextval", "setval", "load_file", "get_lock", "release_lock", "release_all_locks", "txid_current", "lastval"}, name)
}

// quotedToken stands for what is quoted, of which no word can be the token.
const quotedToken = `""`

// scanQuery splits a query into words, in lower case, and single signs. What is quoted is one quotedToken.
func scanQuery(query, driver string) ([]string, error) {
	var tokens []string
	for i := 0; i < len(query); {
		r, size := utf8.DecodeRuneInString(query[i:])
		rest := query[i:]
		switch {
		case r == '\'' || r == '"' || r == '`' && driver == markers.MySQL:
			end, err := quotedEnd(rest)
			if err != nil {
				return nil, err
			}
			tokens = append(tokens, quotedToken)
			i += end
		case strings.HasPrefix(rest, "--"), strings.HasPrefix(rest, "/*"), r == '#' && driver == markers.MySQL:
			return nil, errors.New("must not hold comments: servers read some of them as part of the query; write them as YAML comments")
		case r == ';':
			return nil, errors.New("must be one statement: there is more behind a semicolon")
		case r == '$' || r == '\\' || r == '`':
			return nil, fmt.Errorf("must not hold %q outside of quotes", r)
		case unicode.IsControl(r) && !unicode.IsSpace(r) || r == utf8.RuneError:
			return nil, fmt.Errorf("must not hold the character %U", r)
		case wordRune(r):
			end := strings.IndexFunc(rest, func(r rune) bool { return !wordRune(r) })
			if end < 0 {
				end = len(rest)
			}
			tokens = append(tokens, strings.ToLower(rest[:end]))
			i += end
		default:
			if !unicode.IsSpace(r) {
				tokens = append(tokens, string(r))
			}
			i += size
		}
	}
	return tokens, nil
}

func wordRune(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// quotedEnd returns how long a quoted text is. Whether a backslash escapes what follows depends on the server's settings, so
// that none is taken.
func quotedEnd(text string) (int, error) {
	quote := text[0]
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\':
			return 0, errors.New("must not hold a backslash: servers read it in different ways")
		case text[i] == 0:
			return 0, errors.New("must not hold the character U+0000")
		case text[i] == quote && i+1 < len(text) && text[i+1] == quote:
			i++
		case text[i] == quote:
			return i + 1, nil
		}
	}
	return 0, fmt.Errorf("has a quote %c that does not end", quote)
}
