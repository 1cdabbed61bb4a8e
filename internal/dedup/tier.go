package dedup

// Tier is the severity of an alert. The zero value is unknown: no data is never normal.
type Tier uint8

// The tiers in rising order. Unknown sorts apart: see Tier.Worse.
const (
	TierUnknown Tier = iota
	Normal
	Warning
	Severe
	Emergency
)

// String returns the word that pages, the API and notifications use.
func (t Tier) String() string {
	switch t {
	case Normal:
		return "normal"
	case Warning:
		return "warning"
	case Severe:
		return "severe"
	case Emergency:
		return "emergency"
	default:
		return "unknown"
	}
}

// ParseTier returns the tier named by its word, and false for any other word.
func ParseTier(word string) (Tier, bool) {
	for t := TierUnknown; t <= Emergency; t++ {
		if t.String() == word {
			return t, true
		}
	}
	return TierUnknown, false
}

// Rank orders tiers for a list that shows the worst first: emergency, severe, warning, unknown, normal.
// Unknown ranks above normal because what cannot be seen may be burning.
func (t Tier) Rank() int {
	switch t {
	case Emergency:
		return 0
	case Severe:
		return 1
	case Warning:
		return 2
	case TierUnknown:
		return 3
	default:
		return 4
	}
}

// Risk is the second scale, shown beside the tier and never merged with it. The zero value is unknown.
type Risk uint8

// The risks in rising order.
const (
	RiskUnknown Risk = iota
	RiskLow
	RiskMedium
	RiskHigh
)

// String returns the word that pages and the API use.
func (r Risk) String() string {
	switch r {
	case RiskLow:
		return "low"
	case RiskMedium:
		return "medium"
	case RiskHigh:
		return "high"
	default:
		return "unknown"
	}
}
