// Package kinds knows every kind of store: it checks a description, opens what it describes, and settles which store has a key.
package kinds
