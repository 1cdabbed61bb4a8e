package text

import (
	"math"
	"strconv"
)

// Grouped writes a whole number with a comma between thousands.
func Grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// Counted writes a number with its noun, whose plural takes an s: "1 marker", "1,200 markers".
func Counted[N int | int64](n N, noun string) string {
	return Grouped(int64(n)) + " " + Agree(n, noun, noun+"s")
}

// Agree returns the form of a word that agrees with a number.
func Agree[N int | int64](n N, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Whole rounds what is counted for a sentence.
func Whole(v float64) int64 { return int64(math.Round(v)) }
