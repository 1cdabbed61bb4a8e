package alerts

import "dedup-dashboard/internal/dedup"

// Disputed reports whether the rate and the cross-check of a window exclude each other, as the tier decides it: both could
// be judged, neither is an estimate, and their intervals do not meet.
func Disputed(w *dedup.WindowFigures, l dedup.Limits) bool {
	f := w.DuplicateRate
	judgeable := f.Known() && f.Quality != dedup.Estimated && finite(f.Low, f.High, f.Value, f.N) && f.N >= l.MinMessages
	return judgeable && disputed(f, w.CrossCheck, l)
}
