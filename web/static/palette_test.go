package static

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"testing"
)

var token = regexp.MustCompile(`--([a-z0-9-]+):\s*light-dark\((#[0-9a-f]{6}),\s*(#[0-9a-f]{6})\)`)

// TestEveryPairOfColoursHasTheContrastThatItsUseNeeds computes the contrast of WCAG 2.2 (1.4.3 and 1.4.11) over the
// tokens of the stylesheet, so that a changed colour fails here and not in somebody's eyes.
func TestEveryPairOfColoursHasTheContrastThatItsUseNeeds(t *testing.T) {
	css, err := source.ReadFile("app.css")
	if err != nil {
		t.Fatal(err)
	}
	tokens := map[string][2]string{}
	for _, m := range token.FindAllStringSubmatch(string(css), -1) {
		tokens[m[1]] = [2]string{m[2], m[3]}
	}
	type pair struct {
		front, back string
		least       float64
	}
	pairs := []pair{
		{"text", "page", 12}, {"text", "surface", 12}, {"text-2", "page", 6.5}, {"text-2", "surface", 7}, {"link", "page", 5.8}, {"link", "surface", 6.5},
		{"border", "surface", 3}, {"on-danger", "danger", 4.5}, {"severe-text", "page", 4.5}, {"on-primary", "primary", 4.5}, {"text", "selected", 10}, {"text-2", "selected", 4.5},
		{"text-2", "unknown-tint", 4.5}, {"line-1", "surface", 5.5}, {"line-p50", "surface", 3}, {"line-p99", "surface", 4.5},
	}
	for _, tier := range []string{"normal", "warning", "severe", "emergency", "unknown"} {
		pairs = append(pairs,
			pair{tier + "-text", tier + "-tint", 5.8}, pair{tier + "-text", "surface", 5.8}, pair{tier + "-text", "page", 5.8},
			pair{tier + "-on", tier + "-solid", 5.8}, pair{tier + "-mark", "surface", 3}, pair{"text", tier + "-tint", 7},
			pair{"text-2", tier + "-tint", 4.5}, pair{"line-1", tier + "-tint", 4.5})
	}
	for _, p := range pairs {
		for i, mode := range []string{"light", "dark"} {
			t.Run(fmt.Sprintf("%s on %s in %s", p.front, p.back, mode), func(t *testing.T) {
				front, back := tokens[p.front][i], tokens[p.back][i]
				if front == "" || back == "" {
					t.Fatalf("the stylesheet has no token %s or %s", p.front, p.back)
				}
				if got := contrast(t, front, back); got < p.least-0.05 {
					t.Errorf("%s on %s has a contrast of %.2f, below %.1f", front, back, got, p.least)
				}
			})
		}
	}
}

func TestTheContrastOfBlackOnWhiteIs21(t *testing.T) {
	if got := contrast(t, "#000000", "#ffffff"); math.Abs(got-21) > 1e-9 {
		t.Errorf("got %v", got)
	}
}

func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	x, y := luminance(t, a), luminance(t, b)
	return (math.Max(x, y) + 0.05) / (math.Min(x, y) + 0.05)
}

// luminance is the relative luminance of WCAG 2.2 of a colour written as #rrggbb.
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(hex[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		c := float64(n) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}
