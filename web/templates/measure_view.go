package templates

// MeasureSection is what a pipeline's page says of exact measurements, with the form that starts one.
type MeasureSection struct {
	Shown bool
	// Action is where the form goes; empty where it cannot be used, and WhyNot says why.
	Action string
	WhyNot string
	// Last says what the newest measurement found, and how far the live figure was off then.
	Last Text
	Rows []MeasureRow
	All  string
}

// MeasureRow is a measurement in a list.
type MeasureRow struct {
	Href  string
	At    Moment
	State string
	Tier  string
	Rate  string
	Of    string
	Off   string
	By    Text
	Why   Text
}

// MeasurementsView is the list of the measurements of a pipeline.
type MeasurementsView struct {
	Frame   Frame
	Crumbs  []Crumb
	Heading string
	Section MeasureSection
	Empty   Empty
}

// MeasurementView is one measurement, while it runs and after.
type MeasurementView struct {
	Frame   Frame
	Self    string
	Crumbs  []Crumb
	Heading string
	State   string
	Tier    string
	Running bool
	// Waiting says that somebody must switch tracing on, with Commands.
	Waiting  bool
	Commands string
	// Done and Total are seconds; Quarter changes with each quarter of the time, for those who listen.
	Done, Total int
	Quarter     string
	Seen        string
	// Stop is where the button goes; empty where there is none.
	Stop   string
	NoStop string
	Why    Text
	Meta   []Fact
	Result *MeasuredView
	// Again is a link to measure once more.
	Again string
	Audit string
}

// MeasuredView is what came of a measurement.
type MeasuredView struct {
	// Rate is the duplicate rate with its band in points and what it was taken of: "2.94 %", "± 0.05", "of 12,376 messages".
	Rate, Band, Of string
	// Sampling tells how far that of a longer time can be off by chance; Live how far the live figure was off.
	Sampling, Live Text
	Parts          []MeasuredPart
	Latency        []Fact
	LatencyNote    string
	Bars           []MeasuredBar
	Repeated       []RepeatedRow
	RepeatedNote   string
	Origins        []OriginRow
	// Senders is true where the columns of who sent are shown.
	Senders   bool
	CSV, JSON string
}

// MeasuredPart is one count with its meaning.
type MeasuredPart struct {
	Word, Meaning, Tier string
	Count               int
}

// MeasuredBar is a bar of a histogram: Wide is its width in per cent.
type MeasuredBar struct {
	Label, Wide, Share string
	Count              int
}

// RepeatedRow is a message that was duplicated.
type RepeatedRow struct {
	ID                     MarkerLine
	Deliveries, Duplicates string
	Cause, Gap, Done       string
	First                  Moment
	From                   []Text
}

// OriginRow is a way by which copies came.
type OriginRow struct {
	Exchange, RoutingKey, UserID, AppID Text
	Copies, Duplicates                  string
}
