package log

// logAskEvery is after how many lines of the log its queue is asked how full it is: often enough for the proof of logFill to hold
// with lines to spare.
const logAskEvery = 400

// A fill tells whether the queue of the log may have overflowed. It drops its oldest lines then, and nothing says so; but a queue
// that dropped one held its limit of lines at that moment, and these are all still to come: they wait in it, are on their way, or
// were heard since. So where the lines that wait now, those that may be on their way and those that were heard since it was asked
// before are fewer than the limit, none was dropped in between.
//
// The limit of bytes is reached first only by lines longer than their share of it, of which some are among those to come; a line
// that is longer than that limit alone is not seen.
type fill struct {
	every int
	// lines were heard since the queue was asked; long says that one of them was longer than its share.
	lines int
	long  bool
}

// received counts a line, and reports whether it is time to ask the queue.
func (f *fill) received(size int) bool {
	f.lines++
	f.long = f.long || size > maxLogBytes/maxLogLines
	return f.lines >= f.every
}

// overflowed judges how many lines wait in the queue now, and begins anew.
func (f *fill) overflowed(waiting int) bool {
	lost := f.long || waiting+logPrefetch+f.lines >= maxLogLines
	f.lines, f.long = 0, false
	return lost
}
