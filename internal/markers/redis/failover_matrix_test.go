//go:build matrix

package redis_test

import "testing"

// TestAHundredFailOversInMidClearClearNothingThatLives is the long form of the drill of the ordinary tests.
func TestAHundredFailOversInMidClearClearNothingThatLives(t *testing.T) {
	clearThroughFailOvers(t, 100)
}
