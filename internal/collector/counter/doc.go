// Package counter keeps counts of ours that only rise and outlive a restart, and knows what they gained over each window.
package counter
