// Package auth answers who is asking: users, passwords, tokens and roles, without any HTTP.
package auth

// Role is what a principal may do. Each role includes the ones below it. The zero value may do nothing.
type Role uint8

// The roles in rising order.
const (
	Nobody Role = iota
	Viewer
	Operator
	Admin
)

// String returns the word that configuration, pages and the API use.
func (r Role) String() string {
	switch r {
	case Viewer:
		return "viewer"
	case Operator:
		return "operator"
	case Admin:
		return "admin"
	default:
		return "nobody"
	}
}

// ParseRole returns the role named by its word, and false for any other word.
func ParseRole(word string) (Role, bool) {
	for r := Viewer; r <= Admin; r++ {
		if r.String() == word {
			return r, true
		}
	}
	return Nobody, false
}

// A Principal is who is asking, and how they proved it.
type Principal struct {
	Name string
	Role Role
	// Method is "session" or "token"; empty for nobody.
	Method string
}

// Can reports whether the principal's role includes the needed one.
func (p Principal) Can(needed Role) bool { return p.Role >= needed }
