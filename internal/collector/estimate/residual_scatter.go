package estimate

// A scatter is how much differences scatter about what is usual in their time, and each with those before it.
type scatter struct {
	// n is how many differences there are, of fine steps, and seconds how long these take together; rows are those that follow one another.
	n, seconds float64
	squares    float64
	rows       [][]float64
	// ends counts the ends of rows of steps of any length, beside are the fine differences next to them.
	ends   float64
	beside []float64
}

func scatterOf(steps []jointStep) scatter {
	var s scatter
	var sent, seconds float64
	for i := range steps {
		sent, seconds = sent+steps[i].sent, seconds+steps[i].apart.Seconds()
	}
	follows := false
	for i := range steps {
		fine, x := steps[i].apart <= fineStep, steps[i].sent-sent/seconds*steps[i].apart.Seconds()
		if !steps[i].follows {
			s.end(x, fine)
		}
		if steps[i].last {
			s.end(x, fine && (x < 0 || !steps[i].to.Calm))
		}
		if follows = follows && steps[i].follows; fine {
			if !follows {
				s.rows = append(s.rows, nil)
			}
			row := &s.rows[len(s.rows)-1]
			*row = append(*row, x)
			s.n++
			s.seconds += steps[i].apart.Seconds()
			s.squares += x * x
		}
		follows = fine
	}
	return s
}

// end counts an end. What lies beside it tells of it, but at a calm last one, which errs by acks that come late, so that these are too few.
func (s *scatter) end(beside float64, tells bool) {
	s.ends++
	if tells {
		s.beside = append(s.beside, beside)
	}
}

// variance is that of the error of one end. An error that does not last is in two differences, with opposite signs: the variance is at least
// a quarter of that of a difference, and about what neighbours have in common. One that lasts longer, as of acks that follow their markers by
// half a minute or come in batches, shows so in sums of more differences only, of up to some times the lag of so many that wait at the rate.
func (s *scatter) variance(waiting, rate float64) float64 {
	if s.n == 0 {
		return 0
	}
	common, _ := s.neighbours(1)
	v := max(s.squares/s.n/4, -common)
	for length := 2; float64(length)*s.seconds/s.n*rate < longestSum*waiting; length *= 2 {
		common, pairs := s.neighbours(length)
		if pairs < fewestSums*float64(length) {
			return max(v, waiting) // as of those that come by chance
		}
		v = max(v, -common)
	}
	return v
}

// neighbours returns the covariance of neighbouring sums of so many differences, and how many pairs there are, which overlap.
func (s *scatter) neighbours(length int) (common, pairs float64) {
	for _, row := range s.rows {
		var before, after float64
		for i, x := range row {
			after += x
			if i >= length {
				after, before = after-row[i-length], before+row[i-length]
			}
			if i >= 2*length {
				before -= row[i-2*length]
			}
			if i >= 2*length-1 {
				common, pairs = common+before*after, pairs+1
			}
		}
	}
	return common / max(1, pairs), pairs
}

// endVariances is the sum of the variances of the errors of all ends. The difference beside an end shows one that is off by more.
func (s *scatter) endVariances(v float64) float64 {
	sum := v * s.ends
	for _, x := range s.beside {
		sum += max(0, x*x/4-v)
	}
	return sum
}
