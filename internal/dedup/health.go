package dedup

// Shares reports whether two stores have a server in common.
func (h StoreHealth) Shares(other StoreHealth) bool {
	for node, run := range h.Nodes {
		if other.Nodes[node] == run {
			return true
		}
	}
	return h.RunID != "" && h.RunID == other.RunID
}

// Restarted reports whether a server of the store restarted since, or another took its place. Nodes of a cluster come and go as slots are given to them
// and taken from them; one that went while another came was replaced.
func (h StoreHealth) Restarted(before StoreHealth) bool {
	if before.RunID != "" && h.RunID != "" && h.RunID != before.RunID {
		return true
	}
	left, stayed := 0, 0
	for node, run := range before.Nodes {
		now, there := h.Nodes[node]
		switch {
		case !there:
			left++
		case now != run:
			return true
		default:
			stayed++
		}
	}
	return left > 0 && len(h.Nodes) > stayed
}
