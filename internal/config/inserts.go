package config

import "time"

// settleInserts sees that each store counts an insert only once its work must have ended, which its pipelines know: a row whose work
// goes on would count as failed. Where insert_settle is not written, it is made as long as it must be.
func (f *file) settleInserts(c *report) {
	for i := range f.Stores {
		s := &f.Stores[i]
		if !s.InsertFirst || s.Columns.AutoIncrement == "" {
			continue
		}
		name, longest := f.longestWork(s.Name)
		least := 2 * longest
		switch {
		case s.InsertSettle == 0 && least > 2*defaultMaxProcessing: // up to which the default of the store is long enough
			s.InsertSettle = least
		case s.InsertSettle > 0 && s.InsertSettle < least:
			c.add(c.entry("stores", i, s.Name)+".insert_settle", "is %s, while pipeline %q has max_processing %s: rows whose work goes on would count as failed. Write %s or more, twice the longest processing time",
				s.InsertSettle, name, longest, least)
		}
	}
}

// longestWork is the longest processing time of the pipelines of a store, and the pipeline that has it.
func (f *file) longestWork(store string) (pipeline string, longest time.Duration) {
	for _, p := range f.Pipelines {
		if work := p.longestWork(); p.Store == store && work > longest {
			pipeline, longest = p.Name, work
		}
	}
	return pipeline, longest
}

// longestWork is max_processing, or what it is when it is not written.
func (p pipeline) longestWork() time.Duration {
	if p.MaxProcessing == 0 {
		return defaultMaxProcessing
	}
	return time.Duration(p.MaxProcessing)
}
