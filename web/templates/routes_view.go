package templates

// A RouteTable is the ways of a pipeline's dead letters.
type RouteTable struct {
	Rows []RouteRow
	// Sum says in one sentence where the dead letters go; LeftOut how many ways the table leaves out, empty for none.
	Sum     Text
	LeftOut string
}

// A RouteRow is one way of dead letters.
type RouteRow struct {
	// Source is the queue that they come from; empty for a listed queue that no way was found to.
	Source Text
	// Exchange and Key are the exchange and the routing key, in words where they have no name.
	Exchange     Text
	ExchangeWord string
	Key          Text
	KeyWord      string
	// Target is the queue that gets them; empty where they lead nowhere.
	Target Text
	// Role is what that queue is, Tier how bad that is: warning or severe, empty where nothing is wrong.
	Role string
	Tier string
	// Possible says that it depends on the message whether it takes this way.
	Possible bool
	Origin   Text
	Note     Text
}
